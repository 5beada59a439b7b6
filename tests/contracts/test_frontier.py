"""The contract of `Frontier`."""

import itertools
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from issuetracker_dagster.adapters.memory.frontier import MemoryFrontier
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.frontier import RedisFrontier
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.errors import QueueFull, Unavailable
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Claim, Lease, PushResult, QueueDepth, QueueEntry, QueueLimits
from issuetracker_dagster.ports.hosts import Frontier
from tests.contracts.redis_worlds import CLUSTER, WORLDS, World, full, open_world
from tests.waiting import eventually

HOST, OTHER = "news.example.com:8080", "[2001:db8::1]:8443"
LEASE_MS = 60_000
SERVERS = (*WORLDS[1:], CLUSTER)

Opener = Callable[[QueueLimits], Frontier]


@pytest.fixture(params=[*WORLDS, CLUSTER])
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def opened(world: World) -> Opener:
    """The frontier of this world under given limits."""
    client = world.client
    if client is None:
        return lambda limits: MemoryFrontier(limits, world.clock)
    return lambda limits: RedisFrontier(client, limits)


@pytest.fixture
def frontier(opened: Opener) -> Frontier:
    return opened(QueueLimits())


def job(name: str, priority: Priority = Priority.NORMAL) -> QueueEntry:
    return QueueEntry(f"{name}:0", priority, 1_750_000_000_000, name.encode())


def taken(frontier: Frontier, claim_id: str, limit: int = 10, lease_ms: int = LEASE_MS) -> dict[str, Lease]:
    found = frontier.take(claim_id, limit, lease_ms)
    assert len({host for host, _ in found}) == len(found)
    return dict(found)


def names(leases: dict[str, Lease]) -> dict[str, str]:
    return {host: lease.envelope.decode() for host, lease in leases.items()}


def test_a_job_waits_until_its_host_is_due(frontier: Frontier, world: World) -> None:
    frontier.defer(HOST, job("a"), world.now_ms() + 60)
    assert taken(frontier, "c1") == {}
    assert frontier.waiting(HOST)
    assert not frontier.waiting(OTHER)
    world.passes(70)
    lease = taken(frontier, "c2")[HOST]
    assert (lease.member, lease.envelope, lease.deliveries) == ("a:0", b"a", 1)
    assert not frontier.waiting(HOST)


def test_high_overtakes_low_inside_a_host_and_first_in_is_first_out_inside_a_band(
    frontier: Frontier, world: World
) -> None:
    now_ms = world.now_ms()
    for name, priority in (("l1", 3), ("n1", 2), ("n2", 2), ("h1", 1), ("l2", 3), ("h2", 1)):
        frontier.defer(HOST, job(name, Priority(priority)), now_ms)
    order = []
    for number in range(6):
        lease = taken(frontier, f"c{number}")[HOST]
        order.append(lease.envelope.decode())
        frontier.give_back(HOST, lease, world.now_ms())
        again = taken(frontier, f"again{number}")[HOST]
        assert again.envelope == lease.envelope
        frontier.ack(HOST, again)
        world.passes(120)
    assert order == ["h1", "h2", "n1", "n2", "l1", "l2"]


def test_each_due_host_gives_its_best_job_up_to_the_limit_the_longest_due_first(
    frontier: Frontier, world: World
) -> None:
    now_ms = world.now_ms()
    frontier.defer(HOST, job("a"), now_ms - 10)
    frontier.defer(HOST, job("b"), now_ms - 10)
    frontier.defer(OTHER, job("c", Priority.LOW), now_ms - 20)
    frontier.defer("later.example.com", job("d"), now_ms + 60_000)
    assert names(taken(frontier, "c1", 1)) == {OTHER: "c"}
    assert names(taken(frontier, "c2")) == {HOST: "a"}


def test_a_host_with_more_jobs_is_handed_out_again_shortly_to_one_taker_at_a_time(
    frontier: Frontier, world: World
) -> None:
    for name in "abc":
        frontier.defer(HOST, job(name), world.now_ms())
    assert names(taken(frontier, "c1")) == {HOST: "a"}
    assert taken(frontier, "c2") == {}
    world.passes(120)
    assert names(taken(frontier, "c3")) == {HOST: "b"}


