"""What the `dlq` commands take: which letters are meant."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from issuetracker_dagster.cli.arguments import host_or_url
from issuetracker_dagster.cli.seed_arguments import interval
from issuetracker_dagster.model.letters import STAGES, LetterFilter

F = TypeVar("F", bound=Callable[..., Any])


def filters(command: F) -> F:
    """The options by which letters are chosen; `meant` makes a filter of them."""
    for option in (
        click.option("--newer-than", callback=interval, help="Died within this time, such as 30m, 6h or 2d."),
        click.option("--older-than", callback=interval, help="Died longer ago than this, such as 2h."),
        click.option(
            "--host",
            default="",
            callback=host_or_url,
            help="Only those of this host, or of this URL's; *.example.com means every host below example.com.",
        ),
        click.option(
            "--reason", "reasons", multiple=True, metavar="WORD", help="Why it died, such as http_404; may be repeated."
        ),
        click.option(
            "--stage",
            "stages",
            multiple=True,
            type=click.Choice(STAGES),
            help="The stage that gave up; may be repeated.",
        ),
    ):
        command = option(command)
    return command


def meant(
    stages: tuple[str, ...],
    reasons: tuple[str, ...],
    host: str,
    older_than: int | None,
    newer_than: int | None,
    now_ms: int,
) -> LetterFilter:
    """The open letters that these options choose."""
    if older_than and newer_than and older_than >= newer_than:
        raise click.UsageError("--older-than must be less than --newer-than, or no letter is meant")
    return LetterFilter(
        stages=stages,
        reasons=reasons,
        host=host,
        since_ms=now_ms - newer_than if newer_than else 0,
        before_ms=now_ms - older_than if older_than else 0,
    )
