"""`issuetracker blacklist`: pages that are dropped, or read for their links only."""

import click

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.cli.rule_words import ANY_PATH, say
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, host_forms
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.seeds import Seeds
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
    rows = [
        (str(entry.entry_id), entry.host_pattern, entry.path_pattern or ANY_PATH, entry.mode.value, entry.source)
        for entry in found
    ]
    say(columns([("id", "host", "path", "mode", "source"), *rows], right=frozenset({0})))


@blacklist.command("add")
@click.argument("host")
@click.argument("path", default="")
@click.option("--mode", type=_modes, default=BlacklistMode.DROP.value, show_default=True, help="What happens to it.")
def add_entry(host: str, path: str, mode: str) -> None:
    """Put pages of HOST whose path matches PATH on the blacklist."""
    stores = Wiring(Settings()).stores
    stored = stores.parser_rules
    entry = BlacklistEntry(host_pattern=host, path_pattern=path, mode=BlacklistMode(mode))
    if stored.add_to_blacklist(entry):
        click.echo(f"Added: {host} {path or ANY_PATH}, {mode}.")
        if not path:
            _tell_of_seeds(stores.seeds, host)
        return
    known = next((old.mode for old in stored.blacklist() if (old.host_pattern, old.path_pattern) == (host, path)), mode)
    hint = "" if known == mode else f"; to change that, `issuetracker blacklist remove {host} '{path}'` first"
    click.echo(f"It was there already, {known}{hint}.")


def _tell_of_seeds(seeds: Seeds, host: str) -> None:
    """A host as a whole takes its seeds along, which one may not have meant."""
    count = sum(host in host_forms(host_of(seed.url)) for seed in seeds.all())
    if count:
        are = "seed is" if count == 1 else "seeds are"
        click.echo(f"{count} {are} on that host, to which this applies, too; `issuetracker seeds list` shows them.")


@blacklist.command("remove", short_help="Take an entry off the blacklist.")
@click.argument("host", metavar="ID|HOST")
@click.argument("path", default="")
def remove_entry(host: str, path: str) -> None:
    """Take an entry off the blacklist: the one with this ID, or with exactly this HOST and PATH."""
    stored = Wiring(Settings()).stores.parser_rules
    if host.isdecimal() and not path:
        entry = next((entry for entry in stored.blacklist() if entry.entry_id == int(host)), None)
        if entry is None:
            raise click.ClickException(f"there is no entry {host}; `issuetracker blacklist list` shows them")
        host, path = entry.host_pattern, entry.path_pattern
    if not stored.remove_from_blacklist(host, path):
        named = f"{host} {path or ANY_PATH}"
        raise click.ClickException(f"there is no entry for {named}; `issuetracker blacklist list` shows them")
    click.echo(f"Removed: {host} {path or ANY_PATH}.")
