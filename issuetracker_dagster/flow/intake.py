"""Kafka to a stage queue: poll, push, commit, for the time budget of one tick.

A message is committed only after the queue has it on disk. Each commit notes the queue's epoch and the Kafka time of
the oldest message not yet settled, so that a queue that was lost is filled again from Kafka.
"""

import logging
from collections.abc import Mapping, Sequence

import msgspec

from issuetracker_dagster.errors import CommitRefused, Malformed, Unavailable
from issuetracker_dagster.flow.intake_positions import ends, overtaken
from issuetracker_dagster.flow.malformed import MalformedRecords
from issuetracker_dagster.model.intake_note import Note, read_note
from issuetracker_dagster.model.message import Record, message_of
from issuetracker_dagster.model.queue import QueueEntry, queue_entry
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import LockHold, Locks
from issuetracker_dagster.ports.queue import StageQueue
from issuetracker_dagster.ports.retries import RetrySet
from issuetracker_dagster.ports.topics import IntakeReader, Position, Producer, TopicPartition

logger = logging.getLogger(__name__)

LOCK_MARGIN_MS = 30_000
POLL_MS = 1_000
LEAVING = "workers that read Kafka directly are still in the group"
REFRESH_MS = 60_000
"""How old the note of an idle group may get before it is committed anew."""


class IntakeReport(msgspec.Struct, frozen=True):
    """One tick in numbers. `skipped` says why nothing could be done; `rewound_to_ms` that a lost queue is refilled."""

    stored: int = 0
    known: int = 0
    dead_lettered: int = 0
    evicted: int = 0
    refused: int = 0
    lost_to_retention: int = 0
    rewound_to_ms: int | None = None
    skipped: str = ""


