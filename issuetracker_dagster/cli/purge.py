"""`issuetracker purge`: what the job purge_history does, from a terminal."""

import click
import dagster as dg
from rich.console import Console

from issuetracker_dagster.defs.history import purged, told_lines, words
from issuetracker_dagster.defs.toggle_states import dagster_home
from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring


@click.command()
@click.option("--dry-run", is_flag=True, help="Only count what would go.")
def purge(dry_run: bool) -> None:
    """Remove what is older than the PURGE_* settings say.

    Finished Dagster runs with their files, ticks, events of no run, fetched pages, the index of dead letters. Live runs
    stay, and so do pages that a waiting message or a letter names. The schedule purge_history does the same every hour.
    """
    settings = Settings()
    console = Console(stderr=True)
    # Nothing but the bar is drawn there, and only where somebody looks at it.
    with console.status("looking" if dry_run else "purging") as status:

        def told(name: str, removed: Removed) -> None:
            status.update(f"{name}: {words(removed)}")

        home = dagster_home(settings.home)
        if home is None:
            report, smaller = purged(Wiring(settings), None, dry_run=dry_run, told=told)
        else:
            with dg.DagsterInstance.from_config(str(home)) as instance:
                report, smaller = purged(Wiring(settings), instance, dry_run=dry_run, told=told)
    if home is None:
        click.echo("No Dagster home with a dagster.yaml: set DAGSTER_HOME to purge runs, ticks and events, too.")
    for line in told_lines(report):
        click.echo(line)
    if not dry_run:
        click.echo(f"Files are {smaller / 1e6:.1f} MB smaller.")
