"""`issuetracker digest`: the issues that move fastest, in the terminal or as a page."""

from datetime import UTC, datetime
from pathlib import Path

import click

from issuetracker_dagster.flow.digest import HOURS, TOP, figures, gather, sparkline
from issuetracker_dagster.flow.digest_page import page
from issuetracker_dagster.model.digest import one_line
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.digest import replace_text
from issuetracker_dagster.wiring.parts import Wiring


@click.command()
@click.option("--hours", type=click.IntRange(1, 24 * 31), default=HOURS, show_default=True, help="How far back.")
@click.option("--top", type=click.IntRange(1, 200), default=TOP, show_default=True, help="Most issues.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write it as a page to this file instead."
)
def digest(hours: int, top: int, html: Path | None) -> None:
    """Show the issues of the last hours that move fastest: sources, velocity, trust, timeline.

    The asset issue_digest makes the same every hour, see ISSUETRACKER_HOME/reports/latest.html.
    """
    wiring = Wiring(Settings())
    found = gather(wiring.stores.digests, wiring.machine_clock, hours, top)
    if html is not None:
        try:
            replace_text(html, page(found))
        except OSError as error:
            raise click.ClickException(f"{html} can't be written: {error.strerror}") from None
        click.echo(f"{html}: {len(found.issues)} issues.")
        return
    for number, issue in enumerate(found.issues, 1):
        click.echo(f"{number:>3}. {one_line(issue.issue.title) or '(no title)'}")
        click.echo(f"     {figures(issue)}; {', '.join(one_line(host) for host in issue.hosts[:5])}")
        click.echo(f"     |{sparkline(found.timeline(issue, 48))}|")
    since = datetime.fromtimestamp(found.since_ms / 1000, UTC)
    click.echo(f"{len(found.issues)} issues since {since:%Y-%m-%d %H:%M} UTC.")
