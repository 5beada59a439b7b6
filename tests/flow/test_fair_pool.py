"""No host takes all slots of a pool of fetch."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from issuetracker_dagster.adapters.clock import FakeClock, SystemClock
from issuetracker_dagster.adapters.memory.frontier import MemoryFrontier
from issuetracker_dagster.adapters.memory.readers import MemoryGroupReader
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.direct import TopicFeed
from issuetracker_dagster.flow.fair_pool import FairSource
from issuetracker_dagster.flow.frontier import FetchSource
from issuetracker_dagster.flow.frontier_feed import FrontierFeed
from issuetracker_dagster.flow.settle import Done, Settlement
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.supplied import SuppliedCrew
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.message import Outgoing, decode_envelope
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, QueueLimits, queue_entry
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage
from tests.flow.world import Doing, World, crawl_message
from tests.waiting import eventually

CRAWL = CRAWL_TOPICS[Priority.LOW]
LEASE_MS = 60_000


class Hosts:
    """A pool of fetch over a frontier; jobs of `slow` hang until `answer`, and `handled` counts all by host."""

    def __init__(self) -> None:
        self.world = World(SystemClock())
        self.frontier = MemoryFrontier(QueueLimits(), self.world.clock)
        self.answer = threading.Event()
        self.handled: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._crew: SuppliedCrew | None = None

    def start(self, slots: int) -> None:
        world, shelf = self.world, Shelf(self.world.clock, capacity=2 * slots)
        reader = MemoryGroupReader(world.broker, [CRAWL.value], FACTS[Stage.FETCH].group)
        feed = TopicFeed(Stage.FETCH, reader, {CRAWL.value: shelf}, world.producer, world.clock)
        frontier_feed = FrontierFeed(self.frontier, dict.fromkeys(Priority, shelf), world.producer, world.clock)
        inner = FetchSource(feed, self.frontier, shelf, world.start_counts(), world.clock)
        source = FairSource(inner, slots, world.clock)
        crew = Crew(Doing(self._run), [Pool(source, slots)], world.clock, max_batch=1)
        self._crew = SuppliedCrew(crew, [source], [frontier_feed, feed], None)
        self._crew.start()

    def publish(self, host: str, count: int) -> None:
        jobs = [crawl_message(f"https://{host}.example.com/{number}", f"{host}-{number}") for number in range(count)]
        self.world.producer.publish([Outgoing.of(CRAWL, job) for job in jobs])

    def close(self) -> None:
        self.answer.set()
        if self._crew:
            self._crew.finish(5)

    def _run(self, delivery: Delivery) -> Settlement:
        host = delivery.message.headers.root_id.partition("-")[0]
        with self._lock:
            self.handled[host] += 1
        if host == "slow":
            self.answer.wait(20)
        return Done(succeeded=True, kind="ended")


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    made = Hosts()
    yield made
    made.close()


@pytest.mark.parametrize("slots", [2, 6])
def test_other_hosts_get_through_while_one_is_slow(hosts: Hosts, slots: int) -> None:
    hosts.publish("slow", 20)
    hosts.start(slots)
    eventually(lambda: hosts.handled["slow"] == slots - 1)
    hosts.publish("quick", 30)
    eventually(lambda: hosts.handled["quick"] == 30)
    assert hosts.handled["slow"] == slots - 1


def test_the_jobs_of_the_slow_host_are_all_done_in_the_end(hosts: Hosts) -> None:
    hosts.publish("slow", 20)
    hosts.start(3)
    eventually(lambda: hosts.handled["slow"] == 2)
    hosts.answer.set()
    eventually(lambda: hosts.handled["slow"] == 20)
    assert hosts.frontier.size() == 0


def test_a_pool_of_one_slot_serves_every_host(hosts: Hosts) -> None:
    hosts.answer.set()
    hosts.publish("slow", 3)
    hosts.start(1)
    eventually(lambda: hosts.handled["slow"] == 3)


def test_a_lost_lease_takes_no_part_of_its_hosts_share() -> None:
    clock = FakeClock()
    world, frontier, shelf = World(clock), MemoryFrontier(QueueLimits(), clock), Shelf(clock, capacity=4)
    feed = TopicFeed(Stage.FETCH, MemoryGroupReader(world.broker, [], "g"), {}, world.producer, clock)
    inner = FetchSource(feed, frontier, shelf, world.start_counts(), clock, LEASE_MS)
    source = FairSource(inner, 2, clock)
    for number in range(2):
        message = crawl_message(f"https://slow.example.com/{number}", f"slow-{number}")
        frontier.defer("slow", queue_entry(message), clock.now_ms())

    def claimed() -> Sequence[Delivery]:
        for host, lease in frontier.take(f"claim-{clock.now_ms()}", 1, LEASE_MS):
            shelf.put([Delivery(decode_envelope(lease.envelope), lease, host)])
        return source.claim(1, [])

    first = claimed()
    assert len(first) == 1
    clock.advance(2 * LEASE_MS)
    assert frontier.reap() == 1
    assert list(source.extend(first)) == list(first)
    clock.advance(LEASE_MS)  # the host is looked at again
    assert len(claimed()) == 1


def test_a_job_that_cannot_be_put_off_is_not_forgotten(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    defer, failed = hosts.frontier.defer, threading.Event()

    def flaky(host: str, entry: QueueEntry, due_ms: int) -> None:
        if not failed.is_set():
            failed.set()
            raise Unavailable("Redis is out")
        defer(host, entry, due_ms)

    monkeypatch.setattr(hosts.frontier, "defer", flaky)
    monkeypatch.setattr("issuetracker_dagster.flow.frontier.KEPT_DELAY_MS", 50)
    hosts.publish("slow", 2)
    hosts.start(2)
    eventually(failed.is_set)
    hosts.answer.set()
    eventually(lambda: hosts.handled["slow"] == 2)
