"""`issuetracker rules import|export|preview|refresh`: rules as a whole, from and to a file and on to the publishers."""

import click

from issuetracker_dagster.cli.arguments import host_or_url
from issuetracker_dagster.cli.files import read_text, write_text
from issuetracker_dagster.cli.rule_arguments import of_host
from issuetracker_dagster.cli.rule_words import (
    broken,
    changed,
    count_of,
    named,
    now_option,
    previewed,
    refreshed,
    say,
    successor,
    tell_when,
)
from issuetracker_dagster.cli.rules_file import WrongFile, read_rules, written
from issuetracker_dagster.flow.preview import preview
from issuetracker_dagster.flow.refresh import judged
from issuetracker_dagster.flow.rule_set import WantedRule, after, changes, place_of_rule, priorities
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_MOST_URLS = 20_000
_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
_missing_option = click.option("--disable-missing", is_flag=True, help="Switch off the rules that aren't in the file.")


@click.command("import")
@_file
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@_missing_option
@now_option
def import_rules(file: str, dry_run: bool, disable_missing: bool, now: bool) -> None:
    """Bring in the rules of a YAML file: all of them, or none.

    FILE is - for standard input. What a rule in the file doesn't mention stays as it is.
    """
    wanted = rules_of_file(file)
    wiring = Wiring(Settings())
    stored = wiring.stores.parser_rules
    planned = changes(stored.all(), wanted, disable_missing=disable_missing)
    say(changed(planned))
    if dry_run:
        click.echo(f"{count_of(len(planned), 'change')}; nothing was saved (--dry-run).")
        return
    if not planned:
        click.echo(f"Nothing to change: {count_of(len(wanted), 'rule')} in the file, all so already.")
        return
    stored.apply([change.after for change in planned])
    click.echo(f"{count_of(len(planned), 'change')} saved.")
    saved = {place_of_rule(rule): rule for rule in stored.all()}
    renumbered = [(each.before.rule_id, saved[place_of_rule(each.after)]) for each in planned if each.before]
    say([f"{successor(old, rule)}: {named(rule)}." for old, rule in renumbered if rule.rule_id != old])
    tell_when(
        wiring,
        now=now,
        reads_otherwise=any(each.reads_otherwise for each in planned),
        same_priorities=all(each.keeps_priorities for each in planned),
    )


@click.command("export")
@click.argument("file", required=False, type=click.Path(dir_okay=False, writable=True, allow_dash=True))
@click.option("--host", callback=host_or_url, help="Only the rules that are asked for this host, wildcards included.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it is there.")
def export_rules(file: str | None, host: str | None, overwrite: bool) -> None:
    """Write every rule as `import` reads it, to FILE or the terminal.

    A file of one host isn't one for `import --disable-missing`, which switches off all that isn't in it.
    """
    found = Wiring(Settings()).stores.parser_rules.all()
    if host:
        found = of_host(found, host)
        if not found:
            raise click.ClickException(f"there is no rule about {host}; `issuetracker rules list` shows them")
    if faults := [rule.fault for rule in broken(found)]:
        raise click.ClickException(
            "nothing was written, since what is in these rules would be lost: " + "; ".join(faults)
        )
    if file is None or file == "-":
        click.echo(written(found), nl=False)
        return
    write_text(file, written(found), overwrite=overwrite)
    click.echo(f"Wrote {count_of(len(found), 'rule')} to {file}.")


@click.command("preview")
@_file
@click.option(
    "--last",
    type=click.IntRange(1, _MOST_URLS),
    default=_MOST_URLS,
    show_default=True,
    help="How many published URLs to look at.",
)
@_missing_option
def preview_rules(file: str, last: int, disable_missing: bool) -> None:
    """Show which URLs of lately would move with the rules of FILE.

    A move is one between high, normal and low. Nothing is saved. Of a burst only a part is remembered.
    """
    wanted = rules_of_file(file)
    wiring = Wiring(Settings())
    stored = wiring.stores.parser_rules.all()
    planned = changes(stored, wanted, disable_missing=disable_missing)
    say(changed(planned))
    published = wiring.stores.published_recent.latest(last)
    if not published:
        click.echo("Nothing has been published yet, so there is nothing to compare with. The file can be imported.")
        return
    limit = wiring.settings.publish.priority_rules_load_limit
    will_be = judged(priorities(after(stored, planned))[:limit])
    say(previewed(preview(published, wiring.rules_refresher.read().rules, will_be.rules)))
    click.echo(f"Nothing was saved; `issuetracker rules import {file}` does it.")


@click.command("refresh")
def refresh_rules() -> None:
    """Give the rules of the database to the publishers now."""
    wiring = Wiring(Settings())
    say(refreshed(wiring.rules_refresher.refresh(), wiring.settings.publish.priority_rules_load_limit))


def rules_of_file(file: str) -> list[WantedRule]:
    """The rules of a file, of standard input for `-`; raises `ClickException` that names its faults."""
    try:
        return read_rules(read_text(file))
    except WrongFile as error:
        faults = "\n".join(f"  {fault}" for fault in error.faults)
        raise click.ClickException(f"nothing was changed, since {file} has faults:\n{faults}") from None
