"""The contract of `HostGate`."""

import threading

import msgspec
import pytest

from issuetracker_dagster.adapters.memory.hosts import MemoryHostGate
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.hosts import RedisHostGate
from issuetracker_dagster.errors import NotDue
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.ports.hosts import HostGate
from tests.contracts.redis_worlds import WORLDS, World, open_world
from tests.waiting import eventually

HOST = "news.example.com:8080"
OPEN_MS = 120
UNLIMITED = FetcherRule(host_pattern="*", requests_per_hour=0, concurrency=100)
HOURLY = FetcherRule(host_pattern="*", requests_per_hour=1, burst=3, concurrency=100)
ONE_AT_A_TIME = FetcherRule(host_pattern="*", requests_per_hour=0, concurrency=1)


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def gate(world: World) -> HostGate:
    if world.client is None:
        return MemoryHostGate(world.clock, open_ms=OPEN_MS)
    return RedisHostGate(world.client, open_ms=OPEN_MS)


def refusal(gate: HostGate, rule: FetcherRule = UNLIMITED, permit: str = "late", host: str = HOST) -> NotDue:
    with pytest.raises(NotDue) as caught:
        gate.enter(host, rule, permit)
    assert caught.value.host == host
    return caught.value


def fail(gate: HostGate, times: int) -> list[bool]:
    return [gate.failed(HOST) for _ in range(times)]


def test_a_burst_may_enter_at_once_and_the_next_one_is_told_when(gate: HostGate, world: World) -> None:
    before = world.now_ms()
    for number in range(3):
        gate.enter(HOST, HOURLY, f"p{number}")
    after = world.now_ms()
    refused = refusal(gate, HOURLY)
    assert refused.reason == "rate"
    assert before + 3_600_000 <= refused.due_ms <= after + 3_600_001


def test_giving_a_permit_back_does_not_give_the_rate_back(gate: HostGate) -> None:
    for number in range(3):
        gate.enter(HOST, HOURLY, f"p{number}")
        gate.leave(HOST, f"p{number}")
    assert refusal(gate, HOURLY).reason == "rate"


def test_the_host_may_be_asked_again_at_the_time_that_was_told(gate: HostGate, world: World) -> None:
    quick = FetcherRule(host_pattern="*", requests_per_hour=36_000, burst=1, concurrency=100)
    gate.enter(HOST, quick, "p0")
    wait_ms = refusal(gate, quick).due_ms - world.now_ms()
    assert wait_ms <= 101
    world.passes(max(wait_ms, 0))
    gate.enter(HOST, quick, "p1")
    assert refusal(gate, quick).reason == "rate"


def test_a_refusal_takes_nothing(gate: HostGate) -> None:
    busy = msgspec.structs.replace(HOURLY, concurrency=1)
    gate.enter(HOST, busy, "p0")
    for _ in range(10):
        assert refusal(gate, busy).reason == "concurrency"
    gate.leave(HOST, "p0")
    gate.enter(HOST, busy, "p1")
    gate.leave(HOST, "p1")
    gate.enter(HOST, busy, "p2")


def test_a_rule_made_faster_acts_at_once(gate: HostGate, world: World) -> None:
    slow = msgspec.structs.replace(HOURLY, burst=1)
    gate.enter(HOST, slow, "p0")
    refusal(gate, slow)
    quick = msgspec.structs.replace(slow, requests_per_hour=36_000)
    assert refusal(gate, quick).due_ms - world.now_ms() <= 101


def test_no_more_than_the_concurrency_is_inside(gate: HostGate, world: World) -> None:
    gate.enter(HOST, ONE_AT_A_TIME, "p0")
    refused = refusal(gate, ONE_AT_A_TIME)
    assert refused.reason == "concurrency"
    assert refused.due_ms > world.now_ms()
    gate.leave(HOST, "p0")
    gate.enter(HOST, ONE_AT_A_TIME, "p1")


def test_a_permit_asked_for_again_after_a_lost_reply_is_the_same_one(gate: HostGate) -> None:
    once = FetcherRule(host_pattern="*", requests_per_hour=1, burst=1, concurrency=1)
    gate.enter(HOST, once, "p0")
    gate.enter(HOST, once, "p0")
    gate.leave(HOST, "p0")
    assert refusal(gate, once).reason == "rate"


def test_a_further_request_is_paid_for_by_who_comes_next(gate: HostGate, world: World) -> None:
    once = msgspec.structs.replace(HOURLY, requests_per_hour=36_000, burst=1)
    gate.enter(HOST, once, "p0")
    gate.charge(HOST, once)
    gate.leave(HOST, "p0")
    world.passes(110)
    assert refusal(gate, once).reason == "rate"
    world.passes(110)
    gate.enter(HOST, once, "p1")


def test_further_requests_count_towards_a_burst(gate: HostGate) -> None:
    gate.enter(HOST, HOURLY, "p0")
    gate.charge(HOST, HOURLY)
    gate.enter(HOST, HOURLY, "p1")
    assert refusal(gate, HOURLY).reason == "rate"


def test_without_a_limit_a_further_request_costs_nothing(gate: HostGate) -> None:
    gate.enter(HOST, UNLIMITED, "p0")
    gate.charge(HOST, UNLIMITED)
    gate.enter(HOST, UNLIMITED, "p1")


