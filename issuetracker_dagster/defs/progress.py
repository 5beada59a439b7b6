"""How far a long run is, in its log, every few seconds."""

import math

import dagster as dg

from issuetracker_dagster.ports.clock import Clock

TOLD_EVERY_S = 5.0


class Progress:
    """Lines of a run's log with a pause between any two; `at_once` tells the first without one."""

    def __init__(
        self, context: dg.OpExecutionContext, clock: Clock, *, every_s: float = TOLD_EVERY_S, at_once: bool = False
    ) -> None:
        self._context = context
        self._clock = clock
        self._every_s = every_s
        self._told_at = -math.inf if at_once else clock.monotonic()

    def tell(self, words: str) -> None:
        """Say so, unless something was said a moment ago."""
        now = self._clock.monotonic()
        if now - self._told_at >= self._every_s:
            self._told_at = now
            self._context.log.info(words)
