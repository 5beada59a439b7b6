"""The health probe: who it asks in one tick, in which order, and what comes of it in words.

Whose fault a failure is is asked, not guessed: the servers are asked first, and what needs one that is out isn't looked
at. `defs.news` decides what becomes an event. The figures of the moment are in the text of the sensor's ticks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import dagster as dg
import msgspec

from issuetracker_dagster.defs.assets import queue_observations, table_observations
from issuetracker_dagster.defs.buffers import look_at_buffers
from issuetracker_dagster.defs.checks import check_evaluations, queue_state
from issuetracker_dagster.defs.dlq_checks import look_at_dlq, look_at_pauses
from issuetracker_dagster.defs.extraction_checks import look_at_extraction
from issuetracker_dagster.defs.frontier_checks import look_at_frontier
from issuetracker_dagster.defs.lag_checks import look_at_ages, look_at_lags
from issuetracker_dagster.defs.losses import look_at_losses
from issuetracker_dagster.defs.news import AssetEvent, News
from issuetracker_dagster.defs.reach_checks import reach_evaluations
from issuetracker_dagster.defs.render_checks import look_at_rendering
from issuetracker_dagster.defs.retry_checks import look_at_retries
from issuetracker_dagster.defs.rules import look_at_rules
from issuetracker_dagster.defs.sources import look_at_sources
from issuetracker_dagster.defs.ticks import HELP
from issuetracker_dagster.defs.work_checks import look_at_work
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.probe import ProbeMemory, decode_probe, encode_probe
from issuetracker_dagster.model.stage import QUEUED_STAGES, Topic
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.servers import KAFKA, REDIS, SQL, Problem, ServerCheck

EXTRACTION_EVERY_MS = 120_000
"""It reads thousands of rows, of two hours: nothing turns within two minutes."""
HANGS_AFTER_S = 3.0
"""A look that fails so late costs too much to let the next one do the same: a tick has a minute for all of them."""

Told = tuple[Sequence[AssetEvent], str]


class Look(NamedTuple):
    """A part of the pipeline, the servers without which nothing can be told of it, and what is told, also in words.

    `run` raises `TransientError`.
    """

    needs: tuple[str, ...]
    run: Callable[[], Told]


class HealthProbe:
    """Looks at Kafka, Redis and SQL, each by itself: one that is out doesn't hide the others."""

    def __init__(self) -> None:
        self._servers = ServerCheck()
        self._news = News()
        self._tick = 0
        self._extraction_due_ms = 0
        self._memory = ProbeMemory()
        self._lags: Mapping[Topic, int] | None = None
        self._problems: dict[str, Problem] = {}

    def is_out(self, server: str) -> bool:
        """Whether that server couldn't be used in the last tick; one that was only full could be looked at."""
        return server in self._out()

    def tick(self, wiring: Wiring, context: dg.SensorEvaluationContext) -> dg.SensorResult:
        """What is worth an event, the figures in words, and the next cursor: all that must outlive this process."""
        self._remember(context.cursor or "")
        self._problems = dict(self._servers.problems(wiring))
        events, words, failures = self._look_around(wiring, context)
        self._tick = wiring.machine_clock.now_ms()
        # Of a server that is out every look says the same.
        told = [*words, *dict.fromkeys([*(problem.why for problem in self._problems.values()), *failures])]
        return dg.SensorResult(
            asset_events=self._news.worth_telling([*reach_evaluations(self._problems), *events], wiring.clock),
            skip_reason="; ".join(told).rstrip(".") + (f". {HELP}" if self._out() else ""),
            cursor=encode_probe(msgspec.structs.replace(self._memory, tick=self._tick)),
        )

    def _look_around(
        self, wiring: Wiring, context: dg.SensorEvaluationContext
    ) -> tuple[list[AssetEvent], list[str], list[str]]:
        """What was found and said, and why looks failed; those at servers that are out or hang are left out."""
        events: list[AssetEvent] = []
        words: list[str] = []
        failures: list[str] = []
        hang: set[str] = set()
        for needs, run in self._looks(wiring, context):
            if not hang.union(self._out()).isdisjoint(needs):
                continue
            asked_at = wiring.machine_clock.monotonic()
            try:
                found, said = run()
                events += found
                words += [said] if said else []
            except TransientError as error:
                failures.append(str(error))
                if wiring.machine_clock.monotonic() - asked_at > HANGS_AFTER_S:
                    self._problems |= self._servers.problems(wiring)
                    hang |= set(needs) if self._out().isdisjoint(needs) else set()
        return events, words, failures

    def _out(self) -> set[str]:
        return {server for server, problem in self._problems.items() if not problem.is_full}

    def _remember(self, cursor: str) -> None:
        self._memory = decode_probe(cursor)
        # Dagster keeps the cursor of a tick after all its events, and of none that it gave up on.
        if self._memory.tick != self._tick:
            self._news.forget_last()

    def _looks(self, wiring: Wiring, context: dg.SensorEvaluationContext) -> Iterator[Look]:
        self._lags = None
        yield Look((KAFKA,), partial(self._unread, wiring))
        yield Look((KAFKA,), lambda: look_at_ages(wiring, self._lags))
        for of_redis in (look_at_buffers, _queues, look_at_retries, look_at_frontier, look_at_pauses):
            yield Look((REDIS,), partial(of_redis, wiring))
        yield Look((REDIS,), partial(look_at_work, wiring, context, kafka_answers=not self.is_out(KAFKA)))
        yield Look((REDIS,), partial(self._losses, wiring))
        for of_sql in (_tables, look_at_rules, look_at_sources, look_at_rendering):
            yield Look((SQL,), partial(of_sql, wiring))
        yield Look((KAFKA, SQL), partial(look_at_dlq, wiring))
        now_ms = wiring.machine_clock.now_ms()
        if not self._extraction_due_ms - EXTRACTION_EVERY_MS <= now_ms < self._extraction_due_ms:
            yield Look((SQL,), partial(self._extraction, wiring))

    def _unread(self, wiring: Wiring) -> Told:
        self._lags = wiring.lags()
        return look_at_lags(wiring, self._lags)

    def _losses(self, wiring: Wiring) -> Told:
        events, memory = look_at_losses(wiring, self._memory)
        self._memory = msgspec.structs.replace(self._memory, seen=memory.seen, losses=memory.losses)
        return events, ""

    def _extraction(self, wiring: Wiring) -> Told:
        events, said, lost = look_at_extraction(wiring, self._memory.lost_fields)
        self._memory = msgspec.structs.replace(self._memory, lost_fields=lost)
        self._extraction_due_ms = wiring.machine_clock.now_ms() + EXTRACTION_EVERY_MS
        return events, said


def _queues(wiring: Wiring) -> Told:
    states = [queue_state(wiring, stage) for stage in QUEUED_STAGES]
    words = ", ".join(f"{state.depth.ready} ready for {state.stage.value}" for state in states)
    depths = {state.stage: state.depth for state in states}
    return [*queue_observations(depths), *check_evaluations(states)], words


def _tables(wiring: Wiring) -> Told:
    counts = wiring.stores.reports.counts()
    return list(table_observations(counts)), f"{counts.get('contents', 0)} contents, {counts.get('issues', 0)} issues"
