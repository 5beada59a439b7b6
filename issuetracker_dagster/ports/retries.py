"""Messages that wait for their due time before they go back to Kafka."""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage


class RetrySet(Protocol):
    """Ordered by due time, named by the identity of the *next* generation's message. Raises `Unavailable`."""

    def schedule(self, entry: RetryEntry) -> None:
        """Keep the entry until its due time; scheduled again under the same identity, the newer due time counts."""

    def schedule_all(self, entries: Sequence[RetryEntry]) -> None:
        """As `schedule` for each of a batch, in its order, confirmed on disk once.

        Those with one due time come out in that order, up to 1,024 in a millisecond. After an error some may be kept.
        """

    def holds(self, identities: Sequence[str]) -> int:
        """How many messages with these identities wait here."""

    def due(self, now_ms: int, limit: int = 100) -> Sequence[RetryEntry]:
        """Entries due at `now_ms`, earliest first; they stay until `remove`."""

    def remove(self, entries: Sequence[RetryEntry]) -> int:
        """Remove entries whose due time is still the one given; returns how many (rescheduled ones survive)."""

    def size(self) -> int: ...

    def oldest_source_ms(self, stage: Stage) -> int | None:
        """The earliest Kafka time among what `stage` has waiting here; None when nothing."""
