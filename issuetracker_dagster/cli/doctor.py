"""`issuetracker doctor`: tests the set-up, and names the fix of everything that isn't well."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
import msgspec

from issuetracker_dagster.cli.doctor_machine import machine_findings
from issuetracker_dagster.model.finding import Finding, Level
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.checkup.ask import server_findings
from issuetracker_dagster.wiring.checkup.names import name_findings, names_given

_MARKS = {Level.OK: ("ok  ", "green"), Level.WARN: ("warn", "yellow"), Level.FAIL: ("FAIL", "red")}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line: rule, level, what, fix.")
@click.option("--quiet", "-q", is_flag=True, help="Only what isn't well.")
def doctor(as_json: bool, quiet: bool) -> None:
    """Test the set-up: servers, topics, schema, disk, clocks, Dagster, flags and settings; name each fix.

    Nothing is changed. The exit code is 1 when something is broken (FAIL), 0 otherwise, also with warnings. Run it
    where Dagster runs, with the same variables.
    """
    settings = Settings()
    worst = {Level.OK: 0, Level.WARN: 0, Level.FAIL: 0}
    for finding in _all(settings):
        worst[finding.level] += 1
        if quiet and finding.level is Level.OK:
            continue
        if as_json:
            click.echo(msgspec.json.encode(finding))
        else:
            _say(finding)
    if not as_json:
        click.echo(f"{worst[Level.OK]} well, {worst[Level.WARN]} to look at, {worst[Level.FAIL]} broken.")
    if worst[Level.FAIL]:
        raise click.exceptions.Exit(1)


def _all(settings: Settings) -> Iterator[Finding]:
    def dagster() -> Iterable[Finding]:
        # Takes seconds to import: what is known before is told before.
        from issuetracker_dagster.cli.doctor_dagster import dagster_findings

        return dagster_findings(settings)

    parts: tuple[Callable[[], Iterable[Finding]], ...] = (
        lambda: machine_findings(settings),
        lambda: name_findings(names_given(os.environ, Path(".env")), settings),
        lambda: server_findings(settings),
        dagster,
    )
    for part in parts:
        yield from part()


def _say(finding: Finding) -> None:
    mark, colour = _MARKS[finding.level]
    click.echo(f"{click.style(mark, fg=colour)}  {finding.rule:<24}  {finding.what}")
    if finding.fix:
        click.echo(f"      {'':<24}  fix: {finding.fix}")
