"""One buffer on its way into its crawl topic: what a dead drainer left, then batch after batch while there is room.

Publish, wait for the broker, and decode what comes next meanwhile; then remove. A batch that the broker refuses waits
in the retry set under its own identities, and nothing behind it leaves the buffer until it is out of there.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import msgspec

from issuetracker_dagster.errors import LagUnknown, PublishFailed, Unavailable
from issuetracker_dagster.flow.drain_batch import BatchPublisher, Job, NextInLine
from issuetracker_dagster.flow.drain_refused import RefusedBatch
from issuetracker_dagster.model.drain import DrainTally
from issuetracker_dagster.model.trace import Action, action
from issuetracker_dagster.ports.buffer import Buffer
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import IngestionLock
from issuetracker_dagster.ports.retries import RetrySet
from issuetracker_dagster.ports.topics import Lag, Producer

logger = logging.getLogger(__name__)

LOOK_MS = 500
"""How often a buffer is looked at while nothing is in the way, and the shortest of the growing delays."""
RECOVER_S = 5.0
"""How long putting a batch back may take, whatever else is about to end."""


class DrainParts(msgspec.Struct, frozen=True, kw_only=True):
    """What every band drains with. `target` is in messages, `batch` in jobs."""

    producer: Producer
    lag: Lag
    group: str
    retries: RetrySet
    ingestion: IngestionLock
    clock: Clock
    target: int
    batch: int
    interval_ms: int
    drained: Callable[[Sequence[Job]], None]


class BandDrain:
    """The drain of one band in one run; used from one thread, under the drain lock. `begin` comes first.
    `threads` has one for the batch that is being published, and outlives this.
    """

    def __init__(
        self, topic: str, band: str, buffer: Buffer, parts: DrainParts, tally: DrainTally, threads: Executor
    ) -> None:
        self._topic = topic
        self._band = band
        self._buffer = buffer
        self._parts = parts
        self._tally = tally
        self._clock = parts.clock
        self._threads = threads
        self._next = NextInLine(buffer)
        self._publisher = BatchPublisher(
            band,
            buffer.name,
            producer=parts.producer,
            ingestion=parts.ingestion,
            clock=parts.clock,
            tally=tally,
            drained=parts.drained,
        )
        self._refused = RefusedBatch(band, buffer, retries=parts.retries, clock=parts.clock, tally=tally)
        self._epoch = 0
        self._recovered = False
        self._taken = False
        self._uncounted: Sequence[Job] = ()
        self._settled: int | None = None
        """The epoch that took a batch which is in Kafka or kept elsewhere, but not removed yet."""
        self._standstills = self._full = self._failures = 0
        self.due = 0.0
        """When to look again, on the monotonic clock."""
        self.is_empty = False
        """Whether nothing waited at the last look."""

    def begin(self, epoch: int) -> None:
        """Drain under this epoch from now on."""
        self._epoch = epoch
        self._recovered = False
        self.due = 0.0

    def cycle(self, go_on: Callable[[], bool]) -> None:
        """One cycle, if it is due. `go_on` is asked before each batch.

        An outage of Redis and an unknown lag end the cycle, and the next one comes after a growing delay. Raises
        `StaleLease` when another drainer took over.
        """
        if self._clock.monotonic() < self.due:
            return
        try:
            wait_ms = self._cycle(go_on)
            self._failures = 0
        except (LagUnknown, Unavailable) as error:
            self.is_empty = False
            self._failures += 1
            wait_ms = self._growing_ms(self._failures)
            if self._failures == 1:
                name: Action = "drain.skipped" if isinstance(error, LagUnknown) else "redis.unavailable"
                logger.warning("%s isn't drained: %s", self._buffer.name, error, extra=action(name, band=self._band))
        finally:
            self._count()
        self.due = self._clock.monotonic() + wait_ms / 1000

    def leave(self) -> None:
        """Leave nothing in hand. Without Redis the next epoch recovers it."""
        self._refused.moving()
        try:
            self._remove()
            if self._taken:
                self._buffer.put_back(self._epoch)
                self._taken = False
        except Unavailable as error:
            logger.warning(
                "what was taken from %s waits for the next drainer: %s",
                self._buffer.name,
                error,
                extra=action("redis.unavailable", band=self._band),
            )

    def _cycle(self, go_on: Callable[[], bool]) -> int:
        """How many milliseconds to wait until the next cycle."""
        if not self._is_ready():
            return min(LOOK_MS, self._parts.interval_ms)
        room = self._parts.target - self._lag()
        if room <= 0:
            self._full += 1
            return self._growing_ms(self._full)
        self._full = 0
        while room > 0 and go_on():
            entries = self._take(min(room, self._parts.batch))
            if not entries:
                return min(LOOK_MS, self._parts.interval_ms)
            if wait_ms := self._move(entries):
                return wait_ms
            room -= len(entries)
        self._remove()
        return 0

    def _is_ready(self) -> bool:
        """Whether there is anything to drain and nothing that has to be waited for first."""
        self._remove()
        if not self._recovered:
            self._recover()
        self.is_empty = not self._buffer.state().backlog
        if self._refused.waits():
            return False
        return not self.is_empty

    def _recover(self) -> None:
        count = self._buffer.recover(self._epoch)
        self._tally.recovered += count
        self._publisher.doubt(count)
        self._refused.remember(self._epoch)
        self._recovered = True
        if count:
            logger.warning(
                "%d jobs that a drainer had in hand are back in %s",
                count,
                self._buffer.name,
                extra=action("buffer.recovered", band=self._band, count=count),
            )

    def _lag(self) -> int:
        return sum(self._parts.lag.lag(self._parts.group, [self._topic]).values())

    def _take(self, limit: int) -> Sequence[bytes]:
        """The next batch; one that is settled is removed by the same call."""
        take = self._buffer.take if self._settled is None else self._buffer.advance
        self._taken = True
        entries = take(self._epoch, limit)
        self._settled, self._taken = None, bool(entries)
        return entries

    def _move(self, entries: Sequence[bytes]) -> int:
        """Publish a batch; how many milliseconds to stand still, 0 when it went well and can be removed."""
        jobs, undecodable = self._next.sort(entries)
        try:
            self._publisher.bury(undecodable)
        except PublishFailed as error:
            # These can't wait in the retry set, which keeps messages only.
            return self._stand_still(len(entries), error)
        try:
            self._publish(jobs)
        except PublishFailed as error:
            if not self._refused.set_aside(jobs, error):
                return self._stand_still(len(entries), error)
            self._settled = self._epoch
            self._remove()
            return min(LOOK_MS, self._parts.interval_ms)
        # Noted first: when removing fails, the next cycle does it instead of publishing the batch again.
        self._settled = self._epoch
        self._standstills = 0
        self._refused.moving()
        return 0

    def _publish(self, jobs: Sequence[Job]) -> None:
        answer = self._threads.submit(self._publisher.publish, jobs)
        self._count()
        self._next.look(self._parts.batch)
        self._uncounted = answer.result()

    def _count(self) -> None:
        arrived, self._uncounted = self._uncounted, ()
        self._publisher.count(arrived)

    def _remove(self) -> None:
        if self._settled is not None:
            self._buffer.done(self._settled)
            self._settled = None

    def _stand_still(self, count: int, error: PublishFailed) -> int:
        """Put the batch in hand back to the head of the line, in order; how many milliseconds to wait.

        This has time of its own, also in a run that is about to end. Without Redis nothing is lost: `take` returns the
        same batch again, or the next epoch recovers it.
        """
        self._refused.standing_still()
        self._standstills += 1
        self._publisher.doubt(count)
        wait_ms = self._growing_ms(self._standstills)
        logger.warning(
            "%s stands still for %d ms: %s",
            self._buffer.name,
            wait_ms,
            error,
            extra=action("drain.paused", band=self._band, count=count),
        )
        deadline = self._clock.monotonic() + RECOVER_S
        while self._taken:
            try:
                self._buffer.put_back(self._epoch)
                self._taken = False
            except Unavailable:
                if self._clock.monotonic() >= deadline:
                    break
                self._clock.sleep(LOOK_MS / 1000)
        return wait_ms

    def _growing_ms(self, times: int) -> int:
        """Half a second the first time, then twice as long each time, at most the interval."""
        return int(min(LOOK_MS * 2.0 ** min(times - 1, 30), self._parts.interval_ms))
