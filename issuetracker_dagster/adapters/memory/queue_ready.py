"""The ready set of the queue in memory: members by score, as the ZSET has them. Knows order and age, not leases."""

import bisect
from collections.abc import Iterator

from issuetracker_dagster.model.priority import (
    BAND_WIDTH,
    Priority,
    arrival_of_score,
    priority_of_score,
)


class ReadySet:
    """(score, member) pairs in order. Not for several threads at once."""

    def __init__(self) -> None:
        self._pairs: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, score: float, member: str) -> None:
        bisect.insort(self._pairs, (score, member))

    def remove(self, score: float, member: str) -> None:
        del self._pairs[bisect.bisect_left(self._pairs, (score, member))]

    def best(self) -> Priority | None:
        """The band of the head; None when empty."""
        return priority_of_score(self._pairs[0][0]) if self._pairs else None

    def oldest_of_lowest(self) -> str:
        """The member that makes room when there are too many."""
        return self._pairs[self._start_of(priority_of_score(self._pairs[-1][0]))][1]

    def in_order(self, after_ms: float) -> Iterator[str]:
        """Members that arrived after that time, from the best band down; the set may change meanwhile."""
        return (member for points, member in tuple(self._pairs) if arrival_of_score(points) > after_ms)

    def arrived(self, after_ms: float, until_ms: float, below: Priority | None = None) -> list[str]:
        """Members that arrived in that span, oldest first; only of bands below the one named."""
        found = []
        for band in Priority:
            if below is None or band > below:
                first = bisect.bisect_right(self._pairs, (band * float(BAND_WIDTH) + after_ms, "\U0010ffff"))
                past = bisect.bisect_right(self._pairs, (band * float(BAND_WIDTH) + until_ms, "\U0010ffff"))
                found += [(arrival_of_score(points), member) for points, member in self._pairs[first:past]]
        return [member for _, member in sorted(found)]

    def band(self, priority: Priority) -> tuple[int, float | None]:
        """How many of that band, and when the oldest of them arrived."""
        first, past = self._start_of(priority), self._start_of(priority + 1)
        return past - first, arrival_of_score(self._pairs[first][0]) if past > first else None

    def _start_of(self, band: int) -> int:
        return bisect.bisect_left(self._pairs, (band * float(BAND_WIDTH), ""))
