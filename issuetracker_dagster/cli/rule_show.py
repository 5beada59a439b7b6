"""`issuetracker rules show`: one rule whole, and which of its versions is used."""

from collections.abc import Sequence

import click

from issuetracker_dagster.cli.arguments import RULE_ID
from issuetracker_dagster.cli.rule_arguments import no_rule
from issuetracker_dagster.cli.rules_file import written
from issuetracker_dagster.model.rules import ParserRule, in_force
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring


@click.command("show")
@click.argument("rule_id", type=RULE_ID)
def show_rule(rule_id: int) -> None:
    """Show a rule with its selectors and options, as `rules import` takes it.

    Each change of selectors or options gives a rule another number. An old number shows how pages were read then:
    `issuetracker rules show 31 | issuetracker rules import -` brings that back.
    """
    versions = Wiring(Settings()).stores.parser_rules.versions(rule_id)
    asked = next((version for version in versions if version.rule_id == rule_id), None)
    if asked is None:
        raise no_rule(rule_id)
    if asked.fault:
        raise click.ClickException(f"{asked.fault}; mend it in the database")
    # Comments, so that the whole of it can be saved as a file of rules.
    for line in _about(asked, versions):
        click.echo(f"# {line}")
    click.echo(written([asked]), nl=False)


def _about(asked: ParserRule, versions: Sequence[ParserRule]) -> list[str]:
    used = in_force(versions)
    if used is asked:
        state = "in force" if asked.enabled else "off"
    elif used.enabled:
        state = f"not used: {_version(used)} is, which `issuetracker rules show {used.rule_id}` shows"
    else:
        state = f"off; the newest is {_version(used)}"
    lines = [f"{_version(asked)} is {state}"]
    if earlier := [_version(version) for version in versions if version.version < asked.version]:
        lines.append(f"before it: {', '.join(earlier)}")
    if later := [_version(version) for version in versions if version.version > asked.version and version is not used]:
        lines.append(f"also after it: {', '.join(later)}")
    return lines


def _version(rule: ParserRule) -> str:
    return f"rule {rule.rule_id} (version {rule.version})"
