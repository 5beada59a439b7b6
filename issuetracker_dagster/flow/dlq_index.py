"""The DLQ into its index: poll, store, commit, for the time budget of one tick.

Offsets are committed only after the index has the letters; what a crash leaves uncommitted is read again and is known.
"""

import logging
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.model.letters import indexed
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.dead_letters import DeadLetterIndex
from issuetracker_dagster.ports.topics import IntakeReader, Position

logger = logging.getLogger(__name__)

DLQ_GROUP = "issuetracker-dlq-index"
POLL_MS = 1_000
REMOVE_EVERY_MS = 3_600_000


class IndexReport(msgspec.Struct, frozen=True):
    """One tick in numbers: new letters, letters read again, rows too old to keep, and letters nobody can read now."""

    stored: int = 0
    known: int = 0
    removed: int = 0
    lost_to_retention: int = 0


class DeadLetterIndexer:
    """Keeps the index. Calls of `tick` mustn't overlap in one process.

    Two processes at once do no harm: both store the same rows, and the later commit stands. No lock, then, and so no
    Redis is needed for it.
    """

    def __init__(
        self,
        *,
        reader: IntakeReader,
        index: DeadLetterIndex,
        clock: Clock,
        forget_after_ms: int,
        batch: int = 500,
    ) -> None:
        self._reader = reader
        self._index = index
        self._clock = clock
        self._forget_after_ms = forget_after_ms
        self._batch = batch
        self._removed_at_ms: int | None = None

    def tick(self, budget_ms: int) -> IndexReport:
        """Index what the topic holds until it is read to the end or the budget is used up.

        Raises `Unavailable` or `CommitRefused` with nothing committed past what is stored.
        """
        deadline = self._clock.monotonic() + budget_ms / 1000
        stored = known = 0
        try:
            while self._clock.monotonic() < deadline:
                records = self._reader.poll(self._batch, POLL_MS)
                if not records:
                    break
                new = self._index.record([indexed(record) for record in records])
                self._reader.commit(_positions(records))
                stored += new
                known += len(records) - new
        except BaseException:
            # Read on from what is committed: what was polled and not stored would be skipped otherwise.
            self._reader.reset()
            raise
        return IndexReport(stored, known, self._remove_old(), self._gaps())

    def _remove_old(self) -> int:
        now_ms = self._clock.now_ms()
        if self._removed_at_ms is not None and now_ms - self._removed_at_ms < REMOVE_EVERY_MS:
            return 0
        removed = self._index.remove(now_ms - self._forget_after_ms)
        self._removed_at_ms = now_ms
        return removed

    def _gaps(self) -> int:
        lost = 0
        for gap in self._reader.gaps():
            lost += gap.last - gap.first
            logger.error(
                "letters %d to %d of partition %d of the DLQ were removed by retention before they were indexed",
                gap.first,
                gap.last - 1,
                gap.partition,
                extra=action("intake.offsets_lost", topic=gap.topic, partition=gap.partition, first=gap.first),
            )
        return lost


def _positions(records: Sequence[Record]) -> dict[tuple[str, int], Position]:
    """Where reading goes on; the records of a partition come in the order of their offsets."""
    return {(record.origin.topic, record.origin.partition): Position(record.origin.offset + 1) for record in records}
