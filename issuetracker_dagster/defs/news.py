"""Which of what the health probe saw is worth an event in Dagster's log.

Dagster never removes events that belong to no run, so each thing is told at most every five minutes and only when it
changed; a check that turns is told at once, unless what it judges is missing for a moment in the best of worlds. One
that doesn't change is told again every hour, so a result that is older wasn't looked at since.
"""

from collections.abc import Iterable

import dagster as dg

from issuetracker_dagster.defs.work_checks import INTAKE, WORKERS
from issuetracker_dagster.ports.clock import Clock

EVERY_MS = 300_000
AGAIN_MS = 3_600_000
PATIENCE_MS = 60_000
PATIENT = (WORKERS, INTAKE)
"""Checks that must have failed for so long before it is told: a shift that follows another, a start of Dagster and a
stage that changes its mode all leave nobody at work for a moment."""

AssetEvent = dg.AssetObservation | dg.AssetCheckEvaluation
Told = tuple[int, AssetEvent]


class News:
    """What was told of each thing, and when."""

    def __init__(self) -> None:
        self._told: dict[object, Told] = {}
        self._told_before: dict[object, Told | None] = {}
        self._failing_since: dict[object, dict[dg.AssetCheckSeverity, int]] = {}

    def forget_last(self) -> None:
        """What was chosen last wasn't stored, or not all of it: it is news still."""
        for key, before in self._told_before.items():
            if before is None:
                self._told.pop(key, None)
            else:
                self._told[key] = before
        self._told_before = {}

    def worth_telling(self, events: Iterable[AssetEvent], clock: Clock) -> list[AssetEvent]:
        """Those of `events` that say something new, remembered as told."""
        now_ms = clock.now_ms()
        chosen: list[AssetEvent] = []
        self._told_before = {}
        for event in events:
            key = type(event), event.asset_key, getattr(event, "check_name", None)
            if self._may_pass(key, event, now_ms):
                continue
            before = self._told.get(key)
            if before is None or _is_news(before, event, now_ms):
                self._told_before[key] = before
                self._told[key] = now_ms, event
                chosen.append(event)
        return chosen

    def _may_pass(self, key: object, event: AssetEvent, now_ms: int) -> bool:
        """Whether a check fails that may be well again in a moment."""
        if not isinstance(event, dg.AssetCheckEvaluation) or event.check_name not in PATIENT:
            return False
        if event.passed:
            self._failing_since.pop(key, None)
            return False
        # By severity: a stage that was switched off (a warning) and is on again (an error) is another failure, with a
        # minute of its own. One that goes to and fro is told as a warning, whose time goes on.
        failures = self._failing_since.setdefault(key, {})
        if event.severity is dg.AssetCheckSeverity.WARN:
            failures.pop(dg.AssetCheckSeverity.ERROR, None)
        # Never later than now: a clock that was put back would have it wait for long.
        since_ms = failures[event.severity] = min(failures.get(event.severity, now_ms), now_ms)
        return now_ms - since_ms < PATIENCE_MS


def _is_news(told: Told, now: AssetEvent, now_ms: int) -> bool:
    told_ms, before = told
    age_ms = now_ms - told_ms
    if _turned(before, now):
        return True
    if age_ms >= AGAIN_MS and isinstance(now, dg.AssetCheckEvaluation):
        return True
    return age_ms >= EVERY_MS and before.metadata != now.metadata


def _turned(before: AssetEvent, now: AssetEvent) -> bool:
    return (
        isinstance(before, dg.AssetCheckEvaluation)
        and isinstance(now, dg.AssetCheckEvaluation)
        and (before.passed != now.passed or (not now.passed and before.severity != now.severity))
    )
