"""Shifts and their crews: what a stage opens to work in a mode, and closes again."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.local_starts import LocalStarts
from issuetracker_dagster.adapters.redis.starts import RedisStarts
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.direct import DirectSource, TopicFeed
from issuetracker_dagster.flow.flood import FloodGuard
from issuetracker_dagster.flow.flood_gate import GatedSource, NotedWork
from issuetracker_dagster.flow.frontier import FetchSource, FrontierFeed
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.flow.settle import Settler
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.shift import Mode, Shift, mode_of_queue
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import QueueSource, WorkSource
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.pipeline import PIPELINE, StageRow
from issuetracker_dagster.ports.handler import Handler
from issuetracker_dagster.wiring.handlers import build_handler
from issuetracker_dagster.wiring.parts import Wiring

logger = logging.getLogger(__name__)


class Feed(Protocol):
    """A thread that supplies a crew."""

    def start(self) -> None: ...

    def check(self) -> None: ...

    def close(self) -> None: ...


class SuppliedCrew:
    """A crew and the feeds that supply it, started and closed together in the right order."""

    def __init__(self, crew: Crew, sources: Sequence[WorkSource], feeds: Sequence[Feed]) -> None:
        self._crew = crew
        self._sources = sources
        self._feeds = feeds

    def start(self) -> None:
        """Supply first, then slots."""
        for feed in self._feeds:
            feed.start()
        self._crew.start()

    def finish(self, timeout_s: float) -> Mapping[str, int]:
        """Slots first, so that their acknowledgements are part of the last commit of the feeds; then the feeds, so that
        nothing is put on a shelf that was given back.
        """
        self._crew.finish(timeout_s)
        for feed in self._feeds:
            feed.close()
        for source in self._sources:
            source.close()
        return self.counts()

    def check(self) -> None:
        """Raises the bug that ended a feed, if one did."""
        for feed in self._feeds:
            feed.check()

    def counts(self) -> Mapping[str, int]:
        """What has happened so far; `acks_refused` are those that came too late, when others held the message."""
        refused = sum(source.refused_acks for source in self._sources if isinstance(source, QueueSource))
        return {**self._crew.counts(), "acks_refused": refused} if refused else self._crew.counts()


@contextmanager
def opened_shift(
    wiring: Wiring,
    stage: Stage,
    *,
    flag_is_on: Callable[[], bool],
    control: Callable[[], str | None],
    duration_ms: int,
) -> Iterator[Shift]:
    """A shift ready to run, its handler closed afterwards. Raises `Unavailable` when Kafka isn't there."""
    wiring.ready()
    row = PIPELINE[stage]
    wanted = mode_of_queue(stage, wiring.queue(stage), wiring.locks, flag_is_on) if row.has_queue else _always_direct
    handler = build_handler(stage, wiring)
    try:
        yield Shift(
            stage,
            wanted_mode=wanted,
            open_crew=lambda mode: open_crew(wiring, row, handler, mode),
            clock=wiring.clock,
            duration_ms=duration_ms,
            drain_timeout_ms=wiring.settings.shift.shift_drain_timeout,
            control=control,
        )
    finally:
        handler.close()
        wiring.published_log.flush()


def open_crew(wiring: Wiring, row: StageRow, handler: Handler[Any], mode: Mode) -> SuppliedCrew:
    """The crew of a stage: on its queue, straight from Kafka, or fetch with its frontier."""
    if mode is Mode.QUEUE:
        return _queue_crew(wiring, row, handler)
    return _direct_crew(wiring, row, handler) if row.has_queue else _fetch_crew(wiring, row, handler)


def _queue_crew(wiring: Wiring, row: StageRow, handler: Handler[Any]) -> SuppliedCrew:
    queue = wiring.settings.queue(row.stage.value)
    source = QueueSource(
        row.stage,
        wiring.queue(row.stage),
        wiring.producer,
        wiring.clock,
        lease_ms=queue.zset_lease,
        pop_timeout_ms=queue.zset_pop_timeout,
    )
    crew = _crew(wiring, row, handler, [Pool(source, row.workers(wiring.settings), row.stage.value)])
    return SuppliedCrew(crew, [source], [])


