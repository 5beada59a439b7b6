"""Shifts and their crews: what a stage opens to work in a mode, and closes again."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.local_starts import LocalStarts
from issuetracker_dagster.adapters.redis.starts import RedisStarts
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.direct import DirectSource, TopicFeed
from issuetracker_dagster.flow.fair_pool import FairSource
from issuetracker_dagster.flow.flood import FloodGuard
from issuetracker_dagster.flow.flood_gate import GatedSource, NotedWork
from issuetracker_dagster.flow.frontier import FetchSource
from issuetracker_dagster.flow.frontier_feed import FrontierFeed
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.flow.settle import Settler
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.shift import Mode, Shift, mode_of_queue
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import QueueSource
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.flow.supplied import SuppliedCrew
from issuetracker_dagster.flow.watched import WatchedHandler, WatchedWork
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import deaths_in_company
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.pipeline import PIPELINE, StageRow
from issuetracker_dagster.ports.handler import Handler
from issuetracker_dagster.wiring.handlers import build_handler
from issuetracker_dagster.wiring.parts import Wiring

logger = logging.getLogger(__name__)


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
    with ExitStack() as closing:  # whatever one of the two raises, the other is done
        closing.callback(wiring.published_log.flush)
        handler = build_handler(stage, wiring)
        closing.callback(handler.close)
        yield Shift(
            stage,
            wanted_mode=wanted,
            open_crew=lambda mode: open_crew(wiring, row, handler, mode),
            clock=wiring.clock,
            duration_ms=duration_ms,
            drain_timeout_ms=wiring.settings.shift.shift_drain_timeout,
            control=control,
        )


def open_crew(wiring: Wiring, row: StageRow, handler: Handler[Any], mode: Mode) -> SuppliedCrew:
    """The crew of a stage: on its queue, straight from Kafka, or fetch with its frontier."""
    if mode is Mode.QUEUE:
        return _queue_crew(wiring, row, handler)
    return _direct_crew(wiring, row, handler, mode) if row.has_queue else _fetch_crew(wiring, row, handler)


def _queue_crew(wiring: Wiring, row: StageRow, handler: Handler[Any]) -> SuppliedCrew:
    queue = wiring.settings.queue(row.stage.value)
    source = QueueSource(
        row.stage,
        wiring.watched_queue(row.stage),
        wiring.producer,
        wiring.clock,
        alone=StartCounts(RedisStarts(wiring.redis, f"{row.facts.group}:alone"), in_company=0),
        in_company=deaths_in_company(row.max_deliveries(wiring.settings)),
        lease_ms=queue.zset_lease,
        pop_timeout_ms=queue.zset_pop_timeout,
    )
    guard = _flood_guard(wiring, row)
    crew = _crew(wiring, row, handler, [Pool(source, row.workers(wiring.settings), row.stage.value)], guard)
    return SuppliedCrew(crew, [source], [], guard)


def _direct_crew(wiring: Wiring, row: StageRow, handler: Handler[Any], mode: Mode) -> SuppliedCrew:
    knows_queue = mode is not Mode.WITHOUT_REDIS
    workers = row.workers(wiring.settings)
    shelf = Shelf(wiring.clock, capacity=2 * workers)
    feed = _topic_feed(wiring, row, {topic.value: shelf for topic in row.facts.inputs}, keeps_notes=not knows_queue)
    has_redis = knows_queue and _redis_answers(wiring, row)
    source = DirectSource(feed, shelf, _starts(wiring, row, has_redis=has_redis))
    guard = _flood_guard(wiring, row)
    crew = _crew(wiring, row, handler, [Pool(source, workers, row.stage.value)], guard, has_redis=has_redis)
    return SuppliedCrew(crew, [source], [feed], guard)


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
    sources = {
        priority: FetchSource(feed, wiring.frontier, shelf, starts, wiring.clock, lease_ms)
        for priority, shelf in shelves.items()
    }
    pools = [
        Pool(FairSource(sources[priority], size, wiring.clock), size, priority.label)
        for priority, size in sizes.items()
    ]
    return SuppliedCrew(
        _crew(wiring, row, handler, pools, None), [pool.source for pool in pools], [frontier_feed, feed], None
    )


def _crew(
    wiring: Wiring,
    row: StageRow,
    handler: Handler[Any],
    pools: Sequence[Pool],
    guard: FloodGuard | None,
    *,
    has_redis: bool = True,
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
    steps = wiring.telemetry.steps
    inner: StageWork[Any] = StageWork(
        stage=row.stage,
        payload_type=row.payload,
        handler=WatchedHandler(handler, row.stage, steps, wiring.clock),
        settler=settler,
        urls=urls,
    )
    work = WatchedWork(inner, row.stage, steps, wiring.clock)
    max_batch = wiring.settings.queue(row.stage.value).zset_pop_batch_size if row.has_queue else 1
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
    if not share or not row.has_queue:
        return None
    return FloodGuard(row.stage, wiring.clock, share=share, crews=wiring.settings.slots(row.stage.value))


def _starts(wiring: Wiring, row: StageRow, *, has_redis: bool) -> StartCounts:
    group = row.facts.group
    starts = RedisStarts(wiring.redis, group) if has_redis else LocalStarts(wiring.settings.home / "starts.db", group)
    return StartCounts(starts, deaths_in_company(row.max_deliveries(wiring.settings)))


def _topic_feed(
    wiring: Wiring,
    row: StageRow,
    shelves: Mapping[str, Shelf],
    confirm: Callable[[], None] = lambda: None,
    *,
    keeps_notes: bool = False,
) -> TopicFeed:
    reader = KafkaGroupReader(wiring.kafka, list(shelves), row.facts.group, keeps_notes=keeps_notes)
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
