"""What got no answer, because a server was out or something had a bug: it is delivered again in the same shift."""

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.frontier import MemoryFrontier
from issuetracker_dagster.adapters.memory.readers import MemoryGroupReader
from issuetracker_dagster.errors import NotDue, PermanentError, PublishFailed, Unavailable
from issuetracker_dagster.flow import direct, frontier, work
from issuetracker_dagster.flow.direct import DirectSource, TopicFeed
from issuetracker_dagster.flow.frontier import FetchSource
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.settle import Done, Settlement
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import Delivery, QueueSource
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, QueueLimits, queue_entry
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage, Topic
from tests.flow.world import Doing, World, crawl_message, dlq_notes, message
from tests.waiting import eventually

PARSERS = FACTS[Stage.PARSER].group
CRAWLERS = FACTS[Stage.FETCH].group
CRAWL = CRAWL_TOPICS[Priority.NORMAL]

Run = Callable[[Delivery], Settlement]


class Failing:
    """A handler that raises what it was given, noting how often it was asked."""

    def __init__(self, error: Exception) -> None:
        self.asked = 0
        self._error = error

    def handle(self, payload: RawContentRef | CrawlJob, context: HandlerContext) -> Outcome:
        self.asked += 1
        raise self._error

    def close(self) -> None:
        pass


class Started:
    """A world, and what works in it; all of it ended with the test."""

    def __init__(self) -> None:
        self.world = World(SystemClock())
        self.frontier = MemoryFrontier(QueueLimits(), self.world.clock)
        self._closing: list[Callable[[], object]] = []

    def direct(self, run: Run) -> Crew:
        shelf = Shelf(self.world.clock, capacity=4)
        feed = self._feed(Stage.PARSER, Topic.FETCHED, PARSERS, shelf)
        return self._crew(run, Pool(DirectSource(feed, shelf, self.world.start_counts()), 1), feed)

    def fetch(self, run: Run) -> Crew:
        shelf = Shelf(self.world.clock, capacity=4)
        feed = self._feed(Stage.FETCH, CRAWL, CRAWLERS, shelf)
        return self._crew(
            run, Pool(FetchSource(feed, self.frontier, shelf, self.world.start_counts(), self.world.clock), 1), feed
        )

    def _feed(self, stage: Stage, topic: Topic, group: str, shelf: Shelf) -> TopicFeed:
        reader = MemoryGroupReader(self.world.broker, [topic.value], group)
        return TopicFeed(stage, reader, {topic.value: shelf}, self.world.producer, self.world.clock)

    def _crew(self, run: Run, pool: Pool, feed: TopicFeed) -> Crew:
        crew = Crew(Doing(run), [pool], self.world.clock)
        self._closing += [lambda: crew.finish(2), feed.close]
        feed.start()
        crew.start()
        return crew

    def committed(self, group: str) -> int:
        return sum(position.offset for position in self.world.broker.committed(group).values())

    def close(self) -> None:
        for closing in self._closing:
            closing()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    monkeypatch.setattr(direct, "KEPT_DELAY_MS", 50)
    monkeypatch.setattr(frontier, "KEPT_DELAY_MS", 50)
    monkeypatch.setattr(work, "OUTAGE_PAUSE_S", 0.02)
    made = Started()
    yield made
    made.close()


def parser_work(world: World, handler: Failing) -> Run:
    settler = world.settler(Stage.PARSER)
    made: StageWork[RawContentRef] = StageWork(
        stage=Stage.PARSER, payload_type=RawContentRef, handler=handler, settler=settler
    )
    return made.run


def fetch_work(world: World, handler: Failing) -> Run:
    settler = world.settler(Stage.FETCH)
    made: StageWork[CrawlJob] = StageWork(stage=Stage.FETCH, payload_type=CrawlJob, handler=handler, settler=settler)
    return made.run


