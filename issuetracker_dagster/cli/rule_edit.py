"""`issuetracker rules edit`: what is named changes, what isn't stays, and what became of it is told."""

from collections.abc import Mapping, Sequence

import click
import msgspec

from issuetracker_dagster.cli.arguments import RULE_ID, priority_word
from issuetracker_dagster.cli.rule_arguments import existing, refuse_second
from issuetracker_dagster.cli.rule_words import named, now_option, say, selectors_changed, successor, tell_when
from issuetracker_dagster.flow.rule_set import Change, place_of_rule
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import SELECTOR_FIELDS, SelectorSpec, check_rule
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_FIELDS = ", ".join(SELECTOR_FIELDS)


@click.command("edit")
@click.argument("rule_id", type=RULE_ID)
@click.option("--priority", callback=priority_word, help="high, normal or low.")
@click.option("--host", help="Another host; the rule of the old one is switched off.")
@click.option("--path", help="Another path expression; '' for any. The old rule is switched off.")
@click.option("--selector", "selectors", multiple=True, metavar="FIELD=CSS", help="Set a selector; FIELD= removes it.")
@click.option("--multi", multiple=True, metavar="FIELD", help="Take all that this field's selector finds.")
@click.option("--single", multiple=True, metavar="FIELD", help="Take only the first that it finds, as a new one does.")
@click.option(
    "--attribute", "attributes", multiple=True, metavar="FIELD=NAME", help="Take an attribute; FIELD= takes the text."
)
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="Set an option; NAME= removes it.")
@now_option
def edit_rule(
    rule_id: int,
    priority: Priority | None,
    host: str | None,
    path: str | None,
    selectors: tuple[str, ...],
    multi: tuple[str, ...],
    single: tuple[str, ...],
    attributes: tuple[str, ...],
    options: tuple[str, ...],
    now: bool,
) -> None:
    """Change a rule; what isn't named stays as it is.

    \b
    issuetracker rules edit 31 --selector 'main_content=div.story p' --multi main_content
    issuetracker rules edit 31 --selector 'images=.story img' --attribute images=src --multi images

    An article's body is main_content. Another selector of a field is still taken whole or as the first match, and from
    an attribute or the text, as the one before. Other selectors or options make a new version of the rule, which has a
    number of its own; commands take the old one as well.
    """
    if not (priority or selectors or multi or single or attributes or options) and host is None and path is None:
        wanted = "--priority, --host, --path, --selector, --multi, --single, --attribute or --option"
        raise click.UsageError(f"nothing to change; give {wanted}")
    wiring = Wiring(Settings())
    stored = wiring.stores.parser_rules
    before = existing(stored, rule_id)
    after = msgspec.structs.replace(
        before,
        host_pattern=before.host_pattern if host is None else host,
        path_pattern=before.path_pattern if path is None else path,
        crawl_priority=int(priority) if priority else before.crawl_priority,
        selectors=_edited(before.selectors, _pairs(selectors), _pairs(attributes), multi, single),
        options={name: value for name, value in {**before.options, **_pairs(options)}.items() if value},
    )
    is_moved = place_of_rule(after) != place_of_rule(before)
    if is_moved:
        check_rule(after)
        refuse_second(stored, after)
        stored.apply([msgspec.structs.replace(before, enabled=False), after])
        click.echo(f"Rule {before.rule_id} is off: {named(before)}.")
    else:
        stored.apply([after])
    saved = next(rule for rule in stored.all() if place_of_rule(rule) == place_of_rule(after))
    change = Change(before=before, after=saved)
    state = "" if saved.enabled else " (off)"
    number = f"Rule {saved.rule_id}" if is_moved else successor(rule_id, saved)
    click.echo(f"{number}: {named(saved)}, {Priority(saved.crawl_priority).label}{state}.")
    say(selectors_changed(before.selectors, saved.selectors))
    tell_when(
        wiring,
        now=now,
        reads_otherwise=change.reads_otherwise,
        same_priorities=not is_moved and change.keeps_priorities,
    )
    reads_other = saved.enabled and saved.selectors != before.selectors
    if reads_other and not is_moved and saved.target_type is TargetType.ARTICLE:
        command = f"issuetracker reparse --rule {saved.rule_id}"
        if before.selectors:
            click.echo(f"`{command} --missed` reads again the pages on which rule {rule_id} found nothing.")
        else:
            click.echo(f"`{command}` reads the stored pages again.")


def _edited(
    before: Mapping[str, SelectorSpec],
    css: Mapping[str, str],
    attributes: Mapping[str, str],
    multi: Sequence[str],
    single: Sequence[str],
) -> dict[str, SelectorSpec]:
    """The selectors with these changes; of a field what isn't named stays, so that nothing of it is lost unseen."""
    found = dict(before)
    for field, value in css.items():
        if field not in SELECTOR_FIELDS and (value or field not in before):
            raise click.ClickException(f"--selector {field}=: pages have no field {field!r}; there are {_FIELDS}")
        if value:
            found[field] = msgspec.structs.replace(before.get(field, SelectorSpec(css="")), css=value)
        else:
            found.pop(field, None)
    if both := sorted(set(multi) & set(single)):
        raise click.UsageError(f"--multi and --single exclude each other; both are given for {', '.join(both)}")
    changes: list[tuple[str, dict[str, object]]] = [(field, {"attribute": name}) for field, name in attributes.items()]
    changes += [(field, {"multi": True}) for field in multi]
    changes += [(field, {"multi": False}) for field in single]
    for field, change in changes:
        if field not in found:
            add = f"--selector '{field}=CSS' adds one" if field in SELECTOR_FIELDS else f"there are {_FIELDS}"
            raise click.ClickException(f"the rule has no selector for {field!r}; {add}")
        found[field] = msgspec.structs.replace(found[field], **change)
    return found


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"{text!r} isn't NAME=VALUE")
        found[name] = value
    return found
