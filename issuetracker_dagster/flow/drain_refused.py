"""A batch that the broker refused: it waits in the retry set, and its band stands still until it is out of there."""

import logging
from collections.abc import Sequence

from issuetracker_dagster.errors import PublishFailed, Unavailable
from issuetracker_dagster.flow.drain_batch import Job, by_arrival
from issuetracker_dagster.model.drain import DrainTally
from issuetracker_dagster.model.retry import RetryEntry, RetryPolicy, backoff_ms
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import Buffer
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.retries import RetrySet

logger = logging.getLogger(__name__)


class RefusedBatch:
    """What one band waits for, also across drainers: the buffer keeps the identities. All but `set_aside`, which puts
    it into its answer, raise `Unavailable`; a drainer that was fenced out notes nothing and gets `StaleLease`.
    """

    def __init__(self, band: str, buffer: Buffer, *, retries: RetrySet, clock: Clock, tally: DrainTally) -> None:
        self._band = band
        self._buffer = buffer
        self._retries = retries
        self._clock = clock
        self._tally = tally
        self._epoch = 0
        self._identities: Sequence[str] = ()
        self._kept = False
        self._still_since: float | None = None

    def remember(self, epoch: int) -> None:
        """Take over what an earlier drainer noted; this epoch is the one that notes from now on."""
        self._epoch = epoch
        self._identities = tuple(self._buffer.paused())
        self._kept = bool(self._identities)
        if self._kept:
            self.standing_still()

    def waits(self) -> bool:
        """Whether anything of the batch is still in the retry set; once nothing is, the band goes on."""
        if not self._identities:
            return False
        if self._retries.holds(self._identities):
            return True
        self._buffer.resume(self._epoch)
        self._identities = ()
        if self._kept:
            self.moving()
        logger.info("%s goes on", self._buffer.name, extra=action("drain.resumed", band=self._band))
        return False

    def set_aside(self, jobs: Sequence[Job], error: PublishFailed) -> bool:
        """Note what didn't arrive as waiting, then hand it to the retry set, one millisecond after the other; whether
        that has it now.

        Identities stay, so that a job which arrived all the same is told by its own. Noted first: a drainer that comes
        after a crash in between waits for the batch, or finds that nothing of it waits.
        """
        self.standing_still()
        _, jobs = by_arrival(jobs, error)
        now_ms = self._clock.now_ms()
        due_ms = now_ms + backoff_ms(1, RetryPolicy(), 0.5)
        self._identities, self._kept = [job.message.identity for job in jobs], False
        try:
            self._buffer.pause(self._epoch, self._identities)
            self._retries.schedule_all(
                [
                    RetryEntry(due_ms + place, job.record.topic, Stage.FETCH, now_ms, job.message)
                    for place, job in enumerate(jobs)
                ]
            )
        except Unavailable as failed:
            logger.warning("the retry set takes nothing: %s", failed, extra=action("redis.unavailable"))
            return False
        self._kept = True
        self._tally.set_aside += len(jobs)
        logger.warning(
            "%d jobs of %s wait in the retry set, and the rest behind them: %s",
            len(jobs),
            self._buffer.name,
            error,
            extra=action("drain.paused", band=self._band, count=len(jobs)),
        )
        return True

    def standing_still(self) -> None:
        """The broker refused: from now on the band stands still, if it didn't already."""
        if self._still_since is None:
            self._still_since = self._clock.monotonic()

    def moving(self) -> None:
        """A batch arrived, the retry set has let go of this one, or the run ends."""
        if self._still_since is not None:
            still_ms = int((self._clock.monotonic() - self._still_since) * 1000)
            self._tally.longest_pause_ms = max(self._tally.longest_pause_ms, still_ms)
            self._still_since = None
