"""`issuetracker seeds import|export`: seeds from and to a YAML file, and the starter list."""

import sys
from collections.abc import Iterable, Iterator
from importlib import resources

import click
import yaml

from issuetracker_dagster.cli.files import read_text, write_text
from issuetracker_dagster.cli.seeds_file import WrongSeeds, merged, read_seeds, written
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

MANY = 500
"""Entries above which reading shows how far it is."""
MOST_FAULTS = 50


def starter_text() -> str:
    """The starter list that comes with the package."""
    return resources.files("issuetracker_dagster").joinpath("starter_seeds.yaml").read_text("utf-8")


@click.command("import")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--starter", is_flag=True, help="The list that comes with the package: public feeds, all switched off.")
@click.option("--update", is_flag=True, help="Also change seeds that are there already to what the file says.")
def import_seeds(file: str | None, starter: bool, update: bool) -> None:
    """Add the seeds of a YAML FILE, all or none.

    "-" reads from the terminal. Every fault is told with its line. Seeds whose URL is there already stay as they are
    unless --update is given; then what the file says of them counts, and what it doesn't say stays.
    """
    if (file is None) is not starter:
        raise click.UsageError("give either a FILE or --starter")
    try:
        text = starter_text() if file is None else read_text(file)
        entries = read_seeds(text, _watched)
        wiring = Wiring(Settings())
        known = {seed.url: seed for seed in wiring.stores.seeds.all()}
        there = [entry for entry in entries if entry.url in known]
        wanted = entries if update else [entry for entry in entries if entry.url not in known]
        # What is there already is judged, too: a file with faults is never half right.
        seeds = merged(entries, known if update else {}, wiring.clock.now_ms())
    except WrongSeeds as error:
        raise click.ClickException(_refusal(error)) from None
    urls = {entry.url for entry in wanted}
    different = [seed for seed in seeds if seed.url in urls and seed != known.get(seed.url)]
    added = wiring.stores.seeds.put(different) if update else wiring.stores.seeds.add(different)
    click.echo(f"{added} added" + (f", {len(different) - added} changed" if update else "") + ".")
    same = len(there) - (len(different) - added if update else 0)
    if same:
        hint = "said nothing new" if update else "were there already; --update changes them to what the file says"
        click.echo(f"{same} {hint}.", err=True)
    if starter and added:
        click.echo("All are off; `issuetracker seeds list --off` shows them, `seeds enable --source NAME` switches on.")


@click.command("export")
@click.argument("file", required=False, type=click.Path(dir_okay=False, writable=True, allow_dash=True))
@click.option("--overwrite", is_flag=True, help="Replace FILE if it is there.")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source; may be given repeatedly.")
def export_seeds(file: str | None, overwrite: bool, sources: tuple[str, ...]) -> None:
    """Write every seed as `seeds import` reads it.

    To FILE, or to the terminal.
    """
    found = [seed for seed in Wiring(Settings()).stores.seeds.all() if not sources or seed.source in sources]
    text = written(found)
    if file is None or file == "-":
        click.echo(text, nl=False)
        return
    write_text(file, text, overwrite=overwrite)
    click.echo(f"{len(found)} seeds in {file}.", err=True)


def _watched(nodes: list[yaml.Node]) -> Iterator[yaml.Node]:
    if len(nodes) < MANY:
        yield from nodes
        return
    bar: Iterable[yaml.Node]
    with click.progressbar(nodes, label="reading seeds", file=sys.stderr) as bar:
        yield from bar


def _refusal(error: WrongSeeds) -> str:
    more = len(error.faults) - MOST_FAULTS
    shown = [*error.faults[:MOST_FAULTS], *([f"... and {more} more"] if more > 0 else [])]
    return "\n".join(["nothing was imported:", *shown])