def test_a_job_given_back_keeps_its_place_and_its_host_its_new_time(frontier: Frontier, world: World) -> None:
    for name in "ab":
        frontier.defer(HOST, job(name), world.now_ms())
    lease = taken(frontier, "c1")[HOST]
    frontier.give_back(HOST, lease, world.now_ms() + 200)
    world.passes(120)
    assert taken(frontier, "c2") == {}
    world.passes(120)
    again = taken(frontier, "c3")[HOST]
    assert (again.envelope, again.deliveries) == (b"a", 1)


def test_a_host_is_looked_at_at_the_earlier_of_two_times(frontier: Frontier, world: World) -> None:
    frontier.defer(HOST, job("a"), world.now_ms() + 60_000)
    frontier.defer(HOST, job("b", Priority.HIGH), world.now_ms())
    assert names(taken(frontier, "c1")) == {HOST: "b"}


def test_a_job_deferred_while_the_only_other_is_in_hand_is_not_put_off_to_the_end_of_its_lease(
    frontier: Frontier, world: World
) -> None:
    frontier.defer(HOST, job("a"), world.now_ms())
    lease = taken(frontier, "c1")[HOST]
    frontier.defer(HOST, job("b"), world.now_ms())
    assert names(taken(frontier, "c2")) == {HOST: "b"}
    frontier.ack(HOST, lease)


def test_a_job_deferred_again_is_still_one_job(frontier: Frontier, world: World) -> None:
    for _ in range(2):
        frontier.defer(HOST, job("a"), world.now_ms())
    assert frontier.size() == 1
    assert names(taken(frontier, "c1")) == {HOST: "a"}
    frontier.defer(HOST, job("a"), world.now_ms())
    assert taken(frontier, "c2") == {}


def test_the_size_counts_waiting_jobs_over_all_hosts(frontier: Frontier, world: World) -> None:
    assert frontier.size() == 0
    for name in "abc":
        frontier.defer(HOST, job(name), world.now_ms())
    frontier.defer(OTHER, job("d"), world.now_ms() + 60_000)
    assert frontier.size() == 4
    lease = taken(frontier, "c1")[HOST]
    assert frontier.size() == 3
    frontier.give_back(HOST, lease, world.now_ms())
    assert frontier.size() == 4
    frontier.ack(HOST, taken(frontier, "c2")[HOST])
    assert frontier.size() == 3


def test_jobs_of_a_dead_worker_come_back_by_reap(frontier: Frontier, world: World) -> None:
    frontier.defer(HOST, job("a"), world.now_ms())
    taken(frontier, "dead", lease_ms=50)
    assert frontier.reap() == 0
    world.passes(60)
    assert frontier.reap() == 1
    assert frontier.size() == 1
    again = taken(frontier, "alive")[HOST]
    assert (again.envelope, again.deliveries) == (b"a", 2)


def test_jobs_of_a_dead_worker_come_back_to_the_next_taker_without_reap(frontier: Frontier, world: World) -> None:
    frontier.defer(HOST, job("a"), world.now_ms())
    taken(frontier, "dead", lease_ms=50)
    world.passes(60)
    assert names(taken(frontier, "alive")) == {HOST: "a"}


def test_an_extended_lease_keeps_the_job_and_its_host_is_not_forgotten(frontier: Frontier, world: World) -> None:
    frontier.defer(HOST, job("a"), world.now_ms())
    lease = taken(frontier, "slow", lease_ms=50)[HOST]
    assert frontier.extend(HOST, lease, 150)
    world.passes(60)
    assert taken(frontier, "c2", lease_ms=50) == {}
    world.passes(110)
    assert names(taken(frontier, "c3")) == {HOST: "a"}
    assert not frontier.extend(HOST, lease, LEASE_MS)


