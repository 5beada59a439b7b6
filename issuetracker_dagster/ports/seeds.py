"""Scheduled entry URLs as they are kept in SQL. Without a database all raise Unavailable."""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.seeds import Seed


class Seeds(Protocol):
    """Scheduled entry URLs."""

    def due(self, now_ms: int, limit: int) -> Sequence[Seed]: ...

    def scheduled(self, seed_id: int, next_due_ms: int) -> None:
        """The seed was published; look at it again then."""

    def add(self, seeds: Sequence[Seed]) -> int:
        """Insert those whose URL isn't there yet; returns how many were new.

        Raises `PermanentError` (`invalid_seed`), and adds none, when the priority or the interval of one can't be.
        """

    def all(self) -> Sequence[Seed]: ...
