"""The contract of `StageQueue.wait`: it sleeps while nothing can be claimed, and not longer."""

import threading
import time

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.model.queue import QueueLimits
from issuetracker_dagster.ports.queue import StageQueue
from tests.contracts.queue_worlds import ALL_WORLDS, LONG_MS, QueueWorld, entry, members, open_queue_world
from tests.waiting import eventually

DUE_MS = 150


@pytest.fixture(params=ALL_WORLDS)
def at(request: pytest.FixtureRequest) -> QueueWorld:
    return open_queue_world(request)


@pytest.fixture
def queue(at: QueueWorld) -> StageQueue:
    """In memory on the real clock: these tests are about time."""
    if at.world.client is None:
        return MemoryStageQueue(at.key, QueueLimits(), SystemClock())
    return PriorityZSetQueue(at.world.client, at.key, QueueLimits())


def timed_wait(queue: StageQueue, timeout_ms: int) -> tuple[bool, float]:
    start = time.monotonic()
    found = queue.wait(timeout_ms)
    return found, (time.monotonic() - start) * 1000


def test_wait_returns_at_once_while_something_is_ready(queue: StageQueue) -> None:
    queue.push([entry("a")])
    for _ in range(2):
        found, took_ms = timed_wait(queue, 5000)
        assert found
        assert took_ms < 4500


def test_wait_gives_up_at_its_timeout(queue: StageQueue) -> None:
    found, took_ms = timed_wait(queue, 120)
    assert not found
    assert took_ms >= 115


def test_wait_isnt_fooled_by_a_push_that_others_have_taken(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    at.claim(queue)
    assert not queue.wait(100)


def test_a_push_wakes_a_sleeper(queue: StageQueue) -> None:
    woken: list[tuple[bool, float]] = []
    sleeper = threading.Thread(target=lambda: woken.append(timed_wait(queue, 8000)))
    sleeper.start()
    queue.push([entry("a")])
    sleeper.join(timeout=10)
    assert woken[0][0]
    assert woken[0][1] < 7000


def test_a_lease_that_expires_wakes_a_sleeper(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    at.claim(queue, lease_ms=DUE_MS)
    found, took_ms = timed_wait(queue, 8000)
    assert found
    assert took_ms < 7000
    assert members(at.claim(queue)) == ["a"]


def test_a_delay_given_while_others_sleep_wakes_one_when_it_falls_due(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    (a,) = at.claim(queue, lease_ms=LONG_MS)
    woken: list[tuple[bool, float]] = []
    sleeper = threading.Thread(target=lambda: woken.append(timed_wait(queue, 8000)))
    sleeper.start()
    assert queue.nack(a, DUE_MS)
    sleeper.join(timeout=10)
    assert woken[0][0]
    assert woken[0][1] < 7000
    assert members(at.claim(queue)) == ["a"]


def test_a_release_wakes_a_sleeper(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    leases = at.claim(queue, lease_ms=LONG_MS)
    woken: list[bool] = []
    sleeper = threading.Thread(target=lambda: woken.append(queue.wait(8000)))
    sleeper.start()
    queue.release(leases)
    sleeper.join(timeout=10)
    assert woken == [True]


def test_one_push_wakes_all_the_workers_that_it_has_work_for(at: QueueWorld, queue: StageQueue) -> None:
    found: list[str] = []
    started = time.monotonic()

    def work(number: int) -> None:
        if queue.wait(30_000):
            found.extend(members(queue.claim(f"worker-{number}", 1, LONG_MS)))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    queue.push([entry(f"m{number}") for number in range(8)])
    for worker in workers:
        worker.join(timeout=40)
    assert len(set(found)) == 4
    assert time.monotonic() - started < 25


def test_every_entry_of_a_trickle_is_found_by_waiting_alone(at: QueueWorld, queue: StageQueue) -> None:
    found: list[str] = []

    def work() -> None:
        for _ in range(100):
            if queue.wait(3000):
                leases = at.claim(queue, limit=1)
                queue.ack(leases)
                found.extend(members(leases))
            if len(found) == 20:
                return

    worker = threading.Thread(target=work)
    worker.start()
    for number in range(20):
        queue.push([entry(f"m{number}")])
    eventually(lambda: len(found) == 20, timeout_s=15)
    worker.join(timeout=10)
    assert found == [f"m{number}" for number in range(20)]
