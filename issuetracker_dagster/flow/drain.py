"""Out of the buffers into Kafka: the run that drains them, one at a time anywhere, under a lock with an epoch.

The epoch fences the buffers, so that a drainer which lost its lock takes nothing any more. What one batch goes
through is in `drain_batch`, what one buffer goes through in `drain_band`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from issuetracker_dagster.errors import StaleLease, Unavailable
from issuetracker_dagster.flow.drain_band import BandDrain, DrainParts
from issuetracker_dagster.flow.drain_batch import Job
from issuetracker_dagster.model.drain import DrainSummary, DrainTally
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import Buffer, BufferSwitch
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import IngestionLock, LockHold, Locks
from issuetracker_dagster.ports.retries import RetrySet
from issuetracker_dagster.ports.topics import Lag, Producer

logger = logging.getLogger(__name__)

_BANDS: Mapping[str, str] = {topic: priority.label for priority, topic in CRAWL_TOPICS.items()}
DRAIN_LOCK = "drain"
LOCK_TTL_MS = 45_000
"""Longer than one batch takes while Kafka answers late; a killed drainer is replaced after it. Lost all the same, the
epoch fences the buffers, and a batch is repeated at most."""
RENEW_S, SURE_S = 15.0, 1.0
"""How old a renewal of the lock may be: while a run waits, and when it takes another batch."""
CONTROL_S, ACCEPTS_S = 0.25, 1.0
SWITCH_S = 10.0
"""How often the switch is set anew: it goes off by itself, and Redis may lose it."""
QUIET_S = 10.0
"""How long buffers must stay empty after the switch went off: publishers may have looked at it a moment before."""

BUSY = "another drainer is at work"
TAKEN_OVER = "another drainer took over"
EMPTIED = "buffering is off and the buffers are empty"
OVER = "its time is over"


class BufferDrainer:
    """Drains `buffers` (by the short name of their topic) by the raw producer, as long as `group` lags less than
    `target` messages behind in a topic, `batch` jobs at a time. `interval_ms` is the longest time between two cycles.
    `drained` is told which jobs the broker has.
    """

    def __init__(
        self,
        *,
        buffers: Mapping[str, Buffer],
        producer: Producer,
        lag: Lag,
        group: str,
        retries: RetrySet,
        ingestion: IngestionLock,
        locks: Locks,
        switch: BufferSwitch,
        clock: Clock,
        target: int,
        batch: int,
        interval_ms: int,
        drained: Callable[[Sequence[Job]], None],
    ) -> None:
        self._buffers = dict(buffers)
        self._locks = locks
        self._switch = switch
        self._clock = clock
        self._parts = DrainParts(
            producer=producer,
            lag=lag,
            group=group,
            retries=retries,
            ingestion=ingestion,
            clock=clock,
            target=target,
            batch=batch,
            interval_ms=interval_ms,
            drained=drained,
        )
        self._tally = DrainTally()

    def summary(self) -> DrainSummary:
        """What the present run has done so far; callable from any thread."""
        return self._tally.summary("")

    def run(self, *, accepts: Callable[[], bool], control: Callable[[], str | None], duration_ms: int) -> DrainSummary:
        """Drain until `duration_ms` is over, `control` gives a reason to stop, or buffering is off and all is drained.

        `accepts` says whether publishers may put jobs aside: the switch follows it, on before the first cycle. Both
        callables are asked about once a second or more often. A run ends at once while another holds the lock. It
        ends between two batches; a batch in hand is finished first, within the bounds of its calls. Raises
        `Unavailable` when Redis is out at the start; later outages are waited for.
        """
        self._tally = DrainTally()
        hold = self._locks.acquire(DRAIN_LOCK, LOCK_TTL_MS)
        if hold is None:
            return self._tally.summary(BUSY)
        threads = ThreadPoolExecutor(1, "drain-publish")
        bands = [
            BandDrain(topic, _BANDS.get(topic, topic), buffer, self._parts, self._tally, threads)
            for topic, buffer in self._buffers.items()
        ]
        deadline = self._clock.monotonic() + duration_ms / 1000
        run = _Run(bands, hold, self._locks, self._switch, self._clock, deadline, accepts, control)
        reason = "ended by an error"
        try:
            reason = run.work()
        finally:
            threads.shutdown()  # a run that is interrupted leaves nothing on its way while it puts things back
            for band in bands:
                band.leave()
            run.release()
            count = self._tally.published.total()
            logger.info("drained %d jobs: %s", count, reason, extra=action("drain.published", count=count))
        return self._tally.summary(reason)


class _Run:
    """The loop of one run, and what it asks about and how often."""

    def __init__(
        self,
        bands: list[BandDrain],
        hold: LockHold,
        locks: Locks,
        switch: BufferSwitch,
        clock: Clock,
        deadline: float,
        accepts: Callable[[], bool],
        control: Callable[[], str | None],
    ) -> None:
        self._bands = bands
        self._hold, self._renewed_at = hold, clock.monotonic()
        self._locks = locks
        self._switch = switch
        self._clock = clock
        self._deadline = deadline
        self._accepts = accepts
        self._control = control
        self._reason = ""
        self._next_control = self._next_accepts = self._next_turn = 0.0
        self._accepting = False
        self._turned: bool | None = None
        self._empty_since: float | None = None

    def work(self) -> str:
        """Why the run ended."""
        self._begin()
        while not self._stopping():
            try:
                self._follow_the_toggle()
                self._stay_the_holder()
                for band in self._bands:
                    band.cycle(self._go_on)
                if self._is_emptied():
                    return EMPTIED
            except StaleLease as error:
                logger.warning("%s", error, extra=action("drain.fenced"))
                if not self._take_again():
                    return TAKEN_OVER
            self._pause()
        return self._reason

    def release(self) -> None:
        """Let the next drainer in."""
        try:
            self._locks.release(self._hold)
        except Unavailable as error:
            logger.warning("the drain lock runs out by itself: %s", error, extra=action("redis.unavailable"))

    def _begin(self) -> None:
        for band in self._bands:
            band.begin(self._hold.epoch)

    def _stopping(self) -> bool:
        now = self._clock.monotonic()
        if not self._reason and now >= self._next_control:
            self._next_control = now + CONTROL_S
            self._reason = self._control() or ""
        if not self._reason and now >= self._deadline:
            self._reason = OVER
        return bool(self._reason)

    def _go_on(self) -> bool:
        """Whether another batch may be taken; raises `StaleLease` when the lock was lost, `Unavailable`."""
        if self._stopping():
            return False
        self._follow_the_toggle()  # a cycle may be long
        if self._clock.monotonic() - self._renewed_at >= SURE_S:
            self._renew()
        return True

    def _renew(self) -> None:
        if not self._locks.renew(self._hold, LOCK_TTL_MS):
            raise StaleLease("the drain lock ran out or went to another drainer")
        self._renewed_at = self._clock.monotonic()

    def _stay_the_holder(self) -> None:
        if self._clock.monotonic() - self._renewed_at < RENEW_S:
            return
        try:
            self._renew()
        except Unavailable as error:  # nothing is taken without a renewal, so there is time to find out
            logger.debug("%s", error, extra=action("redis.unavailable"))

    def _take_again(self) -> bool:
        """Hold a lock that ran out under a new epoch, unless another drainer has it, or it didn't run out at all."""
        hold = self._locks.acquire(DRAIN_LOCK, LOCK_TTL_MS)
        if hold is None:
            return False
        self._hold, self._renewed_at = hold, self._clock.monotonic()
        self._begin()
        return True

    def _follow_the_toggle(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_accepts:
            self._next_accepts = now + ACCEPTS_S
            accepting = self._accepts()
            if accepting is not self._accepting:
                self._accepting, self._next_turn = accepting, 0.0
        if now < self._next_turn:
            return
        try:
            self._switch.turn(on=self._accepting)
        except Unavailable as error:
            logger.warning("the switch of the buffer stays: %s", error, extra=action("redis.unavailable"))
            self._next_turn = now + ACCEPTS_S
            return
        self._turned = self._accepting
        self._next_turn = now + SWITCH_S

    def _is_emptied(self) -> bool:
        if self._turned is not False or self._accepting or not all(band.is_empty for band in self._bands):
            self._empty_since = None
            return False
        now = self._clock.monotonic()
        if self._empty_since is None:
            self._empty_since = now
        return now - self._empty_since >= QUIET_S

    def _pause(self) -> None:
        wait_s = min((band.due for band in self._bands), default=0.0) - self._clock.monotonic()
        if wait_s > 0:
            self._clock.sleep(min(wait_s, CONTROL_S))
