"""The contract of `Counters`."""

import threading

import pytest

from issuetracker_dagster.adapters.memory.counters import MemoryCounters
from issuetracker_dagster.adapters.redis.counters import RedisCounters
from issuetracker_dagster.ports.locks import Counters
from tests.contracts.redis_worlds import WORLDS, World, open_world


@pytest.fixture(params=WORLDS)
def counters(request: pytest.FixtureRequest) -> Counters:
    world: World = open_world(request)
    return MemoryCounters() if world.client is None else RedisCounters(world.client)


def test_amounts_add_up_and_unknown_counters_start_at_zero(counters: Counters) -> None:
    assert counters.read() == {}
    counters.add({"parser.forwarded": 3, "parser.dead_lettered": 0, "속보": 1})
    counters.add({"parser.forwarded": 2, "fetch.failed": 10**15})
    assert counters.read() == {
        "parser.forwarded": 5, "parser.dead_lettered": 0, "속보": 1, "fetch.failed": 10**15
    }  # fmt: skip


def test_adding_nothing_is_harmless(counters: Counters) -> None:
    counters.add({})
    assert counters.read() == {}


def test_no_amount_is_lost_between_threads(counters: Counters) -> None:
    def add_fifty_times() -> None:
        for _ in range(50):
            counters.add({"a": 1, "b": 2})

    threads = [threading.Thread(target=add_fifty_times) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters.read() == {"a": 200, "b": 400}
