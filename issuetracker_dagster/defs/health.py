"""The health probe's memory and words: what it saw, and which of it is worth an event in Dagster's log.

Dagster never removes events that belong to no run, so each thing is told at most every five minutes and only when it
changed; a check that turns is told at once, unless what it judges is missing for a moment in the best of worlds. The
figures of the moment are in the text of the sensor's ticks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import dagster as dg

from issuetracker_dagster.defs.assets import queue_observations, table_observations
from issuetracker_dagster.defs.buffers import look_at_buffers
from issuetracker_dagster.defs.checks import check_evaluations, queue_state
from issuetracker_dagster.defs.dlq_checks import look_at_dlq
from issuetracker_dagster.defs.extraction_checks import look_at_extraction
from issuetracker_dagster.defs.lag_checks import look_at_lags
from issuetracker_dagster.defs.losses import look_at_losses
from issuetracker_dagster.defs.retry_checks import look_at_retries
from issuetracker_dagster.defs.rules import look_at_rules
from issuetracker_dagster.defs.sources import look_at_sources
from issuetracker_dagster.defs.work_checks import INTAKE, WORKERS, look_at_work
from issuetracker_dagster.errors import TransientError, Unavailable
from issuetracker_dagster.model.stage import QUEUED_STAGES
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.wiring.parts import Wiring

EVERY_MS = 300_000
EXTRACTION_EVERY_MS = 120_000
"""It reads thousands of rows, of two hours: nothing turns within two minutes."""
PATIENCE_MS = 60_000
PATIENT = (WORKERS, INTAKE)
"""Checks that must have failed for so long before it is told: a shift that follows another, a start of Dagster and a
stage that changes its mode all leave nobody at work for a moment."""

KAFKA, REDIS, SQL = "kafka", "redis", "sql"
HANGS_AFTER_S = 3.0
"""A server that lets a look fail so late isn't asked again in that tick: a tick has a minute for all of them."""

AssetEvent = dg.AssetObservation | dg.AssetCheckEvaluation
Look = Callable[[], tuple[Sequence[AssetEvent], str]]
"""What is told of a part of the pipeline, and in words. Raises `TransientError`."""


class HealthProbe:
    """Looks at Kafka, Redis and SQL, each by itself: one that is out doesn't hide the others."""

    def __init__(self) -> None:
        self._told: dict[object, tuple[int, AssetEvent]] = {}
        self._failing_since: dict[object, int] = {}
        self._extraction_due_ms = 0

    def tick(self, wiring: Wiring, context: dg.SensorEvaluationContext) -> dg.SensorResult:
        """What is worth an event, the figures in words, and the next cursor: what was seen of what waits in Redis.

        Raises `Unavailable` when nothing could be looked at.
        """
        events: list[AssetEvent] = []
        words: list[str] = []
        problems: list[str] = []
        hang: set[str] = set()
        for server, look in self._looks(wiring, context):
            if server in hang:
                continue
            asked_at = wiring.machine_clock.monotonic()
            try:
                found, said = look()
                events += found
                words.append(said)
            except TransientError as error:
                problems.append(str(error))
                if wiring.machine_clock.monotonic() - asked_at > HANGS_AFTER_S:
                    hang.add(server)
        if not words:
            raise Unavailable("; ".join(problems))
        cursor = context.cursor or ""
        try:
            if REDIS not in hang:
                found, cursor = look_at_losses(wiring, cursor)
                events += found
        except TransientError as error:
            problems.append(str(error))
        return dg.SensorResult(
            asset_events=self.worth_telling(events, wiring.clock),
            # Of a server that is out every look says the same.
            skip_reason="; ".join([*words, *dict.fromkeys(problems)]),
            cursor=cursor or None,
        )

    def _looks(self, wiring: Wiring, context: dg.SensorEvaluationContext) -> Iterator[tuple[str, Look]]:
        """Each with the server that it asks first."""
        yield KAFKA, partial(look_at_lags, wiring)
        for of_redis in (look_at_buffers, _queues, look_at_retries):
            yield REDIS, partial(of_redis, wiring)
        yield REDIS, partial(look_at_work, wiring, context)
        for of_sql in (_tables, look_at_rules, look_at_sources, look_at_dlq):
            yield SQL, partial(of_sql, wiring)
        now_ms = wiring.machine_clock.now_ms()
        if not self._extraction_due_ms - EXTRACTION_EVERY_MS <= now_ms < self._extraction_due_ms:
            self._extraction_due_ms = now_ms + EXTRACTION_EVERY_MS
            yield SQL, partial(look_at_extraction, wiring)

    def worth_telling(self, events: Iterable[AssetEvent], clock: Clock) -> list[AssetEvent]:
        """Those of `events` that say something new, remembered as told."""
        now_ms = clock.now_ms()
        chosen: list[AssetEvent] = []
        for event in events:
            key = type(event), event.asset_key, getattr(event, "check_name", None)
            if self._may_pass(key, event, now_ms):
                continue
            told_ms, before = self._told.get(key, (0, None))
            if before is None or _turned(before, event) or (now_ms - told_ms >= EVERY_MS and _differs(before, event)):
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
        # Never later than now: a clock that was put back would have it wait for long.
        since_ms = min(self._failing_since.get(key, now_ms), now_ms)
        self._failing_since[key] = since_ms
        return now_ms - since_ms < PATIENCE_MS


def _turned(before: AssetEvent, now: AssetEvent) -> bool:
    return (
        isinstance(before, dg.AssetCheckEvaluation)
        and isinstance(now, dg.AssetCheckEvaluation)
        and (before.passed != now.passed or (not now.passed and before.severity != now.severity))
    )


def _differs(before: AssetEvent, now: AssetEvent) -> bool:
    return before.metadata != now.metadata


def _queues(wiring: Wiring) -> tuple[list[AssetEvent], str]:
    states = [queue_state(wiring, stage) for stage in QUEUED_STAGES]
    words = ", ".join(f"{state.depth.ready} ready for {state.stage.value}" for state in states)
    depths = {state.stage: state.depth for state in states}
    return [*queue_observations(depths), *check_evaluations(states)], words


def _tables(wiring: Wiring) -> tuple[list[AssetEvent], str]:
    counts = wiring.stores.reports.counts()
    return list(table_observations(counts)), f"{counts.get('contents', 0)} contents, {counts.get('issues', 0)} issues"
