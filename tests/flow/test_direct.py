"""Work straight from Kafka, and the frontier of fetch."""

import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.frontier import MemoryFrontier
from issuetracker_dagster.adapters.memory.readers import MemoryGroupReader
from issuetracker_dagster.errors import NotDue, TransientError
from issuetracker_dagster.flow.direct import DirectSource, TopicFeed
from issuetracker_dagster.flow.frontier import FetchSource
from issuetracker_dagster.flow.frontier_feed import FrontierFeed
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.settle import Settlement
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueLimits
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage, Topic
from tests.flow.world import Doing, World, crawl_message, dlq_notes, message
from tests.waiting import eventually

PARSERS = FACTS[Stage.PARSER].group
CRAWLERS = FACTS[Stage.FETCH].group


class Running:
    """What a test started, closed at its end."""

    def __init__(self) -> None:
        self.closing: list[Callable[[], object]] = []

    def direct(
        self, world: World, run: Callable[[Delivery], Settlement], *, slots: int = 1, grace_s: float = 2
    ) -> Crew:
        shelf = Shelf(world.clock, capacity=4)
        reader = MemoryGroupReader(world.broker, [Topic.FETCHED.value], PARSERS)
        feed = TopicFeed(Stage.PARSER, reader, {Topic.FETCHED.value: shelf}, world.producer, world.clock)
        crew = Crew(Doing(run), [Pool(DirectSource(feed, shelf, world.start_counts()), slots)], world.clock)
        self.closing += [lambda: crew.finish(grace_s), feed.close]
        feed.start()
        crew.start()
        return crew

    def fetch(self, world: World, run: Callable[[Delivery], Settlement], frontier: MemoryFrontier) -> None:
        shelves = {priority: Shelf(world.clock, capacity=4) for priority in Priority}
        by_topic = {CRAWL_TOPICS[priority].value: shelf for priority, shelf in shelves.items()}
        reader = MemoryGroupReader(world.broker, list(by_topic), CRAWLERS)
        feed = TopicFeed(Stage.FETCH, reader, by_topic, world.producer, world.clock, frontier.settle_writes)
        frontier_feed = FrontierFeed(frontier, shelves, world.producer, world.clock)
        pools = [
            Pool(FetchSource(feed, frontier, shelf, world.start_counts(), world.clock), 1, p.label)
            for p, shelf in shelves.items()
        ]
        crew = Crew(Doing(run), pools, world.clock, max_batch=1)
        self.closing += [lambda: crew.finish(2), frontier_feed.close, feed.close]
        feed.start()
        frontier_feed.start()
        crew.start()

    def close(self) -> None:
        for closing in self.closing:
            closing()
        self.closing.clear()


@pytest.fixture
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.close()


class Handling:
    """A handler made of a function."""

    def __init__(self, handle: Callable[[str], Outcome]) -> None:
        self.asked: list[str] = []
        self._handle = handle
        self._lock = threading.Lock()

    def handle(self, payload: RawContentRef | CrawlJob, context: HandlerContext) -> Outcome:
        with self._lock:
            self.asked.append(context.root_id)
        return self._handle(context.root_id)

    def close(self) -> None:
        pass


def parser_work(world: World, handler: Handling, *, retry_in_place: bool = False) -> Callable[[Delivery], Settlement]:
    settler = world.settler(Stage.PARSER, retry_in_place=retry_in_place)
    work: StageWork[RawContentRef] = StageWork(
        stage=Stage.PARSER, payload_type=RawContentRef, handler=handler, settler=settler
    )
    return work.run


def fetch_work(world: World, handler: Handling) -> Callable[[Delivery], Settlement]:
    work: StageWork[CrawlJob] = StageWork(
        stage=Stage.FETCH, payload_type=CrawlJob, handler=handler, settler=world.settler(Stage.FETCH)
    )
    return work.run


def committed(world: World, group: str) -> int:
    return sum(position.offset for position in world.broker.committed(group).values())


def done(root_id: str) -> Outcome:
    return Outcome(note="done")


def test_messages_are_handled_and_their_offsets_committed(running: Running) -> None:
    world = World(SystemClock())
    handler = Handling(done)
    world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(40)])
    running.direct(world, parser_work(world, handler), slots=3)
    eventually(lambda: committed(world, PARSERS) == 40)
    assert sorted(handler.asked) == sorted(f"m{n}" for n in range(40))


def test_a_message_in_hand_is_not_committed_and_the_next_member_gets_it(running: Running) -> None:
    world = World(SystemClock())
    stuck = threading.Event()

    def wait(root_id: str) -> Outcome:
        stuck.wait(10)
        return Outcome()

    world.send(Topic.FETCHED, message("a"))
    running.direct(world, parser_work(world, first := Handling(wait)), grace_s=0.1)
    eventually(lambda: first.asked == ["a"])
    running.close()
    assert committed(world, PARSERS) == 0
    second = Handling(done)
    running.direct(world, parser_work(world, second))
    eventually(lambda: committed(world, PARSERS) == 1)
    stuck.set()
    assert second.asked == ["a"]


