"""What the `seeds` commands take: intervals, kinds, and seeds named by URL, id or source."""

import difflib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from issuetracker_dagster.cli.arguments import priority_word
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.urls import identity_of
from issuetracker_dagster.ports.seeds import Seeds
from issuetracker_dagster.settings.kinds import duration_ms

F = TypeVar("F", bound=Callable[..., Any])
BY_RULE = "by-rule"


def duration(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Callback of an option that takes a duration; 0 is one."""
    del context, parameter
    try:
        return None if value is None else duration_ms(value)
    except ValueError as error:
        # A bare number isn't taken for seconds: somebody who purges letters older than 30 may have meant days.
        hint = f"; {value}s are seconds" if value and value.isdecimal() else ""
        raise click.BadParameter(f"{value!r} isn't {error}{hint}") from None


def interval(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Callback of an option that takes an interval, which is longer than nothing."""
    found = duration(context, parameter, value)
    if found is not None and found <= 0:
        raise click.BadParameter(f"{value!r} is no interval; give one such as 90s, 10m or 6h")
    return found


def priority_or_rule(context: click.Context, parameter: click.Parameter, value: str | None) -> object:
    """Callback of an option that takes a priority, or `by-rule` for none."""
    return BY_RULE if value == BY_RULE else priority_word(context, parameter, value)


def values_of_seed(command: F) -> F:
    """The options by which a person sets what a seed is, but for its source; those not given are None."""
    kinds = click.Choice([kind.value for kind in TargetType])
    every = "Interval, such as 90s, 10m, 6h; with bounds it begins here and adapts."
    for option in (
        click.option("--crawler", help="Name of the crawler, carried in the headers."),
        click.option("--timeout", callback=interval, help="Longest time for its page, such as 30s."),
        click.option("--priority", callback=priority_or_rule, help="high, normal, low, or by-rule (the default)."),
        click.option(
            "--freshness", callback=duration, help="Ask at high priority when not fetched for so long; 0: no target."
        ),
        click.option("--max", "most", callback=duration, help="Longest interval for a page that rests; 0: no bounds."),
        click.option("--min", "least", callback=duration, help="Shortest interval for a page that changes often."),
        click.option("--every", callback=interval, help=every),
        click.option("--type", "kind", type=kinds, help="What it is."),
    ):
        command = option(command)
    return command


def given(
    source: str | None,
    kind: str | None,
    every: int | None,
    least: int | None,
    most: int | None,
    freshness: int | None,
    priority: object,
    timeout: int | None,
    crawler: str | None,
) -> dict[str, object]:
    """The options of `values_of_seed` that were given, by field of `Seed`."""
    found: dict[str, object] = {
        "source": source,
        "target_type": TargetType(kind) if kind else None,
        "interval_ms": every,
        "min_interval_ms": least,
        "max_interval_ms": most,
        "freshness_ms": freshness,
        "timeout_ms": timeout,
        "crawler": crawler,
        "priority": int(priority) if isinstance(priority, Priority) else None,
    }
    chosen = {name: value for name, value in found.items() if value is not None}
    return {**chosen, "priority": None} if priority == BY_RULE else chosen


def named(seeds: Seeds, names: Sequence[str], sources: Sequence[str]) -> list[Seed]:
    """The seeds of these URLs and ids, and all of these sources; raises for a name that none has."""
    known = seeds.all()
    by_name = {str(seed.seed_id): seed for seed in known} | {seed.url: seed for seed in known}
    chosen: dict[int, Seed] = {}
    for name in names:
        seed = by_name.get(name) or by_name.get(identity_of(name))
        if seed is None:
            raise click.ClickException(f"there is no seed {name}; `issuetracker seeds list` shows URLs and ids")
        chosen[seed.seed_id] = seed
    refuse_unknown_sources(known, sources)
    chosen.update({seed.seed_id: seed for seed in known if seed.source in sources})
    if not chosen:
        raise click.UsageError("name seeds by URL or id, or all of a source with --source NAME")
    return list(chosen.values())


def refuse_unknown_sources(known: Sequence[Seed], sources: Sequence[str]) -> None:
    """Raise for a source that no seed has."""
    there = {seed.source for seed in known}
    for source in sources:
        if source not in there:
            near = difflib.get_close_matches(source, there, 1)
            hint = f"did you mean {near[0]}?" if near else "`issuetracker seeds list` shows sources"
            raise click.ClickException(f"there is no seed of source {source}; {hint}")