def test_a_stale_worker_neither_acks_nor_returns_what_another_one_holds(frontier: Frontier, world: World) -> None:
    frontier.defer(HOST, job("a"), world.now_ms())
    stale = taken(frontier, "stale", lease_ms=30)[HOST]
    world.passes(40)
    owned = taken(frontier, "owner")[HOST]
    frontier.ack(HOST, stale)
    frontier.give_back(HOST, stale, world.now_ms())
    assert not frontier.waiting(HOST)
    assert frontier.extend(HOST, owned, LEASE_MS)


def test_jobs_that_grew_too_old_are_offered_to_the_dlq_with_their_host(opened: Opener, world: World) -> None:
    frontier = opened(QueueLimits(entry_ttl_ms=30))
    frontier.defer(HOST, job("a"), world.now_ms())
    world.passes(60)
    assert taken(frontier, "c1", lease_ms=20) == {}
    (found,) = frontier.outbox()
    assert (found[0], found[1].member, found[1].reason, found[1].envelope) == (HOST, "a:0", "expired", b"a")
    assert frontier.outbox() == (found,)
    assert frontier.outbox_remove([found]) == 1
    assert frontier.outbox_remove([found]) == 0
    assert frontier.outbox() == ()
    assert frontier.size() == 0


def test_a_full_host_sends_the_oldest_of_its_lowest_band_to_the_dlq(opened: Opener, world: World) -> None:
    frontier = opened(QueueLimits(max_size=2))
    for name, priority in (("l1", Priority.LOW), ("l2", Priority.LOW), ("h", Priority.HIGH)):
        frontier.defer(HOST, job(name, priority), world.now_ms())
    assert [(host, one.envelope, one.reason) for host, one in frontier.outbox()] == [(HOST, b"l1", "overflow")]
    assert frontier.size() == 2


def test_a_full_host_refuses_under_backpressure_and_says_so(opened: Opener, world: World) -> None:
    frontier = opened(QueueLimits(max_size=1, backpressure=True))
    frontier.defer(HOST, job("a"), world.now_ms())
    with pytest.raises(QueueFull):
        frontier.defer(HOST, job("b"), world.now_ms())
    frontier.defer(OTHER, job("c"), world.now_ms())
    assert names(taken(frontier, "c1")) == {HOST: "a", OTHER: "c"}


def test_hosts_with_odd_names_keep_their_jobs_apart(frontier: Frontier, world: World) -> None:
    hosts = ("due", "due:0", "a{b}.example.com", "[::1]", "한국.example")
    for host in hosts:
        frontier.defer(host, job(host), world.now_ms())
    assert names(taken(frontier, "c1")) == {host: host for host in hosts}


