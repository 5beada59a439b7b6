"""The terminal's guide names every field of `top`, `trace` and `try --json`, and every group of `doctor`'s rules."""

import re
from pathlib import Path

import pytest

from issuetracker_dagster.cli.trace import Told
from issuetracker_dagster.model.overview import (
    BandView,
    BuffersView,
    BufferView,
    DeadLettersView,
    Overview,
    RulesView,
    ServerView,
    StageView,
    WorkersView,
)
from issuetracker_dagster.model.trial import (
    EnrichView,
    FetchView,
    FieldView,
    LinkView,
    ParserView,
    Refusal,
    TrialView,
    ValidateView,
)
from issuetracker_dagster.stages.parser.choosing import LinkVerdict

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "operating-terminal.md").read_text(encoding="utf-8")
TOP = GUIDE[: GUIDE.index("## `issuetracker queue`")]
TRY = GUIDE[GUIDE.index("## `issuetracker try`") : GUIDE.index("## `issuetracker trace`")]


def rows_of(text: str) -> dict[str, str]:
    """The rows of a table by their first column."""
    return {line.split("|")[1].strip(" `"): line for line in text.splitlines() if line.startswith("|")}


ROWS = rows_of(TOP)


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("the look", Overview),
        ("of `servers", ServerView),
        ("of `stages", StageView),
        ("workers", WorkersView),
        ("of `bands", BandView),
        ("buffers", BuffersView),
        ("buffers", BufferView),
        ("dead_letters", DeadLettersView),
        ("rules", RulesView),
    ],
)
def test_every_field_of_a_look_is_named_in_its_row(row: str, kind: type[Overview]) -> None:
    named = set(re.findall(r"`([a-z0-9_]+)`", ROWS[row].split("|", 2)[2]))
    assert set(kind.__struct_fields__) <= named


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("the page", TrialView),
        ("fetch", FetchView),
        ("parser", ParserView),
        ("of `fields", FieldView),
        ("of `links", LinkView),
        ("validate", ValidateView),
        ("enrich", EnrichView),
        ("refused", Refusal),
    ],
)
def test_every_field_of_a_tried_page_is_named_in_its_row(row: str, kind: type[TrialView]) -> None:
    named = set(re.findall(r"`([a-z0-9_]+)`", rows_of(TRY)[row].split("|", 2)[2]))
    assert set(kind.__struct_fields__) <= named


def test_every_verdict_on_a_link_is_explained() -> None:
    explained = TRY[TRY.index("Verdicts: ") :]
    assert all(f"`{verdict.value}`" in explained for verdict in LinkVerdict)


def test_every_field_of_a_trace_is_named() -> None:
    paragraph = GUIDE[GUIDE.index("## `issuetracker trace`") : GUIDE.index("## `issuetracker doctor`")]
    assert all(
        f"`{name}`" in paragraph for name in (*Told._fields, "places", "unasked", "incomplete") if name != "search"
    )


def test_every_rule_of_doctor_belongs_to_a_row() -> None:
    sources = [*(ROOT / "issuetracker_dagster").glob("cli/doctor*.py")]
    sources += (ROOT / "issuetracker_dagster").glob("wiring/checkup/*.py")
    calls = re.compile(r'\b(?:ok|warn|fail)\(\s*"([a-z_.]+)"')
    rules = {rule for source in sources for rule in calls.findall(source.read_text(encoding="utf-8"))}
    assert len(rules) > 15
    table = GUIDE[GUIDE.index("| rules | what is tested |") :]
    missing = {rule for rule in rules if f"`{rule}`" not in table and f"`{rule.partition('.')[0]}.*`" not in table}
    assert missing == set()
