"""The DLQ's own defence: a stage that gives up nearly everything pauses, instead of emptying its topic into the DLQ."""

import logging
import threading
from collections import deque

from issuetracker_dagster.flow.settle import Done, Settlement
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock

logger = logging.getLogger(__name__)

JUDGED = 200
"""How many of the latest messages are judged together: as many letters, at most, and those in hand, before a pause."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 30.0, 600.0
PROBE_S = 10.0
"""How long a probe may take before another message is tried: it may have found nothing, or end in a retry."""


class FloodGuard:
    """Counts how the messages of one crew ended, and says how many may be claimed. Thread-safe.

    More than `share` of the last 200 dead: nothing is claimed for 30 s, then one message is tried alone. If it dies,
    the pause doubles, up to ten minutes; if it goes on, so does the stage. Retries say nothing either way.
    """

    def __init__(self, stage: Stage, clock: Clock, *, share: float) -> None:
        self._stage = stage
        self._clock = clock
        self._share = share
        self._lock = threading.Lock()
        self._died: deque[bool] = deque(maxlen=JUDGED)
        self._pause_s = 0.0
        self._next_probe_at = 0.0

    def allows(self, limit: int) -> int:
        """How many of `limit` may be claimed now; 0 during a pause, 1 as a probe after it."""
        with self._lock:
            if not self._pause_s:
                return limit
            now = self._clock.monotonic()
            if now < self._next_probe_at:
                return 0
            self._next_probe_at = now + PROBE_S
            return 1

    def note(self, settlement: Settlement) -> None:
        """A message has ended like that."""
        if not isinstance(settlement, Done):
            return
        died = settlement.kind == "dead_lettered"
        if not died and not settlement.succeeded:
            return
        with self._lock:
            if self._pause_s:
                self._after_probe(died)
                return
            self._died.append(died)
            if len(self._died) == JUDGED and sum(self._died) > self._share * JUDGED:
                self._pause(FIRST_PAUSE_S)

    def _after_probe(self, died: bool) -> None:
        if died:
            # What was in hand when the pause began ends during it, and says nothing new.
            if self._clock.monotonic() >= self._next_probe_at - PROBE_S:
                self._pause(min(2 * self._pause_s, LONGEST_PAUSE_S))
            return
        self._pause_s = 0.0
        self._died.clear()
        logger.warning("%s goes on", self._stage.value, extra=action("shift.resumed", stage=self._stage.value))

    def _pause(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._next_probe_at = self._clock.monotonic() + pause_s
        logger.error(
            "%s pauses for %d s: more than %d %% of its latest messages went to the DLQ (DLQ_PAUSE_SHARE); "
            "`issuetracker dlq list --stage %s --newer-than 1h` shows why",
            self._stage.value,
            pause_s,
            self._share * 100,
            self._stage.value,
            extra=action("shift.paused", stage=self._stage.value),
        )