def test_every_deferred_job_is_taken_exactly_once_by_many_takers_and_an_empty_frontier_stays_usable(
    frontier: Frontier, world: World
) -> None:
    count, seen, errors = 60, [], []
    lock = threading.Lock()

    def defer_all() -> None:
        for number in range(count):
            frontier.defer(f"h{number % 3}.example.com", job(str(number)), 0)

    def take_all(worker: int) -> None:
        try:
            deadline = time.monotonic() + 10
            for turn in itertools.count():
                assert time.monotonic() < deadline, "a job was put off for long, or lost"
                for host, lease in frontier.take(f"{worker}:{turn}", 3, LEASE_MS):
                    frontier.ack(host, lease)
                    with lock:
                        seen.append(lease.member)
                if world.client is None:
                    world.clock.advance(20)
                with lock:
                    if len(seen) >= count:
                        return
        except Exception as error:  # noqa: BLE001 - handed to the test's own thread
            errors.append(error)

    threads = [threading.Thread(target=defer_all), *(threading.Thread(target=take_all, args=[n]) for n in range(3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(seen) == sorted(f"{number}:0" for number in range(count))
    assert frontier.size() == 0


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_a_worker_that_dies_between_storing_a_job_and_noting_its_host_loses_nothing(
    world: World, frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = PriorityZSetQueue.push

    def push_and_die(queue: PriorityZSetQueue, entries: Sequence[QueueEntry]) -> PushResult:
        push(queue, entries)
        raise Unavailable("killed")

    with monkeypatch.context() as patched:
        patched.setattr(PriorityZSetQueue, "push", push_and_die)
        with pytest.raises(Unavailable):
            frontier.defer(HOST, job("a"), world.now_ms())
    assert names(taken(frontier, "c1")) == {HOST: "a"}


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_a_host_found_empty_is_forgotten_and_leaves_no_number_behind(world: World, frontier: Frontier) -> None:
    assert world.client is not None
    frontier.defer(HOST, job("a"), world.now_ms())
    frontier.ack(HOST, taken(frontier, "c1", lease_ms=20)[HOST])
    world.passes(30)
    assert taken(frontier, "c2") == {}
    for key in ("frontier:due", "{frontier:due}:seen", "{frontier:due}:sizes"):
        assert command(world.client, "EXISTS", key) == 0


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_a_forgotten_host_leaves_no_key_behind(world: World, frontier: Frontier) -> None:
    client = world.client
    assert client is not None
    frontier.defer(HOST, job("a"), 0)
    frontier.settle_writes()
    frontier.ack(HOST, taken(frontier, "c1", lease_ms=0)[HOST])
    eventually(lambda: not taken(frontier, "c2") and not command(client, "ZCARD", "frontier:due"))
    left = [
        part
        for part in ("clock", "fence", "entries", "leased", "wake", "times")
        if command(client, "EXISTS", f"{{frontier:{HOST}}}:{part}")
    ]
    assert left == []
    frontier.defer(HOST, job("b"), 0)
    assert names(taken(frontier, "c3")) == {HOST: "b"}


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_a_host_found_empty_while_a_job_comes_in_is_not_forgotten(
    world: World, frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier.defer(HOST, job("a"), world.now_ms())
    frontier.ack(HOST, taken(frontier, "c1", lease_ms=20)[HOST])
    world.passes(30)
    depth = PriorityZSetQueue.depth

    def a_job_comes_in_after(queue: PriorityZSetQueue) -> QueueDepth:
        found = depth(queue)
        monkeypatch.undo()
        frontier.defer(HOST, job("b"), world.now_ms() + 1_000_000)
        frontier.defer(HOST, job("c"), world.now_ms() + 30)
        return found

    monkeypatch.setattr(PriorityZSetQueue, "depth", a_job_comes_in_after)
    assert taken(frontier, "c2") == {}
    world.passes(40)
    assert names(taken(frontier, "c3")) == {HOST: "b"}


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_a_full_server_can_still_be_drained(world: World, frontier: Frontier) -> None:
    client = world.client
    assert client is not None
    frontier.defer(HOST, job("a"), world.now_ms())
    with full(client):
        with pytest.raises(Unavailable, match="full"):
            frontier.defer(HOST, job("b"), world.now_ms())
        frontier.ack(HOST, taken(frontier, "c1")[HOST])
    assert frontier.size() == 0


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_jobs_leased_before_redis_failed_in_mid_take_are_handed_out(
    world: World, frontier: Frontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    for host in (HOST, OTHER):
        frontier.defer(host, job(host), world.now_ms())
    claim = PriorityZSetQueue.claim

    def claim_once(queue: PriorityZSetQueue, claim_id: str, limit: int, lease_ms: int) -> Claim:
        found = claim(queue, claim_id, limit, lease_ms)
        monkeypatch.setattr(PriorityZSetQueue, "claim", refuse)
        return found

    def refuse(*_: object) -> Claim:
        raise Unavailable("gone")

    monkeypatch.setattr(PriorityZSetQueue, "claim", claim_once)
    assert len(taken(frontier, "c1")) == 1
    world.passes(1)
    frontier.defer("third.example.com", job("c"), world.now_ms())
    with pytest.raises(Unavailable):
        frontier.take("c2", 1, LEASE_MS)


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_writes_are_confirmed_where_the_server_can_tell(world: World, frontier: Frontier) -> None:
    for host in (HOST, OTHER, "a.example.com"):
        frontier.defer(host, job(host), world.now_ms())
    frontier.settle_writes()
    frontier.settle_writes()
