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
"""How many letters a broken stage may cost before it pauses, all its shifts together, beside what is in hand."""
LEAST_JUDGED = 20
"""Of fewer messages nothing can be said."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 30.0, 600.0
PROBE_S = 10.0
"""How long a probe may take before another message is tried: it may have found nothing, or end in a retry."""


class FloodGuard:
    """Counts how the messages of one crew ended, and says how many may be claimed. Thread-safe.

    More than `share` of the last 200 dead: nothing is claimed for 30 s, then one message is tried alone. If it dies,
    the pause doubles, up to ten minutes; if it goes on, so does the stage. Retries say nothing either way.

    Of `crews` at work for a stage each judges its part of the 200. They share the bound and no verdict: one whose
    machine lacks something mustn't hold up the healthy ones.
    """

    def __init__(self, stage: Stage, clock: Clock, *, share: float, crews: int = 1) -> None:
        self._stage = stage
        self._clock = clock
        self._share = share
        self._judged = max(LEAST_JUDGED, JUDGED // crews)
        self._lock = threading.Lock()
        self._died: deque[bool] = deque(maxlen=self._judged)
        self._pause_s = 0.0
        self._next_probe_at = 0.0
        self._is_probing = False

    @property
    def is_paused(self) -> bool:
        """Whether next to nothing is claimed, from the verdict until a probe has come through."""
        return self._pause_s > 0

    def allows(self, limit: int) -> int:
        """How many of `limit` may be claimed now; 0 during a pause, 1 as a probe after it."""
        with self._lock:
            if not self._pause_s:
                return limit
            now = self._clock.monotonic()
            if now < self._next_probe_at:
                return 0
            self._next_probe_at = now + PROBE_S
            self._is_probing = True
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
                # Until there is a probe, what ends was in hand when the pause began, and says nothing new.
                if self._is_probing:
                    self._after_probe(died)
                return
            self._died.append(died)
            if len(self._died) == self._judged and sum(self._died) > self._share * self._judged:
                self._pause(FIRST_PAUSE_S)

    def _after_probe(self, died: bool) -> None:
        if died:
            self._pause(min(2 * self._pause_s, LONGEST_PAUSE_S))
            return
        self._pause_s = 0.0
        self._died.clear()
        logger.warning("%s goes on", self._stage.value, extra=action("shift.resumed", stage=self._stage.value))

    def _pause(self, pause_s: float) -> None:
        self._is_probing = False
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