def test_a_malformed_record_goes_to_the_dlq_and_is_committed(running: Running) -> None:
    world = World(SystemClock())
    world.producer.publish([Outgoing(Topic.FETCHED, None, b"junk", [])])
    running.direct(world, parser_work(world, Handling(done)))
    eventually(lambda: committed(world, PARSERS) == 1)
    assert dlq_notes(world.records(Topic.DLQ)[0])["reason"] == "malformed"


def test_a_malformed_record_waits_for_a_dlq_that_is_out(running: Running) -> None:
    world = World(SystemClock())
    world.producer.publish([Outgoing(Topic.FETCHED, None, b"junk", [])])
    publish = world.producer.publish
    outages = iter([True, True])

    def flaky(records: list[Outgoing]) -> None:
        if next(outages, False):
            raise TransientError("the DLQ is out")
        publish(records)

    world.producer.publish = flaky  # type: ignore[method-assign, assignment]
    running.direct(world, parser_work(world, Handling(done)))
    eventually(lambda: len(world.records(Topic.DLQ)) == 1)
    eventually(lambda: committed(world, PARSERS) == 1)


def test_without_redis_a_failing_message_is_tried_in_place_with_its_attempts_counted(running: Running) -> None:
    world = World(SystemClock())
    attempts: list[int] = []

    def failing(root_id: str) -> Outcome:
        raise TransientError("later")

    run = parser_work(world, Handling(failing), retry_in_place=True)

    def watched(delivery: Delivery) -> Settlement:
        attempts.append(delivery.message.headers.attempt)
        settlement = run(delivery)
        return msgspec.structs.replace(settlement, delay_ms=10) if hasattr(settlement, "delay_ms") else settlement

    world.send(Topic.FETCHED, message("a"))
    running.direct(world, watched)
    eventually(lambda: committed(world, PARSERS) == 1)
    assert attempts == [1, 2, 3]
    assert dlq_notes(world.records(Topic.DLQ)[0])["reason"] == "attempts_exhausted"


def job(root_id: str, priority: Priority, host: str = "news.example.com") -> tuple[Topic, Outgoing]:
    sent = crawl_message(f"https://{host}/{root_id}", root_id, priority)
    return CRAWL_TOPICS[priority], Outgoing.of(CRAWL_TOPICS[priority], sent)


def test_a_job_whose_host_is_not_due_waits_in_the_frontier_with_its_offset_settled(running: Running) -> None:
    world = World(SystemClock())
    frontier = MemoryFrontier(QueueLimits(), world.clock)

    def not_due(root_id: str) -> Outcome:
        raise NotDue("news.example.com", world.clock.now_ms() + 60_000, "rate")

    world.producer.publish([job("a", Priority.NORMAL)[1]])
    running.fetch(world, fetch_work(world, Handling(not_due)), frontier)
    eventually(lambda: frontier.size() == 1)
    eventually(lambda: committed(world, CRAWLERS) == 1)


def test_high_overtakes_low_inside_a_host(running: Running) -> None:
    world = World(SystemClock())
    frontier = MemoryFrontier(QueueLimits(), world.clock)
    open_at_ms = world.clock.now_ms() + 1_000

    def polite(root_id: str) -> Outcome:
        if world.clock.now_ms() < open_at_ms:
            raise NotDue("news.example.com", open_at_ms, "rate")
        fetched.append(root_id)
        return Outcome(note="done")

    fetched: list[str] = []
    world.producer.publish([job(f"low{n}", Priority.LOW)[1] for n in range(5)])
    running.fetch(world, fetch_work(world, Handling(polite)), frontier)
    eventually(lambda: frontier.size() == 5)
    world.producer.publish([job("high", Priority.HIGH)[1]])
    eventually(lambda: len(fetched) == 6)
    assert fetched[0] == "high"
    eventually(lambda: frontier.size() == 0)


def test_another_host_does_not_wait_for_one_that_is_not_due(running: Running) -> None:
    world = World(SystemClock())
    frontier = MemoryFrontier(QueueLimits(), world.clock)

    def polite(root_id: str) -> Outcome:
        if root_id.startswith("slow"):
            raise NotDue("slow.example.com", world.clock.now_ms() + 60_000, "rate")
        return Outcome(note="done")

    handler = Handling(polite)
    world.producer.publish([job(f"slow{n}", Priority.NORMAL, "slow.example.com")[1] for n in range(30)])
    world.producer.publish([job("quick", Priority.NORMAL)[1]])
    running.fetch(world, fetch_work(world, handler), frontier)
    eventually(lambda: "quick" in handler.asked)
    eventually(lambda: frontier.size() == 30)
    assert world.records(Topic.DLQ) == []
