"""Dead letters go round again: read, publish, mark, a bounded batch at a time.

A letter is marked only after the broker has its message, so that a redrive which is killed goes on where it was: it
loses none and repeats at most a batch, under the same identities.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from issuetracker_dagster.errors import AlreadyRunning, PublishFailed, RecordsRefused, Unavailable
from issuetracker_dagster.model.letters import Letter, LetterFilter, LetterState
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.redrive import Left, redriven
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.dead_letters import DeadLetterIndex
from issuetracker_dagster.ports.locks import LockHold, Locks

logger = logging.getLogger(__name__)

BATCH = 100
RATE = 100
"""Letters a second unless told otherwise: what killed them may not bear more."""
LOCK = "redrive"
LOCK_MS = 60_000
"""Longer than a batch takes. So long, too, must wait who comes after a redrive that was killed."""
LOCK_LOST = (
    f"this redrive no longer has its lock: a batch took longer than {LOCK_MS // 1000} s, or another redrive has begun "
    "since. What is left stays open: run it again"
)


class RedriveOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`limit` is the most letters redriven, 0 = all that are meant; `rate` bounds them a second."""

    limit: int = 0
    rate: int = RATE
    dry_run: bool = False
    force: bool = False


class RedriveReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the letters meant: sent round again (in a dry run: those that would be), and left, by reason."""

    redriven: int = 0
    left: Mapping[Left, int] = {}
    by_topic: Mapping[str, int] = {}
    stopped: str = ""

    @property
    def looked_at(self) -> int:
        """Letters done with, for progress."""
        return self.redriven + sum(self.left.values())


class Redriver:
    """Redrives by the raw producer: redrives pass deduplication by and never wait in the buffer.

    `read` finds a letter's record in Kafka, or None when retention has removed it; it is asked only for what the index
    doesn't keep itself. One redrive at a time: two would publish the same letters. While Redis is out, nothing keeps
    them apart but the log.
    """

    def __init__(
        self,
        *,
        index: DeadLetterIndex,
        read: Callable[[Letter], Record | None],
        publish: Callable[[Sequence[Outgoing]], None],
        clock: Clock,
        locks: Callable[[], Locks],
    ) -> None:
        self._index = index
        self._read = read
        self._publish = publish
        self._clock = clock
        self._locks = locks

    def run(
        self,
        wanted: LetterFilter,
        options: RedriveOptions,
        *,
        told: Callable[[RedriveReport], None] = lambda _: None,
        control: Callable[[], str | None] = lambda: None,
    ) -> RedriveReport:
        """Redrive what is open and meant, oldest row first; `told` after each batch, `control` before it.

        Letters that die while it runs are not taken up again. Raises `AlreadyRunning` before anything is done, unless
        it is a dry run; `PublishFailed`, `Unavailable`: the next run goes on from there.
        """
        hold = None if options.dry_run else self._acquired()
        try:
            return self._run(wanted, options, told, control, hold)
        finally:
            if hold is not None:
                self._released(hold)

    def _run(
        self,
        wanted: LetterFilter,
        options: RedriveOptions,
        told: Callable[[RedriveReport], None],
        control: Callable[[], str | None],
        hold: LockHold | None,
    ) -> RedriveReport:
        began_ms = self._clock.now_ms()
        before_ms = min(wanted.before_ms or began_ms, began_ms)
        meant = msgspec.structs.replace(wanted, states=(LetterState.OPEN,), before_ms=before_ms)
        size = min(BATCH, max(1, options.rate))
        tally = _Tally()
        after = 0
        while not tally.stopped and (not options.limit or tally.redriven < options.limit):
            tally.stopped = control() or ""
            room = min(size, options.limit - tally.redriven) if options.limit else size
            letters = [] if tally.stopped else self._index.after(meant, after, room)
            if not letters:
                break
            after = letters[-1].letter_id
            began = self._clock.monotonic()
            sent = self._batch(letters, options, tally, hold)
            told(tally.report())
            if sent and not options.dry_run:
                self._clock.sleep(max(0.0, sent / options.rate - (self._clock.monotonic() - began)))
        return tally.report()

    def _batch(self, letters: Sequence[Letter], options: RedriveOptions, tally: "_Tally", hold: LockHold | None) -> int:
        kept = self._index.kept([letter.letter_id for letter in letters])
        ready: list[tuple[Letter, Outgoing]] = []
        for letter in letters:
            found = self._decided(letter, kept.get(letter.letter_id), options.force)
            if isinstance(found, Left):
                tally.left[found] += 1
            else:
                ready.append((letter, found))
        if hold is not None and not self._renewed(hold):
            tally.stopped = LOCK_LOST
            return 0
        sent = ready if options.dry_run else self._sent(ready, tally)
        tally.redriven += len(sent)
        tally.by_topic.update(record.topic for _, record in sent)
        return len(sent)

    def _acquired(self) -> LockHold | None:
        try:
            hold = self._locks().acquire(LOCK, LOCK_MS)
        except Unavailable as error:
            logger.warning("redriving without a lock: %s", error, extra=action("redis.unavailable"))
            return None
        if hold is None:
            raise AlreadyRunning(
                "another redrive is at work, `issuetracker dlq redrive` or a run of redrive_dead_letters: two would "
                f"send the same letters. When it was killed, its lock ends within {LOCK_MS // 1000} s"
            )
        return hold

    def _renewed(self, hold: LockHold) -> bool:
        """Asked before each publish. A Redis that is out for a moment gives the lock to nobody else either."""
        try:
            return self._locks().renew(hold, LOCK_MS)
        except Unavailable as error:
            logger.warning("the redrive's lock wasn't renewed: %s", error, extra=action("redis.unavailable"))
            return True

    def _released(self, hold: LockHold) -> None:
        try:
            self._locks().release(hold)
        except Unavailable as error:
            logger.warning("the redrive's lock ends by itself: %s", error, extra=action("redis.unavailable"))

    def _decided(self, letter: Letter, record: Record | None, force: bool) -> Outgoing | Left:
        if record is None and letter.has_identity and (force or not letter.is_exhausted):
            record = self._read(letter)
        return redriven(letter, record, self._clock.now_ms(), force=force)

    def _sent(self, ready: Sequence[tuple[Letter, Outgoing]], tally: "_Tally") -> Sequence[tuple[Letter, Outgoing]]:
        """Publish, then mark what the broker has, also when it didn't take all; returns that."""
        sent = ready
        try:
            self._publish([record for _, record in ready])
        except RecordsRefused as error:
            logger.warning("letters can't be redriven: %s", error, extra=action("publish.failed"))
            sent = [each for each in ready if not error.includes(each[1])]
            tally.left[Left.TOO_LARGE] += len(ready) - len(sent)
        except PublishFailed as error:
            arrived = set(map(id, error.arrived))
            self._mark([letter for letter, record in ready if id(record) in arrived])
            raise
        self._mark([letter for letter, _ in sent])
        return sent

    def _mark(self, sent: Sequence[Letter]) -> None:
        if sent:
            self._index.mark([letter.letter_id for letter in sent], LetterState.REDRIVEN, self._clock.now_ms())
            logger.info("%d letters went round again", len(sent), extra=action("message.redriven", count=len(sent)))


class _Tally:
    """The figures of a run while it runs."""

    def __init__(self) -> None:
        self.redriven = 0
        self.left: Counter[Left] = Counter()
        self.by_topic: Counter[str] = Counter()
        self.stopped = ""

    def report(self) -> RedriveReport:
        return RedriveReport(
            redriven=self.redriven, left=dict(self.left), by_topic=dict(self.by_topic), stopped=self.stopped
        )
