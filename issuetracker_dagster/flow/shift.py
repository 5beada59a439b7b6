"""One shift: a bounded worker run of a stage, which runs one crew after another as the stage's mode changes.

A stage works from its queue while the intake's flag is on or the queue still holds anything, and straight from Kafka
otherwise, or when nobody can say; fetch has one mode only.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.intake import intake_lock
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import Locks
from issuetracker_dagster.ports.queue import StageQueue

logger = logging.getLogger(__name__)

LOOK_S = 0.25
MODE_EVERY_S = 2.0
DRAINED_LOOK_MS = 5_000


PAUSED = "paused"
"""Told in place of the mode by a shift that claims next to nothing."""


class Mode(StrEnum):
    """Where a stage's work comes from."""

    QUEUE = "queue"
    DIRECT = "direct"
    WITHOUT_REDIS = "without redis"
    """From Kafka, too, but only because nobody can say what the queue holds."""


class RunningCrew(Protocol):
    """A crew with its sources, as `open_crew` makes it: started, and finished exactly once."""

    def start(self) -> None: ...

    def finish(self, timeout_s: float) -> Mapping[str, int]: ...

    def counts(self) -> Mapping[str, int]: ...

    @property
    def is_paused(self) -> bool:
        """Whether it claims next to nothing, since nearly all of its messages died."""

    def check(self) -> None:
        """Raises the bug that left the crew without supply, if one did."""


class ShiftSummary(msgspec.Struct, frozen=True):
    """What a shift did: why it ended, in which modes it worked, and how many messages ended how."""

    stage: Stage
    reason: str
    modes: tuple[str, ...]
    counts: dict[str, int]


def mode_of_queue(
    stage: Stage, queue: StageQueue, locks: Locks, flag_is_on: Callable[[], bool]
) -> Callable[[], Mode | None]:
    """The mode that a queued stage should be in; None when the queue can't be reached.

    A flag that was switched off lets the intake's last tick end and the queue run empty first. Entries that are pushed
    after that all the same bring the stage back to the queue, so nothing is stranded. The lock that is needed for that
    look may be held by another shift's look: what was found last stands then.
    """
    found = Mode.QUEUE

    def mode() -> Mode | None:
        nonlocal found
        try:
            if flag_is_on():
                queue.open()
                found = Mode.QUEUE
            else:
                is_drained = _is_drained(stage, queue, locks)
                if is_drained is not None:
                    found = Mode.DIRECT if is_drained else Mode.QUEUE
            return found
        except Unavailable as error:
            logger.warning("the mode stays: %s", error, extra=action("redis.unavailable"))
            return None

    return mode


def _is_drained(stage: Stage, queue: StageQueue, locks: Locks) -> bool | None:
    """Whether nothing is in the queue and no intake is about to put something there; None while the lock is held.

    Joining the group under an intake's feet would have its commit refused, and all that it just stored handled twice.
    """
    hold = locks.acquire(intake_lock(stage), DRAINED_LOOK_MS)
    if hold is None:
        return None
    try:
        depth = queue.depth()
        return not depth.ready + depth.leased + depth.delayed
    finally:
        locks.release(hold)


class Shift:
    """Runs until its time is over or `stop` is called.

    `wanted_mode` returns None when it can't tell: a shift that begins then reads Kafka until it can, one that runs goes
    on as it is.
    `control` is asked a few times a second and returns a reason to stop, or None. `run` blocks; an exception raised
    into its thread (an interrupt) ends the shift in order and is raised again, and so does a crew without supply.
    """

    def __init__(
        self,
        stage: Stage,
        *,
        wanted_mode: Callable[[], Mode | None],
        open_crew: Callable[[Mode], RunningCrew],
        clock: Clock,
        duration_ms: int,
        drain_timeout_ms: int = 20_000,
        control: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._stage = stage
        self._wanted_mode = wanted_mode
        self._open_crew = open_crew
        self._clock = clock
        self._duration_ms = duration_ms
        self._drain_timeout_ms = drain_timeout_ms
        self._control = control
        self._stop = threading.Event()
        self._reason = ""
        self._modes: list[str] = []
        self._counts: Counter[str] = Counter()
        self._crew: RunningCrew | None = None

    def stop(self, reason: str) -> None:
        """Ask the shift to end; returns at once. Callable from any thread and from signal handlers."""
        self._reason = self._reason or reason
        self._stop.set()

    def counts(self) -> Mapping[str, int]:
        """What has happened so far, for heartbeats."""
        crew = self._crew  # once: heartbeats ask from a thread of their own while a mode ends
        running = crew.counts() if crew else {}
        return Counter(self._counts) + Counter(running)

    @property
    def mode(self) -> str:
        """The present mode, empty before the first; `paused` in any mode, when nearly all messages died."""
        crew = self._crew
        if crew is not None and crew.is_paused:
            return PAUSED
        return self._modes[-1] if self._modes else ""

    def run(self) -> ShiftSummary:
        """Work until told to stop, then drain within the bound."""
        deadline = self._clock.monotonic() + self._duration_ms / 1000
        logger.info("shift of %s began", self._stage.value, extra=action("shift.started", stage=self._stage.value))
        try:
            while not self._stop.is_set():
                self._work_in_one_mode(self._wanted_mode() or Mode.WITHOUT_REDIS, deadline)
        except BaseException as error:
            self._reason = self._reason or f"ended by {type(error).__name__}"
            raise
        finally:
            logger.info(
                "shift of %s ended: %s", self._stage.value, self._reason, extra=action("shift.ended", **self.counts())
            )
        return self.summary()

    def summary(self) -> ShiftSummary:
        """What the shift did so far."""
        return ShiftSummary(self._stage, self._reason, tuple(self._modes), dict(self.counts()))

    def _work_in_one_mode(self, mode: Mode, deadline: float) -> None:
        self._modes.append(mode.value)
        self._crew = self._open_crew(mode)
        self._crew.start()
        try:
            self._watch(self._crew, mode, deadline)
        finally:
            crew, self._crew = self._crew, None
            self._counts.update(crew.finish(self._drain_timeout_ms / 1000))

    def _watch(self, crew: RunningCrew, mode: Mode, deadline: float) -> None:
        look_at_mode = self._clock.monotonic() + MODE_EVERY_S
        while not self._stop.wait(LOOK_S):
            crew.check()
            now = self._clock.monotonic()
            if now >= deadline:
                self.stop("its time is over")
            elif reason := self._control():
                self.stop(reason)
            elif now >= look_at_mode:
                look_at_mode = now + MODE_EVERY_S
                wanted = self._wanted_mode()
                # None is a Redis that is out for a moment: leaving the queue for it would let its leases run out.
                if wanted is not None and wanted is not mode:
                    return
