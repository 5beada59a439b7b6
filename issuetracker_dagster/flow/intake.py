"""Kafka to a stage queue: poll, push, commit, for the time budget of one tick.

A message is committed only after the queue has it on disk; while one batch is stored the next is read. Each commit
notes the queue's epoch and the Kafka time of the oldest message not yet settled, so that a queue that was lost is
filled again from Kafka.
"""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

import msgspec

from issuetracker_dagster.errors import CommitRefused, Unavailable
from issuetracker_dagster.flow.intake_positions import overtaken
from issuetracker_dagster.flow.intake_push import BatchPush
from issuetracker_dagster.flow.intake_report import IntakeReport
from issuetracker_dagster.flow.malformed import MalformedRecords
from issuetracker_dagster.model.intake_note import Note, read_note
from issuetracker_dagster.model.message import Record
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
COMMIT_S = 0.5
"""How long commits wait while more and more is there to be read, since each takes as long as reading two hundred
messages. A crash repeats what was stored since."""
PAUSE_S = 0.2
"""How long the next messages may gather when those before came in less than a batch. Each batch costs five questions
and a commit, which at ten messages a second would be most of what an intake takes."""
LEAVING = "workers that read Kafka directly are still in the group"
REFRESH_MS = 60_000
"""How old the note of an idle group may get before it is committed anew."""


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
        self._hold_ms = LOCK_MARGIN_MS
        self._committed_at = 0.0
        self._is_careful = False
        """Whether each batch is committed by itself, as after a tick that failed: else what can't be stored would have
        what lies before it stored again at each tick."""

    def tick(self, budget_ms: int) -> IntakeReport:
        """Store what Kafka holds and what arrives, until the budget is used up or the queue is full.

        With nothing there it waits, since a message that arrives between two ticks has to wait for the next.
        Raises `Unavailable` or `PublishFailed` with nothing committed past what is stored.
        """
        self._hold_ms = budget_ms + LOCK_MARGIN_MS
        hold = self._locks.acquire(intake_lock(self._stage), self._hold_ms)
        if hold is None:
            return IntakeReport(skipped="another intake of this stage is at work")
        try:
            report = self._tick(hold, budget_ms)
            self._is_careful = False
            return report
        except BaseException:
            self._is_careful = True
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
            with ThreadPoolExecutor(1, "intake-push") as threads:
                while (left_s := deadline - self._clock.monotonic()) > 0:
                    records = self._poll(min(POLL_MS, int(left_s * 1000) + 1))
                    total = total.plus(self._store(records, threads, deadline, epoch, hold))
                    if total.refused:
                        self._reader.reset()
                        break
                    if 0 < len(records) < self._batch:
                        self._clock.sleep(max(0.0, min(PAUSE_S, deadline - self._clock.monotonic())))
        except CommitRefused as error:
            self._reader.reset()
            logger.info("%s", error, extra=action("kafka.commit_refused", stage=self._stage.value))
            return IntakeReport(skipped=LEAVING)
        return total

    def _poll(self, timeout_ms: int) -> Sequence[Record]:
        records = self._reader.poll(self._batch, timeout_ms)
        self._report_gaps()
        return records

    def _store(
        self, records: Sequence[Record], threads: Executor, deadline: float, epoch: str, hold: LockHold
    ) -> IntakeReport:
        """Store these and what lies ready behind them, up to a batch that the queue doesn't take whole; then commit.

        While one batch is on its way into the queue the next one is polled, if there seems to be one; nothing else is
        asked of the reader then.
        """
        total = IntakeReport()
        stored: dict[TopicPartition, int] = {}
        while records and not total.refused:
            push = BatchPush(records, self._queue, self._malformed, threads)
            more = len(records) == self._batch and self._clock.monotonic() < deadline
            records = self._poll(0) if more else ()
            pushed = push.wait()
            stored |= pushed.upto
            total = total.plus(pushed.report)
            logger.debug("stored %d", pushed.report.stored, extra=action("intake.stored", stage=self._stage.value))
            if not records or total.refused or self._is_commit_due():
                self._commit_stored(stored, epoch, hold)
                stored = {}
        return total

    def _is_commit_due(self) -> bool:
        return self._is_careful or self._clock.monotonic() - self._committed_at >= COMMIT_S

    def _commit_stored(self, upto: Mapping[TopicPartition, int], epoch: str, hold: LockHold) -> None:
        self._queue.settle_writes()
        if not self._locks.renew(hold, self._hold_ms):
            # Another intake is at work by now and has its own position: ours must not overwrite it.
            logger.warning("lost the intake lock", extra=action("intake.lost_lock", stage=self._stage.value))
            raise CommitRefused("another intake took over")
        self._commit(upto, epoch)
        self._malformed.forget(upto)

    def _commit(self, upto: Mapping[TopicPartition, int], epoch: str) -> None:
        if not upto:
            return
        note = msgspec.json.encode(self._note(epoch)).decode()
        # After the note was drawn up: that of a queue which was lost since `epoch` was read would forget what it held.
        if self._queue.open() != epoch:
            raise Unavailable(f"the queue {self._queue.name} was lost meanwhile; the next tick fills it again")
        self._reader.commit({partition: Position(offset, note) for partition, offset in upto.items()})
        self._committed |= upto
        self._committed_at = self._clock.monotonic()

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


def intake_lock(stage: Stage) -> str:
    """The lock that an intake of `stage` holds while it is at work."""
    return f"intake:{stage.value}"
