"""`issuetracker rules`: how pages are read and how urgent they are.

One is edited in `cli.rule_edit` and shown in `cli.rule_show`; whole files are in `cli.rule_sets`.
"""

import click
import msgspec

from issuetracker_dagster.cli.arguments import RULE_ID, host_or_url, page_url, priority_word
from issuetracker_dagster.cli.rule_arguments import existing, of_host, refuse_second
from issuetracker_dagster.cli.rule_edit import edit_rule
from issuetracker_dagster.cli.rule_sets import export_rules, import_rules, preview_rules, refresh_rules
from issuetracker_dagster.cli.rule_show import show_rule
from issuetracker_dagster.cli.rule_words import explained, listed, named, now_option, say, tell_when
from issuetracker_dagster.flow.explain import explain
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import ParserRule, PriorityRule, check_rule
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_kinds = click.Choice([kind.value for kind in TargetType])


@click.group()
def rules() -> None:
    """Priority and reading of pages, by host and path.

    A host is exact or *.example.com; a path is an RE2 expression that is searched in the decoded path. Exact hosts are
    asked before wildcards, longer expressions before shorter ones; the first that matches decides.
    """


@rules.command("list")
@click.option(
    "--host",
    callback=host_or_url,
    help="Only the rules that are asked for this host, in the order in which they are.",
)
def list_rules(host: str | None) -> None:
    """Show every rule, in the order in which they were saved."""
    found = Wiring(Settings()).stores.parser_rules.all()
    if host:
        found = of_host(found, host)
    if found:
        say(listed(found))
        return
    about = "no rule" if not host else f"no rule about {host}"
    click.echo(f"There is {about}; what has no priority of its own is normal. `issuetracker rules add` adds one.")


@rules.command("add")
@click.argument("host")
@click.argument("path", default="")
@click.option("--priority", required=True, callback=priority_word, help="high, normal or low.")
@click.option("--type", "kind", type=_kinds, default=TargetType.ARTICLE.value, show_default=True, help="What it reads.")
@click.option("--like", type=RULE_ID, help="Read pages as this rule does; default: as the host's rule for any path.")
@now_option
def add_rule(host: str, path: str, priority: Priority, kind: str, like: int | None, now: bool) -> None:
    """Give the pages of HOST whose path matches PATH a priority.

    The rule that decides also says how a page is read, so selectors and options are taken over from another one.
    """
    wiring = Wiring(Settings())
    stored = wiring.stores.parser_rules
    wanted = ParserRule(
        host_pattern=host, path_pattern=path, target_type=TargetType(kind), crawl_priority=int(priority)
    )
    check_rule(wanted)
    refuse_second(stored, wanted)
    model = existing(stored, like) if like is not None else _for_any_path(stored, wanted)
    if model is not None:
        wanted = msgspec.structs.replace(wanted, selectors=model.selectors, options=model.options)
    saved = stored.save(wanted)
    click.echo(f"Added rule {saved.rule_id}: {named(saved)}, {Priority(saved.crawl_priority).label}.")
    if model is not None and (model.selectors or model.options):
        click.echo(f"It reads pages as rule {model.rule_id} does.")
    tell_when(wiring, now=now)


@rules.command("disable")
@click.argument("rule_ids", type=RULE_ID, nargs=-1, required=True)
@now_option
def disable_rules(rule_ids: tuple[int, ...], now: bool) -> None:
    """Switch rules off; they stay and can be switched on again."""
    _switch(rule_ids, enabled=False, now=now)


@rules.command("enable")
@click.argument("rule_ids", type=RULE_ID, nargs=-1, required=True)
@now_option
def enable_rules(rule_ids: tuple[int, ...], now: bool) -> None:
    """Switch rules on again."""
    _switch(rule_ids, enabled=True, now=now)


@rules.command("test")
@click.argument("urls", nargs=-1, required=True, callback=page_url)
def try_urls(urls: tuple[str, ...]) -> None:
    """Show which rule of the database decides about URLS."""
    wiring = Wiring(Settings())
    read = wiring.rules_refresher.read()
    snapshot = wiring.stores.rule_snapshots.latest()
    for url in urls:
        found = explain(read.rules, url)
        say(explained(url, found))
        if snapshot is not None:
            used = explain(snapshot.rules, url).decides
            if _label(used) != _label(found.decides):
                click.echo(
                    f"  publishers still say {_label(used)}; `issuetracker rules refresh` brings them up to date"
                )
    say([f"Refused: {reason}" for reason in read.refused])
    if snapshot is None:
        click.echo("There is no snapshot of the rules yet; `issuetracker rules refresh` makes one.")
    elif snapshot.fingerprint != read.fingerprint:
        click.echo(f"Publishers use version {snapshot.version} of the rules, which differs from the database.")


def _label(rule: PriorityRule | None) -> str:
    return Priority.NORMAL.label if rule is None else rule.priority.label


def _switch(rule_ids: tuple[int, ...], *, enabled: bool, now: bool) -> None:
    wiring = Wiring(Settings())
    stored = wiring.stores.parser_rules
    if len(rule_ids) > 1:
        # All or none; a single one may be switched off even if the rest of it can't be read.
        for rule_id in rule_ids:
            existing(stored, rule_id)
    for rule_id in rule_ids:
        stored.set_enabled(rule_id, enabled=enabled)
        click.echo(f"Rule {rule_id} is {'on' if enabled else 'off'}.")
    tell_when(wiring, now=now)


def _for_any_path(stored: ParserRules, wanted: ParserRule) -> ParserRule | None:
    """The rule that reads what no path of the host is about."""
    found = [rule for rule in stored.for_host(wanted.host_pattern, wanted.target_type) if not rule.path_pattern]
    return next(iter(found), None)


for command in (show_rule, edit_rule, import_rules, export_rules, preview_rules, refresh_rules):
    rules.add_command(command)
