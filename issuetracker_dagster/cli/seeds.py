"""`issuetracker seeds`: the group of commands about entry URLs."""

import click

from issuetracker_dagster.cli.seed_changes import add_seed, disable_seeds, edit_seed, enable_seeds, remove_seeds
from issuetracker_dagster.cli.seed_lists import due_seeds, list_seeds
from issuetracker_dagster.cli.seed_transfer import export_seeds, import_seeds


@click.group()
def seeds() -> None:
    """Entry URLs that are crawled at intervals."""


for command in (
    list_seeds,
    due_seeds,
    add_seed,
    edit_seed,
    enable_seeds,
    disable_seeds,
    remove_seeds,
    import_seeds,
    export_seeds,
):
    seeds.add_command(command)