def test_a_permit_given_back_twice_frees_one_place(gate: HostGate) -> None:
    gate.enter(HOST, ONE_AT_A_TIME, "p0")
    gate.leave(HOST, "p0")
    gate.enter(HOST, ONE_AT_A_TIME, "p1")
    gate.leave(HOST, "p0")
    assert refusal(gate, ONE_AT_A_TIME).reason == "concurrency"


def test_the_permit_of_a_dead_worker_lapses(gate: HostGate, world: World) -> None:
    # A time-out of -29,960 ms leaves 40 ms of the grace, so that a real server needn't be waited for.
    brief = msgspec.structs.replace(ONE_AT_A_TIME, timeout_ms=-29_960)
    gate.enter(HOST, brief, "dead")
    world.passes(50)
    gate.enter(HOST, brief, "alive")


def test_hosts_and_their_ports_are_apart(gate: HostGate) -> None:
    for host in (HOST, "news.example.com", "[::1]:8080", "a{b}.example.com"):
        gate.enter(host, ONE_AT_A_TIME, "p0")
        assert refusal(gate, ONE_AT_A_TIME, host=host).reason == "concurrency"


def test_a_blocked_host_is_closed_until_the_time_and_the_longer_block_counts(gate: HostGate, world: World) -> None:
    until_ms = world.now_ms() + 60_000
    gate.block(HOST, until_ms)
    gate.block(HOST, until_ms - 30_000)
    refused = refusal(gate)
    assert (refused.reason, refused.due_ms) == ("blocked", until_ms)
    gate.enter("other.example.com", UNLIMITED, "p0")


def test_a_block_ends_by_itself(gate: HostGate, world: World) -> None:
    gate.block(HOST, world.now_ms() + 50)
    refusal(gate)
    world.passes(60)
    gate.enter(HOST, UNLIMITED, "p0")


def test_the_fifth_failure_in_a_row_opens_the_breaker_and_jobs_are_told_to_wait(gate: HostGate, world: World) -> None:
    before = world.now_ms()
    assert fail(gate, 5) == [False, False, False, False, True]
    refused = refusal(gate)
    assert refused.reason == "breaker"
    assert before + OPEN_MS <= refused.due_ms <= world.now_ms() + OPEN_MS


def test_a_success_between_failures_keeps_the_breaker_closed(gate: HostGate) -> None:
    fail(gate, 4)
    gate.succeeded(HOST)
    assert fail(gate, 4) == [False] * 4
    gate.enter(HOST, UNLIMITED, "p0")


def test_failures_of_requests_under_way_while_the_breaker_is_open_change_nothing(gate: HostGate) -> None:
    fail(gate, 5)
    due_ms = refusal(gate).due_ms
    assert fail(gate, 5) == [False] * 5
    assert refusal(gate).due_ms == due_ms


def test_after_the_breaker_one_probe_enters_alone(gate: HostGate, world: World) -> None:
    fail(gate, 5)
    world.passes(OPEN_MS + 10)
    gate.enter(HOST, UNLIMITED, "probe")
    assert refusal(gate).reason == "probe"
    gate.succeeded(HOST)
    gate.enter(HOST, UNLIMITED, "next")
    assert fail(gate, 4) == [False] * 4


def test_a_failed_probe_opens_the_breaker_again(gate: HostGate, world: World) -> None:
    fail(gate, 5)
    world.passes(OPEN_MS + 10)
    gate.enter(HOST, UNLIMITED, "probe")
    assert gate.failed(HOST)
    gate.leave(HOST, "probe")
    assert refusal(gate).reason == "breaker"
    world.passes(OPEN_MS + 10)
    gate.enter(HOST, UNLIMITED, "another probe")


def test_a_probe_that_ends_without_a_verdict_lets_another_one_try(gate: HostGate, world: World) -> None:
    fail(gate, 5)
    world.passes(OPEN_MS + 10)
    gate.enter(HOST, UNLIMITED, "probe")
    gate.leave(HOST, "probe")
    gate.enter(HOST, UNLIMITED, "another probe")


def test_threads_never_get_more_than_the_burst(gate: HostGate) -> None:
    entered: list[str] = []

    def try_all(worker: int) -> None:
        for number in range(10):
            permit = f"{worker}:{number}"
            try:
                gate.enter(HOST, HOURLY, permit)
            except NotDue:
                continue
            entered.append(permit)

    threads = [threading.Thread(target=try_all, args=[worker]) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entered) == 3


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_the_keys_of_a_host_expire_and_lie_in_one_slot(world: World, gate: HostGate) -> None:
    assert world.client is not None
    gate.enter(HOST, HOURLY, "p0")
    gate.failed(HOST)
    gate.block(HOST, world.now_ms() + 86_400_000)
    keys = command(world.client, "KEYS", "*")
    assert sorted(keys) == [f"host:{{{HOST}}}:gate".encode(), f"host:{{{HOST}}}:permits".encode()]
    assert command(world.client, "PTTL", f"host:{{{HOST}}}:gate") > 86_400_000
    assert 0 < command(world.client, "PTTL", f"host:{{{HOST}}}:permits") <= 61_000


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_an_idle_host_is_forgotten(world: World, gate: HostGate) -> None:
    client = world.client
    assert client is not None
    gate.enter(HOST, UNLIMITED, "p0")
    gate.leave(HOST, "p0")
    gate.failed(HOST)
    command(client, "PEXPIRE", f"host:{{{HOST}}}:gate", "20")
    eventually(lambda: command(client, "KEYS", "host:*") == [])
    assert fail(gate, 4) == [False] * 4
