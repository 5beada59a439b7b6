"""What a rule's selectors are asked for."""

import msgspec
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.rules import SELECTOR_FIELDS, ParserRule, SelectorSpec
from issuetracker_dagster.stages.parser.fields import Fields
from issuetracker_dagster.stages.parser.selection import apply_rule


def test_every_field_that_may_have_a_selector_is_read_and_there_are_no_others() -> None:
    html = "".join(f"<p class={field}>Jo Lang {field}</p>" for field in SELECTOR_FIELDS)
    selectors = {field: SelectorSpec(css=f".{field}") for field in SELECTOR_FIELDS}
    page = LexborHTMLParser(html)
    everything = apply_rule(page, ParserRule(host_pattern="a.com", selectors=selectors))
    assert everything is not None
    read = {name for name, value in msgspec.structs.asdict(everything).items() if value}
    assert read == set(Fields.__struct_fields__)
    for field in set(SELECTOR_FIELDS) - {"title", "main_content"}:
        without = {name: spec for name, spec in selectors.items() if name != field}
        assert apply_rule(page, ParserRule(host_pattern="a.com", selectors=without)) != everything
