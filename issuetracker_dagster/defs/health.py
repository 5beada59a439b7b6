"""The health probe's memory and words: what it saw, and which of it is worth an event in Dagster's log.

Dagster never removes events that belong to no run, so each thing is told at most every five minutes and only when it
changed; a check that turns is told at once. The figures of the moment are in the text of the sensor's ticks.
"""

from collections.abc import Iterable

import dagster as dg

from issuetracker_dagster.defs.assets import lag_observations, queue_observations, table_observations
from issuetracker_dagster.defs.buffers import look_at_buffers
from issuetracker_dagster.defs.checks import check_evaluations, queue_state
from issuetracker_dagster.defs.dlq_checks import look_at_dlq
from issuetracker_dagster.defs.rules import look_at_rules
from issuetracker_dagster.defs.sources import look_at_sources
from issuetracker_dagster.errors import TransientError, Unavailable
from issuetracker_dagster.model.stage import QUEUED_STAGES
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.wiring.parts import Wiring

EVERY_MS = 300_000

AssetEvent = dg.AssetObservation | dg.AssetCheckEvaluation


class HealthProbe:
    """Looks at Kafka, Redis and SQL, each by itself: one that is out doesn't hide the others."""

    def __init__(self) -> None:
        self._told: dict[object, tuple[int, AssetEvent]] = {}

    def tick(self, wiring: Wiring) -> dg.SensorResult:
        """What is worth an event, and the figures in words. Raises `Unavailable` when nothing could be looked at."""
        events: list[AssetEvent] = []
        words: list[str] = []
        problems: list[str] = []
        for look in (_lags, look_at_buffers, _queues, _tables, look_at_rules, look_at_sources, look_at_dlq):
            try:
                found, said = look(wiring)
                events += found
                words.append(said)
            except TransientError as error:
                problems.append(str(error))
        if not words:
            raise Unavailable("; ".join(problems))
        return dg.SensorResult(
            asset_events=self.worth_telling(events, wiring.clock), skip_reason="; ".join([*words, *problems])
        )

    def worth_telling(self, events: Iterable[AssetEvent], clock: Clock) -> list[AssetEvent]:
        """Those of `events` that say something new, remembered as told."""
        now_ms = clock.now_ms()
        chosen: list[AssetEvent] = []
        for event in events:
            key = type(event), event.asset_key, getattr(event, "check_name", None)
            told_ms, before = self._told.get(key, (0, None))
            if before is None or _turned(before, event) or (now_ms - told_ms >= EVERY_MS and _differs(before, event)):
                self._told[key] = now_ms, event
                chosen.append(event)
        return chosen


def _turned(before: AssetEvent, now: AssetEvent) -> bool:
    return (
        isinstance(before, dg.AssetCheckEvaluation)
        and isinstance(now, dg.AssetCheckEvaluation)
        and before.passed != now.passed
    )


def _differs(before: AssetEvent, now: AssetEvent) -> bool:
    return before.metadata != now.metadata


def _lags(wiring: Wiring) -> tuple[list[AssetEvent], str]:
    lags = wiring.lags()
    return list(lag_observations(lags)), f"{sum(lags.values())} messages unread in Kafka"


def _queues(wiring: Wiring) -> tuple[list[AssetEvent], str]:
    states = [queue_state(wiring, stage) for stage in QUEUED_STAGES]
    words = ", ".join(f"{state.depth.ready} ready for {state.stage.value}" for state in states)
    depths = {state.stage: state.depth for state in states}
    return [*queue_observations(depths), *check_evaluations(states)], words


def _tables(wiring: Wiring) -> tuple[list[AssetEvent], str]:
    counts = wiring.stores.reports.counts()
    return list(table_observations(counts)), f"{counts.get('contents', 0)} contents, {counts.get('issues', 0)} issues"
