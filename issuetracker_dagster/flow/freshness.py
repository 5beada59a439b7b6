"""Which sources are behind their freshness target. What is done about it is in `flow.schedule`."""

from collections.abc import Callable, Sequence

import msgspec

from issuetracker_dagster.flow.seed_pages import pages_of
from issuetracker_dagster.model.durations import about_duration, exact_duration
from issuetracker_dagster.model.seeds import Seed, is_stale
from issuetracker_dagster.ports.seeds import Seeds
from issuetracker_dagster.ports.stores import RawContents


class Breach(msgspec.Struct, frozen=True):
    """A source behind its target: its stalest page, and how many of its pages are stale. `fetched_ms` 0 = never."""

    seed: Seed
    fetched_ms: int
    age_ms: int
    pages: int

    def __str__(self) -> str:
        age = about_duration(self.age_ms)
        what = f"not fetched for {age}" if self.fetched_ms else f"never fetched in {age}"
        more = f" and {self.pages - 1} more" if self.pages > 1 else ""
        return f"{self.seed.source}: {what}, target {exact_duration(self.seed.freshness_ms)} ({self.seed.url}{more})"


class Freshness(msgspec.Struct, frozen=True):
    """How many pages have a target, how many of them are stale, and the sources in breach, the most overdue first."""

    watched: int
    stale: int
    breaches: tuple[Breach, ...]


def freshness(seeds: Seeds, raw_contents: RawContents, name_of: Callable[[str], str], now_ms: int) -> Freshness:
    """The state of the moment; raises `Unavailable`. Seeds that are switched off have no target.

    `name_of` gives the URL under which the publisher knows a page.
    """
    watched = seeds.watched()
    seen = pages_of(watched, raw_contents, name_of)
    by_source: dict[str, list[tuple[int, Seed, int]]] = {}
    for seed in watched:
        fetched_ms = seen.get(seed.url, ("", 0))[1]
        if is_stale(seed, fetched_ms, now_ms):
            age_ms = now_ms - max(fetched_ms, seed.since_ms)
            by_source.setdefault(seed.source, []).append((age_ms, seed, fetched_ms))
    return Freshness(
        len(watched), sum(map(len, by_source.values())), tuple(_most_overdue([*map(_breach, by_source.values())]))
    )


def _breach(stale: Sequence[tuple[int, Seed, int]]) -> Breach:
    age_ms, seed, fetched_ms = max(stale, key=lambda each: each[0] / each[1].freshness_ms)
    return Breach(seed, fetched_ms, age_ms, len(stale))


def _most_overdue(breaches: Sequence[Breach]) -> list[Breach]:
    return sorted(breaches, key=lambda breach: -breach.age_ms / breach.seed.freshness_ms)