class ZSetIntake:
    """The intake of one stage. Calls of `tick` mustn't overlap in one process; across processes the lock sees to it."""

    def __init__(
        self,
        stage: Stage,
        *,
        reader: IntakeReader,
        queue: StageQueue,
        retries: RetrySet,
        producer: Producer,
        locks: Locks,
        clock: Clock,
        batch: int = 500,
    ) -> None:
        self._stage = stage
        self._reader = reader
        self._queue = queue
        self._retries = retries
        self._locks = locks
        self._clock = clock
        self._batch = batch
        self._committed: dict[TopicPartition, int] = {}
        self._malformed = MalformedRecords(stage, producer, clock)
        self._holder = 0
        """The epoch of the lock under which this intake committed last."""

    def tick(self, budget_ms: int) -> IntakeReport:
        """Store what Kafka holds and what arrives, until the budget is used up or the queue is full.

        With nothing there it waits, since a message that arrives between two ticks has to wait for the next.
        Raises `Unavailable` or `PublishFailed` with nothing committed past what is stored.
        """
        hold = self._locks.acquire(intake_lock(self._stage), budget_ms + LOCK_MARGIN_MS)
        if hold is None:
            return IntakeReport(skipped="another intake of this stage is at work")
        try:
            return self._tick(hold, budget_ms)
        except BaseException:
            self._reader.reset()  # what wasn't committed is polled again
            raise
        finally:
            self._locks.release(hold)

    def _tick(self, hold: LockHold, budget_ms: int) -> IntakeReport:
        deadline = self._clock.monotonic() + budget_ms / 1000
        if self._reader.has_members():
            return IntakeReport(skipped=LEAVING)
        epoch = self._queue.open()
        committed = self._standing(self._reader.committed(), epoch)
        offsets = {partition: position.offset for partition, position in committed.items()}
        if offsets != self._committed:
            # Somebody else read on meanwhile, another intake or workers in direct mode: continue from there.
            self._reader.reset()
            self._committed = offsets
        self._holder = hold.epoch
        try:
            rewound_to_ms = self._rewind_if_lost(epoch, committed)
            self._refresh_note(epoch, committed)
            total = IntakeReport(rewound_to_ms=rewound_to_ms)
            while (left_s := deadline - self._clock.monotonic()) > 0:
                records = self._reader.poll(self._batch, timeout_ms=min(POLL_MS, int(left_s * 1000) + 1))
                self._report_gaps()
                if not records:
                    continue
                step = self._store(records, epoch, hold, budget_ms)
                total = _sum(total, step)
                if step.refused:
                    self._reader.reset()
                    break
        except CommitRefused as error:
            self._reader.reset()
            logger.info("%s", error, extra=action("kafka.commit_refused", stage=self._stage.value))
            return IntakeReport(skipped=LEAVING)
        return total

    def _store(self, records: Sequence[Record], epoch: str, hold: LockHold, budget_ms: int) -> IntakeReport:
        entries, dead = self._sort(records)
        if dead:
            self._malformed.bury(dead)
        result = self._queue.push([entry for _, entry in entries])
        self._queue.settle_writes()
        refused = set(result.refused)
        upto = ends(records, {id(record) for record, entry in entries if entry.member in refused})
        if not self._locks.renew(hold, budget_ms + LOCK_MARGIN_MS):
            # Another intake is at work by now and has its own position: ours must not overwrite it.
            logger.warning("lost the intake lock", extra=action("intake.lost_lock", stage=self._stage.value))
            raise CommitRefused("another intake took over")
        self._commit(upto, epoch)
        self._malformed.forget(upto)
        logger.debug("stored %d", result.added, extra=action("intake.stored", stage=self._stage.value))
        return IntakeReport(
            stored=result.added,
            known=result.known + result.promoted,
            dead_lettered=len(dead),
            evicted=result.evicted,
            refused=len(refused),
        )

    def _sort(self, records: Sequence[Record]) -> tuple[list[tuple[Record, QueueEntry]], list[tuple[Record, str]]]:
        entries: list[tuple[Record, QueueEntry]] = []
        dead: list[tuple[Record, str]] = []
        for record in records:
            try:
                entries.append((record, queue_entry(message_of(record))))
            except Malformed as error:
                dead.append((record, str(error)))
        return entries, dead

    def _commit(self, upto: Mapping[TopicPartition, int], epoch: str) -> None:
        if not upto:
            return
        note = msgspec.json.encode(self._note(epoch)).decode()
        # After the note was drawn up: that of a queue which was lost since `epoch` was read would forget what it held.
        if self._queue.open() != epoch:
            raise Unavailable(f"the queue {self._queue.name} was lost meanwhile; the next tick fills it again")
        self._reader.commit({partition: Position(offset, note) for partition, offset in upto.items()})
        self._committed |= upto

    def _note(self, epoch: str) -> Note:
        times = [self._queue.oldest_source_ms(), self._retries.oldest_source_ms(self._stage)]
        oldest_ms = min((time for time in times if time is not None), default=None)
        return Note(epoch, oldest_ms, self._clock.now_ms(), self._holder)

    def _standing(self, committed: Mapping[TopicPartition, Position], epoch: str) -> Mapping[TopicPartition, Position]:
        """What is committed, put right where an intake that had lost its lock took back what this one committed."""
        late = overtaken(committed, self._committed, epoch, self._holder)
        if not late:
            return committed
        logger.warning(
            "an intake that had lost its lock committed %d partitions; this one's place stands",
            len(late),
            extra=action("intake.lost_lock", stage=self._stage.value),
        )
        self._commit(late, epoch)
        return {**committed, **{partition: Position(offset) for partition, offset in late.items()}}

    def _rewind_if_lost(self, epoch: str, committed: Mapping[TopicPartition, Position]) -> int | None:
        notes = [note for position in committed.values() if (note := read_note(position.metadata))]
        lost = [note for note in notes if note.epoch != epoch]
        if not lost:
            return None
        oldest = [note.oldest_ms for note in lost if note.oldest_ms is not None]
        if not oldest:
            return None
        # Committed at once under the new epoch: killed while refilling, the next tick goes on instead of starting over.
        self._commit(self._reader.rewind_to_time(min(oldest)), epoch)
        logger.warning(
            "the queue %s was lost; it is filled again from Kafka",
            self._queue.name,
            extra=action("intake.rewound", stage=self._stage.value, to_ms=min(oldest)),
        )
        return min(oldest)

    def _refresh_note(self, epoch: str, committed: Mapping[TopicPartition, Position]) -> None:
        """Commit anew what is committed when its note is old, which keeps the group alive too.

        Not while a lost queue is being refilled: the old notes say where to begin if this intake dies meanwhile.
        """
        now_ms = self._clock.now_ms()
        old = {
            partition: position.offset
            for partition, position in committed.items()
            if (note := read_note(position.metadata)) and note.epoch == epoch and now_ms - note.at_ms > REFRESH_MS
        }
        self._commit(old, epoch)

    def _report_gaps(self) -> None:
        for gap in self._reader.gaps():
            logger.error(
                "%s[%d]: offsets %d to %d were removed by retention before anybody read them",
                gap.topic,
                gap.partition,
                gap.first,
                gap.last - 1,
                extra=action("intake.offsets_lost", stage=self._stage.value, count=gap.last - gap.first),
            )


def _sum(total: IntakeReport, step: IntakeReport) -> IntakeReport:
    return msgspec.structs.replace(
        total,
        stored=total.stored + step.stored,
        known=total.known + step.known,
        dead_lettered=total.dead_lettered + step.dead_lettered,
        evicted=total.evicted + step.evicted,
        refused=total.refused + step.refused,
    )


def intake_lock(stage: Stage) -> str:
    """The lock that an intake of `stage` holds while it is at work."""
    return f"intake:{stage.value}"
