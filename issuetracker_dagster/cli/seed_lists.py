"""`issuetracker seeds list` and `seeds due`: which seeds there are, and which come next."""

from collections.abc import Mapping

import click
import msgspec

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.cli.seed_arguments import duration, refuse_unknown_sources
from issuetracker_dagster.flow.seed_pages import pages_of
from issuetracker_dagster.model.durations import about_duration, exact_duration
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.seeds import Seed, fresh_until_ms, is_stale, may_hurry
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

Seen = Mapping[str, tuple[str, int]]


@click.command("list")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source; may be given repeatedly.")
@click.option("--on/--off", "enabled", default=None, help="Only those that are switched on, or off.")
@click.option("--stale", is_flag=True, help="Only those whose page is older than its freshness target.")
def list_seeds(sources: tuple[str, ...], enabled: bool | None, stale: bool) -> None:
    """Show seeds, when they are due, and their age.

    "10m (5m..2h)" is an interval of ten minutes that adapts between five minutes and two hours. "stale" pages weren't
    fetched for their freshness target.
    """
    wiring = Wiring(Settings())
    stores, now_ms = wiring.stores, wiring.clock.now_ms()
    found = [seed for seed in stores.seeds.all() if not sources or seed.source in sources]
    found = [seed for seed in found if enabled is None or seed.enabled is enabled]
    seen = pages_of(found, stores.raw_contents, wiring.name_of)
    if stale:
        found = [seed for seed in found if is_stale(seed, _fetched_ms(seed, seen), now_ms)]
    if not found:
        click.echo("No such seeds; `issuetracker seeds add URL --source NAME` adds one, `seeds import --starter` many.")
        return
    head = ("id", "source", "type", "state", "due", "every", "fresh for", "last fetched", "priority", "url")
    found.sort(key=lambda seed: (seed.source, seed.url))
    for line in columns([head, *(_row(seed, _fetched_ms(seed, seen), now_ms) for seed in found)]):
        click.echo(line)


def _row(seed: Seed, fetched_ms: int, now_ms: int) -> tuple[str, ...]:
    return (
        str(seed.seed_id),
        seed.source,
        seed.target_type.value,
        "stale" if is_stale(seed, fetched_ms, now_ms) else "on" if seed.enabled else "off",
        due_words(seed.next_due_ms, now_ms) if seed.enabled else "-",
        interval_words(seed),
        exact_duration(seed.freshness_ms) if seed.freshness_ms else "-",
        f"{about_duration(now_ms - fetched_ms)} ago" if fetched_ms else "never",
        Priority(seed.priority).label if seed.priority else "by rule",
        seed.url,
    )


def interval_words(seed: Seed) -> str:
    """The interval and its bounds."""
    every = about_duration(seed.interval_ms)
    if not seed.max_interval_ms:
        return every
    return f"{every} ({exact_duration(seed.min_interval_ms)}..{exact_duration(seed.max_interval_ms)})"


class _Coming(msgspec.Struct, frozen=True):
    """A seed and when it will be published, and why then."""

    at_ms: int
    why: str
    seed: Seed


@click.command("due")
@click.option(
    "--within", default="0", show_default=True, callback=duration, help="Also what comes so soon, such as 1h."
)
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source; may be given repeatedly.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most lines.")
def due_seeds(within: int, sources: tuple[str, ...], limit: int) -> None:
    """Show which seeds are due now, and next.

    A seed is due when its interval is over, or at once, at high priority, when its page has become stale.
    """
    wiring = Wiring(Settings())
    stores, now_ms = wiring.stores, wiring.clock.now_ms()
    known = stores.seeds.all()
    refuse_unknown_sources(known, sources)
    asked = [seed for seed in known if seed.enabled and (not sources or seed.source in sources)]
    seen = pages_of(asked, stores.raw_contents, wiring.name_of)
    found = sorted((_coming(seed, _fetched_ms(seed, seen), now_ms) for seed in asked), key=lambda each: each.at_ms)
    chosen = [each for each in found if each.at_ms <= now_ms + within]
    if chosen:
        rows = [("due", "why", "source", "url")]
        rows += [(due_words(each.at_ms, now_ms), each.why, each.seed.source, each.seed.url) for each in chosen[:limit]]
        for line in columns(rows):
            click.echo(line)
    now = sum(each.at_ms <= now_ms for each in chosen)
    words = f"{now} due now" + (f", {len(chosen) - now} more within {exact_duration(within)}" if within else "")
    nearest = next((each for each in found if each.at_ms > now_ms), None)
    if nearest and not within:
        words += f"; next in {about_duration(nearest.at_ms - now_ms)}: {nearest.seed.url}"
    click.echo(words)


def _coming(seed: Seed, fetched_ms: int, now_ms: int) -> _Coming:
    urgent_ms = fresh_until_ms(seed, fetched_ms)
    if urgent_ms is not None and not may_hurry(seed, now_ms):
        urgent_ms = max(urgent_ms, seed.published_ms + max(seed.freshness_ms // 2, seed.min_interval_ms))
    if urgent_ms is not None and urgent_ms <= max(now_ms, seed.next_due_ms):
        return _Coming(urgent_ms, "stale, at high priority", seed)
    return _Coming(seed.next_due_ms, "interval", seed)


def due_words(at_ms: int, now_ms: int) -> str:
    """`now`, or `in 5m 3s`."""
    return "now" if at_ms <= now_ms else f"in {about_duration(at_ms - now_ms)}"


def _fetched_ms(seed: Seed, seen: Seen) -> int:
    return seen.get(seed.url, ("", 0))[1]
