"""Scheduled entry URLs as they are kept in SQL. Without a database all raise Unavailable."""

from collections.abc import Collection, Sequence
from typing import Protocol

from issuetracker_dagster.model.seeds import Seed


class Seeds(Protocol):
    """Scheduled entry URLs, each known by its URL and its id."""

    def due(self, now_ms: int, limit: int, after: Seed | None = None) -> Sequence[Seed]:
        """Those that are on and due, the longest due first; `after` goes on behind the last one of another answer."""

    def watched(self) -> Sequence[Seed]:
        """Those that are on and have a freshness target, in order of id."""

    def scheduled(self, seeds: Sequence[Seed]) -> None:
        """They were published: keep `next_due_ms`, `interval_ms`, `body_sha256` and `published_ms` of each.

        All or none. One whose interval or bounds were edited since it was read, or that is gone, is left alone and
        stays due.
        """

    def add(self, seeds: Sequence[Seed]) -> int:
        """Insert those whose URL isn't there yet; returns how many were new.

        Raises `PermanentError` (`invalid_seed`), and adds none, when one can't be (`check_seed`).
        """

    def put(self, seeds: Sequence[Seed]) -> int:
        """Add those that are new, give the others every value that people set; returns how many were new.

        The due time counts among these. What the scheduler found (`body_sha256`, `published_ms`) and the id stay. All
        or none; raises as `add` does.
        """

    def get(self, seed_id: int) -> Seed | None: ...

    def by_url(self, url: str) -> Seed | None: ...

    def set_enabled(self, urls: Collection[str], *, enabled: bool, now_ms: int) -> int:
        """Switch on or off; returns how many changed. Switched on, a seed's age counts from now (`since_ms`)."""

    def remove(self, urls: Collection[str]) -> int:
        """Delete; returns how many there were. Their pages and contents stay."""

    def count_of(self, source: str) -> int:
        """How many came from that source."""

    def all(self) -> Sequence[Seed]:
        """Every seed in order of id."""