def _direct_crew(wiring: Wiring, row: StageRow, handler: Handler[Any]) -> SuppliedCrew:
    workers = row.workers(wiring.settings)
    shelf = Shelf(wiring.clock, capacity=2 * workers)
    feed = _topic_feed(wiring, row, {topic.value: shelf for topic in row.facts.inputs})
    has_redis = _redis_answers(wiring, row)
    source = DirectSource(feed, shelf, _starts(wiring, row, has_redis=has_redis))
    crew = _crew(wiring, row, handler, [Pool(source, workers, row.stage.value)], has_redis=has_redis)
    return SuppliedCrew(crew, [source], [feed])


def _fetch_crew(wiring: Wiring, row: StageRow, handler: Handler[Any]) -> SuppliedCrew:
    fetch = wiring.settings.fetch
    sizes = {
        Priority.HIGH: fetch.high_worker_count,
        Priority.NORMAL: fetch.normal_worker_count,
        Priority.LOW: fetch.low_worker_count,
    }
    shelves = {priority: Shelf(wiring.clock, capacity=2 * size) for priority, size in sizes.items()}
    by_topic = {CRAWL_TOPICS[priority].value: shelf for priority, shelf in shelves.items()}
    feed = _topic_feed(wiring, row, by_topic, wiring.frontier.settle_writes)
    lease_ms = row.lease_ms(wiring.settings)
    starts = _starts(wiring, row, has_redis=True)
    frontier_feed = FrontierFeed(wiring.frontier, shelves, wiring.producer, wiring.clock, lease_ms)
    pools = [
        Pool(
            FetchSource(feed, wiring.frontier, shelves[priority], starts, wiring.clock, lease_ms), size, priority.label
        )
        for priority, size in sizes.items()
    ]
    return SuppliedCrew(_crew(wiring, row, handler, pools), [pool.source for pool in pools], [frontier_feed, feed])


def _crew(
    wiring: Wiring, row: StageRow, handler: Handler[Any], pools: Sequence[Pool], *, has_redis: bool = True
) -> Crew:
    lease_ms = row.lease_ms(wiring.settings)
    settler = Settler(
        row.stage,
        producer=wiring.producer,
        retries=wiring.retries,
        publisher=wiring.publisher,
        policy=wiring.retry_policy(),
        clock=wiring.clock,
        upgrader=wiring.upgrader if row.stage is Stage.PARSER and has_redis else None,
        retry_in_place=not has_redis,
    )
    urls = HeldUrls(wiring.processing_lock, row.stage, lease_ms) if has_redis else None
    work: StageWork[Any] = StageWork(
        stage=row.stage,
        payload_type=row.payload,
        handler=handler,
        settler=settler,
        urls=urls,
    )
    max_batch = wiring.settings.queue(row.stage.value).zset_pop_batch_size if row.has_queue else 1
    guard = _flood_guard(wiring, row)
    if guard:
        pools = [Pool(GatedSource(pool.source, guard, wiring.clock), pool.size, pool.name) for pool in pools]
    return Crew(
        NotedWork(work, guard) if guard else work,
        pools,
        wiring.clock,
        lease_ms=lease_ms,
        max_batch=max_batch,
        max_deliveries=row.max_deliveries(wiring.settings),
        urls=urls,
    )


def _flood_guard(wiring: Wiring, row: StageRow) -> FloodGuard | None:
    """None for fetch, too: hundreds of dead links are an answer of the web, no fault of the stage."""
    share = wiring.settings.retry.dlq_pause_share
    return FloodGuard(row.stage, wiring.clock, share=share) if share and row.has_queue else None


def _starts(wiring: Wiring, row: StageRow, *, has_redis: bool) -> StartCounts:
    if has_redis:
        return StartCounts(RedisStarts(wiring.redis, row.facts.group))
    return StartCounts(LocalStarts(wiring.settings.home / "starts.db", row.facts.group))


def _topic_feed(
    wiring: Wiring, row: StageRow, shelves: Mapping[str, Shelf], confirm: Callable[[], None] = lambda: None
) -> TopicFeed:
    reader = KafkaGroupReader(wiring.kafka, list(shelves), row.facts.group)
    return TopicFeed(row.stage, reader, shelves, wiring.producer, wiring.clock, confirm)


def _always_direct() -> Mode:
    return Mode.DIRECT


def _redis_answers(wiring: Wiring, row: StageRow) -> bool:
    try:
        wiring.queue(row.stage).depth()
    except Unavailable as error:
        logger.warning("working without Redis: %s", error, extra=action("redis.unavailable"))
        return False
    return True
