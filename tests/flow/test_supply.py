"""What supplies a crew: feeds that live on or say they can't, offsets that wait for a disk, leases on shelves."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.frontier import MemoryFrontier
from issuetracker_dagster.adapters.memory.readers import MemoryGroupReader
from issuetracker_dagster.errors import PublishFailed, Unavailable
from issuetracker_dagster.flow.direct import TopicFeed
from issuetracker_dagster.flow.frontier import FetchSource
from issuetracker_dagster.flow.frontier_feed import FrontierFeed
from issuetracker_dagster.flow.settle import Deferred, Done, Settlement
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.shift import Mode, Shift
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import Delivery, QueueSource
from issuetracker_dagster.flow.supplied import SuppliedCrew
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Lease, QueueEntry, QueueLimits, queue_entry
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage, Topic
from tests.flow.world import Doing, World, crawl_message, message
from tests.waiting import eventually

CRAWL = CRAWL_TOPICS[Priority.NORMAL]
CRAWLERS = FACTS[Stage.FETCH].group
HOST = "news.example.com"

Run = Callable[[Delivery], Settlement]


class Fetching:
    """A world with a frontier and one pool of fetch, whose parts a test may break before it starts them."""

    def __init__(self) -> None:
        self.world = World(SystemClock())
        self.frontier = MemoryFrontier(QueueLimits(), self.world.clock)
        self.reader = MemoryGroupReader(self.world.broker, [CRAWL.value], CRAWLERS)
        self.confirm: Callable[[], None] = lambda: None
        self._crew: SuppliedCrew | None = None

    def start(self, run: Run, lease_ms: int = 60_000) -> SuppliedCrew:
        world, shelf = self.world, Shelf(self.world.clock, capacity=4)
        shelves = dict.fromkeys(Priority, shelf)
        feed = TopicFeed(Stage.FETCH, self.reader, {CRAWL.value: shelf}, world.producer, world.clock, self.confirm)
        frontier_feed = FrontierFeed(self.frontier, shelves, world.producer, world.clock, lease_ms)
        source = FetchSource(feed, self.frontier, shelf, world.start_counts(), world.clock, lease_ms)
        crew = Crew(Doing(run), [Pool(source, 1)], world.clock, lease_ms=lease_ms, max_batch=1)
        self._crew = SuppliedCrew(crew, [source], [frontier_feed, feed], None)
        self._crew.start()
        return self._crew

    def wait_in_frontier(self, *root_ids: str, host: str = HOST) -> None:
        for root_id in root_ids:
            self.frontier.defer(host, queue_entry(crawl_message(f"https://{host}/{root_id}", root_id)), 0)

    def publish(self, *root_ids: str) -> None:
        sent = [crawl_message(f"https://{HOST}/{root_id}", root_id) for root_id in root_ids]
        self.world.producer.publish([Outgoing.of(CRAWL, each) for each in sent])

    def committed(self) -> int:
        return sum(position.offset for position in self.world.broker.committed(CRAWLERS).values())

    def close(self) -> None:
        if self._crew is not None:
            self._crew.finish(2)


@pytest.fixture
def fetching() -> Iterator[Fetching]:
    made = Fetching()
    yield made
    made.close()


def ended(delivery: Delivery) -> Settlement:
    return Done(succeeded=True, kind="ended")


def wait_until_later(fetching: Fetching) -> Run:
    def run(delivery: Delivery) -> Settlement:
        return Deferred(HOST, fetching.world.clock.now_ms() + 60_000)

    return run


def test_a_bug_while_reading_kafka_leaves_the_group_and_is_raised_by_the_crew(fetching: Fetching) -> None:
    polls = iter([False, True])
    poll = fetching.reader.poll

    def buggy(limit: int, timeout_ms: int) -> Sequence[Record]:
        if next(polls, False):
            raise ZeroDivisionError("a bug")
        return poll(limit, timeout_ms)

    fetching.reader.poll = buggy  # type: ignore[method-assign]
    crew = fetching.start(ended)
    eventually(lambda: fetching.world.broker.has_members(CRAWLERS))
    eventually(lambda: not fetching.world.broker.has_members(CRAWLERS))
    with pytest.raises(ZeroDivisionError):
        crew.check()


class Unsupplied:
    """A crew whose supply ended by a bug."""

    is_paused = False

    def __init__(self) -> None:
        self.finished = 0

    def start(self) -> None:
        pass

    def check(self) -> None:
        raise ZeroDivisionError("a bug")

    def finish(self, timeout_s: float) -> Mapping[str, int]:
        self.finished += 1
        return {"ended": 3}

    def counts(self) -> Mapping[str, int]:
        return {}


def test_a_shift_without_supply_fails_instead_of_waiting_for_its_end() -> None:
    crew = Unsupplied()
    shift = Shift(
        Stage.PARSER,
        wanted_mode=lambda: Mode.DIRECT,
        open_crew=lambda _: crew,
        clock=SystemClock(),
        duration_ms=5_000,
    )
    with pytest.raises(ZeroDivisionError):
        shift.run()
    assert crew.finished == 1
    assert shift.counts() == {"ended": 3}


def test_the_frontier_is_served_on_after_kafka_could_not_take_a_malformed_job(fetching: Fetching) -> None:
    publish, outages = fetching.world.producer.publish, iter([True])

    def flaky(records: Sequence[Outgoing]) -> None:
        if next(outages, False):
            raise PublishFailed("Kafka is out")
        publish(records)

    fetching.world.producer.publish = flaky  # type: ignore[method-assign]
    fetching.frontier.defer("other.example.com", QueueEntry("x:0", Priority.HIGH, 0, b"\xc1junk"), 0)
    crew = fetching.start(ended, lease_ms=300)
    eventually(lambda: next(outages, None) is None)
    fetching.wait_in_frontier("a")
    eventually(lambda: crew.counts().get("ended") == 1)
    eventually(lambda: len(fetching.world.records(Topic.DLQ)) == 1)


def test_the_frontier_is_served_on_after_a_bug(fetching: Fetching) -> None:
    take, bugs = fetching.frontier.take, iter([True])

    def buggy(claim_id: str, limit: int, lease_ms: int) -> Sequence[tuple[str, Lease]]:
        if next(bugs, False):
            raise ZeroDivisionError("a bug")
        return take(claim_id, limit, lease_ms)

    fetching.frontier.take = buggy  # type: ignore[method-assign]
    fetching.wait_in_frontier("a")
    crew = fetching.start(ended)
    eventually(lambda: crew.counts().get("ended") == 1)


def test_the_offset_of_a_job_that_lines_up_waits_until_redis_has_it_on_disk(fetching: Fetching) -> None:
    on_disk, asked = threading.Event(), []

    def confirm() -> None:
        asked.append(1)
        if not on_disk.is_set():
            raise Unavailable("Redis doesn't confirm")

    fetching.confirm = confirm
    fetching.publish("a")
    fetching.start(wait_until_later(fetching))
    eventually(lambda: len(asked) >= 3)
    assert fetching.committed() == 0
    on_disk.set()
    eventually(lambda: fetching.committed() == 1)


def test_a_fetch_shift_that_ends_while_redis_is_out_leaves_the_group(fetching: Fetching) -> None:
    def out(*args: object) -> None:
        raise Unavailable("Redis is out")

    fetching.confirm = out
    inside, release = threading.Event(), threading.Event()

    def run(delivery: Delivery) -> Settlement:
        inside.set()
        release.wait(10)
        return Done(succeeded=True, kind="ended")

    fetching.wait_in_frontier("first", host="a.example.com")
    crew = fetching.start(run)
    assert inside.wait(5)
    fetching.wait_in_frontier("on the shelf", host="b.example.com")
    eventually(lambda: fetching.frontier.size() == 0 and fetching.world.broker.has_members(CRAWLERS))
    fetching.frontier.give_back = out  # type: ignore[method-assign, assignment]
    release.set()
    crew.finish(5)
    assert not fetching.world.broker.has_members(CRAWLERS)


def test_a_job_keeps_its_lease_while_it_waits_on_the_shelf_for_a_slot(fetching: Fetching) -> None:
    release = threading.Event()
    handled: list[tuple[str, int]] = []

    def run(delivery: Delivery) -> Settlement:
        assert isinstance(delivery.receipt, Lease)
        handled.append((delivery.message.headers.root_id, delivery.receipt.deliveries))
        release.wait(10)
        return Done(succeeded=True, kind="ended")

    fetching.wait_in_frontier("slow", host="a.example.com")
    fetching.start(run, lease_ms=300)
    eventually(lambda: handled)
    fetching.wait_in_frontier("waits", host="b.example.com")
    eventually(lambda: fetching.frontier.size() == 0)
    began = fetching.world.clock.monotonic()
    eventually(lambda: fetching.world.clock.monotonic() - began > 1.2)  # four leases long
    fetching.frontier.reap()
    release.set()
    eventually(lambda: len(handled) == 2)
    assert handled == [("slow", 1), ("waits", 1)]


def test_what_is_on_the_shelf_goes_back_when_a_crew_is_finished(fetching: Fetching) -> None:
    inside, release = threading.Event(), threading.Event()

    def run(delivery: Delivery) -> Settlement:
        inside.set()
        release.wait(10)
        return Done(succeeded=True, kind="ended")

    fetching.wait_in_frontier("slow", host="a.example.com")
    crew = fetching.start(run)
    assert inside.wait(5)
    fetching.wait_in_frontier("waits", host="b.example.com")
    eventually(lambda: fetching.frontier.size() == 0)
    threading.Timer(0.3, release.set).start()  # once the crew has been told to claim no more
    crew.finish(5)
    assert fetching.frontier.size() == 1


def test_a_redirect_to_a_host_that_is_not_due_does_not_hold_up_the_first_host(fetching: Fetching) -> None:
    seen: list[str] = []

    def run(delivery: Delivery) -> Settlement:
        seen.append(delivery.message.headers.root_id)
        if seen[-1] == "redirected":
            return Deferred("busy.example.com", fetching.world.clock.now_ms() + 60_000)
        return Done(succeeded=True, kind="ended")

    fetching.wait_in_frontier("redirected", "next")
    fetching.start(run)
    eventually(lambda: "next" in seen)
    assert fetching.frontier.waiting("busy.example.com")
    assert not fetching.frontier.waiting(HOST)
    assert seen == ["redirected", "next"]


def test_acks_that_came_too_late_show_in_the_figures() -> None:
    world = World(SystemClock())
    queue = world.queue()
    queue.push([queue_entry(message("a"))])

    def run(delivery: Delivery) -> Settlement:
        assert isinstance(delivery.receipt, Lease)
        queue.ack([delivery.receipt])  # as if another worker had finished it meanwhile
        return Done(succeeded=True, kind="ended")

    source = QueueSource(
        Stage.PARSER, queue, world.producer, world.clock, alone=world.alone_counts(), pop_timeout_ms=20
    )
    crew = SuppliedCrew(Crew(Doing(run), [Pool(source, 1)], world.clock), [source], [], None)
    crew.start()
    eventually(lambda: crew.counts().get("acks_refused") == 1)
    assert crew.finish(2)["acks_refused"] == 1


def test_jobs_that_were_read_together_line_up_together_in_their_order(fetching: Fetching) -> None:
    seen: list[str] = []
    lined_up: list[int] = []
    line_up = fetching.frontier.line_up

    def counted(host: str, entries: Sequence[QueueEntry]) -> None:
        lined_up.append(len(entries))
        line_up(host, entries)

    def run(delivery: Delivery) -> Settlement:
        seen.append(delivery.message.headers.root_id)
        return Deferred(HOST, fetching.world.clock.now_ms() + 60_000)

    fetching.frontier.line_up = counted  # type: ignore[method-assign]
    names = [f"{number:02}" for number in range(30)]
    fetching.publish(*names)
    fetching.start(run)
    eventually(lambda: fetching.committed() == 30)
    assert seen == ["00"]
    assert lined_up == [29]
    assert fetching.frontier.size() == 30


def test_jobs_that_could_not_line_up_are_not_forgotten(fetching: Fetching) -> None:
    line_up, outages = fetching.frontier.line_up, iter([True])

    def flaky(host: str, entries: Sequence[QueueEntry]) -> None:
        if next(outages, False):
            raise Unavailable("Redis is out")
        line_up(host, entries)

    fetching.frontier.line_up = flaky  # type: ignore[method-assign]
    fetching.publish("a", "b", "c")
    fetching.start(wait_until_later(fetching))
    eventually(lambda: fetching.committed() == 3)
    assert fetching.frontier.size() == 3
