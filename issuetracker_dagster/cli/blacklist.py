"""`issuetracker blacklist`: pages that are dropped, or read for their links only."""

import click

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.cli.rule_words import ANY_PATH, say
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_modes = click.Choice([mode.value for mode in BlacklistMode])


@click.group()
def blacklist() -> None:
    """Pages that are dropped, or read for their links only.

    Host and path are as in rules. Publishers and parsers follow a change within seconds.
    """


@blacklist.command("list")
def list_entries() -> None:
    """Show every entry; `auto` ones were found by the parser."""
    found = Wiring(Settings()).stores.parser_rules.blacklist()
    if not found:
        click.echo("The blacklist is empty.")
        return
    rows = [(entry.host_pattern, entry.path_pattern or ANY_PATH, entry.mode.value, entry.source) for entry in found]
    say(columns([("host", "path", "mode", "source"), *rows]))


@blacklist.command("add")
@click.argument("host")
@click.argument("path", default="")
@click.option("--mode", type=_modes, default=BlacklistMode.DROP.value, show_default=True, help="What happens to it.")
def add_entry(host: str, path: str, mode: str) -> None:
    """Put pages of HOST whose path matches PATH on the blacklist."""
    stored = Wiring(Settings()).stores.parser_rules
    entry = BlacklistEntry(host_pattern=host, path_pattern=path, mode=BlacklistMode(mode))
    if stored.add_to_blacklist(entry):
        click.echo(f"Added: {host} {path or ANY_PATH}, {mode}.")
        return
    known = next((old.mode for old in stored.blacklist() if (old.host_pattern, old.path_pattern) == (host, path)), mode)
    hint = "" if known == mode else f"; to change that, `issuetracker blacklist remove {host} '{path}'` first"
    click.echo(f"It was there already, {known}{hint}.")


@blacklist.command("remove")
@click.argument("host")
@click.argument("path", default="")
def remove_entry(host: str, path: str) -> None:
    """Take exactly this HOST and PATH off the blacklist."""
    if not Wiring(Settings()).stores.parser_rules.remove_from_blacklist(host, path):
        named = f"{host} {path or ANY_PATH}"
        raise click.ClickException(f"there is no entry for {named}; `issuetracker blacklist list` shows them")
    click.echo(f"Removed: {host} {path or ANY_PATH}.")