def test_a_dead_letter_that_kafka_does_not_take_now_is_tried_again_by_the_same_direct_shift(started: Started) -> None:
    world = started.world
    world.send(Topic.FETCHED, message("a"))
    publish, outages = world.producer.publish, iter([True, True])

    def flaky(records: Sequence[Outgoing]) -> None:
        if next(outages, False):
            raise PublishFailed("Kafka is out")
        publish(records)

    world.producer.publish = flaky  # type: ignore[method-assign]
    handler = Failing(PermanentError("gone", code="http_404"))
    started.direct(parser_work(world, handler))
    eventually(lambda: started.committed(PARSERS) == 1)
    assert dlq_notes(world.records(Topic.DLQ)[0])["reason"] == "http_404"
    assert handler.asked == 3


def test_a_job_that_could_not_line_up_while_redis_was_out_is_tried_again_by_the_same_shift(started: Started) -> None:
    world = started.world
    world.producer.publish([Outgoing.of(CRAWL, crawl_message("https://news.example.com/a", "a"))])
    defer, outages = started.frontier.defer, iter([True])

    def flaky(host: str, entry: QueueEntry, due_ms: int) -> None:
        if next(outages, False):
            raise Unavailable("Redis is out")
        defer(host, entry, due_ms)

    started.frontier.defer = flaky  # type: ignore[method-assign]
    not_due = NotDue("news.example.com", world.clock.now_ms() + 60_000, "rate")
    started.fetch(fetch_work(world, Failing(not_due)))
    eventually(lambda: started.frontier.size() == 1)
    eventually(lambda: started.committed(CRAWLERS) == 1)


def test_a_record_under_which_a_slot_had_a_bug_is_delivered_again_by_the_same_shift(started: Started) -> None:
    world = started.world
    bugs = iter([True])

    def run(delivery: Delivery) -> Settlement:
        if next(bugs, False):
            raise KeyError("a bug below the handlers")
        return Done(succeeded=True, kind="ended")

    world.send(Topic.FETCHED, message("a"))
    crew = started.direct(run)
    eventually(lambda: started.committed(PARSERS) == 1)
    assert crew.counts() == {"slot_bugs": 1, "ended": 1}


def test_a_bug_below_the_handlers_repeats_nothing_that_succeeded_before_it(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "CLAIM_BUDGET_MS", 10_000.0)
    world = started.world
    queue = world.queue()
    queue.push([queue_entry(message(f"m{n}")) for n in range(7)])
    asked: list[str] = []

    def run(delivery: Delivery) -> Settlement:
        asked.append(delivery.message.headers.root_id)
        if asked[-1] == "m6":  # the last of the third claim, which is one of four
            raise KeyError("a bug below the handlers")
        return Done(succeeded=True, kind="ended")

    source = QueueSource(
        Stage.PARSER, queue, world.producer, world.clock, alone=world.alone_counts(), lease_ms=60_000, pop_timeout_ms=20
    )
    crew = Crew(Doing(run), [Pool(source, 1)], world.clock)
    crew.start()
    eventually(lambda: queue.depth().leased == 1 and len(asked) == 7)
    crew.finish(2)
    assert source.refused_acks == 0


def test_leases_are_extended_on_after_a_bug_while_extending(started: Started) -> None:
    world = started.world
    queue = world.queue()
    queue.push([queue_entry(message("slow"))])
    extend, bugs, release = queue.extend, iter([True]), threading.Event()

    def buggy(*args: object) -> tuple[str, ...]:
        if next(bugs, False):
            raise KeyError("a bug")
        return extend(*args)  # type: ignore[arg-type]

    queue.extend = buggy  # type: ignore[method-assign, assignment]

    def run(delivery: Delivery) -> Settlement:
        release.wait(10)
        return Done(succeeded=True, kind="ended")

    source = QueueSource(
        Stage.PARSER, queue, world.producer, world.clock, alone=world.alone_counts(), lease_ms=600, pop_timeout_ms=20
    )
    crew = Crew(Doing(run), [Pool(source, 1)], world.clock, lease_ms=600)
    crew.start()
    eventually(lambda: queue.depth().leased == 1)
    began = world.clock.monotonic()
    eventually(lambda: world.clock.monotonic() - began > 1.5)
    assert queue.reap() == 0
    release.set()
    eventually(lambda: queue.depth().total == 0)
    crew.finish(2)
