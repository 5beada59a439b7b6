"""The contract of `MetricStore`."""

import threading
from collections.abc import Callable

import pytest

from issuetracker_dagster.adapters.memory.metrics import MemoryMetricStore
from issuetracker_dagster.adapters.redis.metrics import RedisMetricStore
from issuetracker_dagster.model.readings import Batch, Cell
from issuetracker_dagster.ports.metrics import MetricStore
from tests.contracts.redis_worlds import CLUSTER, WORLDS, World, full, open_world

CLAIMS = Cell("issuetracker_claims_total", ("parser", "high"))
ACKS = Cell("issuetracker_acks_total", ("parser",))
DROPPED = Cell("issuetracker_trace_lines_dropped_total")
BUCKET = Cell("issuetracker_handler_seconds", ("fetch",), "0.25")


@pytest.fixture(params=[*WORLDS, CLUSTER])
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


def store_of(world: World, *, max_series: int = 1_000, open_lasts_ms: int = 60_000) -> MetricStore:
    if world.client is None:
        return MemoryMetricStore(world.clock, max_series=max_series, open_lasts_ms=open_lasts_ms)
    return RedisMetricStore(world.client, max_series=max_series, open_lasts_ms=open_lasts_ms)


def fetched(host: str, amount: int = 1) -> dict[Cell, int]:
    return {Cell("issuetracker_fetches_total", (host, "fetched")): amount}


def test_amounts_of_all_writers_add_up_whatever_labels_they_have(world: World) -> None:
    store = store_of(world)
    assert store.read().cells == {}
    store.add(Batch("a", 1, {CLAIMS: 3, ACKS: 1, DROPPED: 7, BUCKET: 2}))
    store.add(Batch("b", 1, {CLAIMS: 2, BUCKET: 10**15}))
    store.add(Batch("a", 2, {CLAIMS: 1}))
    assert store.read().cells == {CLAIMS: 6, ACKS: 1, DROPPED: 7, BUCKET: 10**15 + 2}


def test_a_batch_sent_again_after_a_lost_reply_counts_once(world: World) -> None:
    store = store_of(world)
    batch = Batch("a", 1, {CLAIMS: 3})
    store.add(batch)
    store.add(batch)
    store.add(Batch("a", 2, {CLAIMS: 1}))
    assert store.read().total("issuetracker_claims_total") == 4


def test_adding_nothing_is_harmless(world: World) -> None:
    store = store_of(world)
    store.add(Batch("a", 1, {}))
    assert store.read().cells == {}


def test_hosts_beyond_the_bound_are_counted_together_and_known_ones_go_on(world: World) -> None:
    store = store_of(world, max_series=2)
    for sequence, host in enumerate(("one", "two", "three", "four", "one"), start=1):
        store.add(Batch("a", sequence, fetched(host)))
    assert store.read().by("issuetracker_fetches_total", "host") == {"one": 2, "two": 1, "other": 2}
    assert store.read().by("issuetracker_fetches_total", "outcome") == {"fetched": 5}


def test_a_metric_with_an_open_label_starts_anew_and_others_dont(world: World) -> None:
    store = store_of(world, max_series=1, open_lasts_ms=300)
    store.add(Batch("a", 1, {**fetched("old"), CLAIMS: 1}))
    world.passes(350)
    store.add(Batch("a", 2, {**fetched("new"), CLAIMS: 1}))
    assert store.read().by("issuetracker_fetches_total", "host") == {"new": 1}
    assert store.read().total("issuetracker_claims_total") == 2


def test_no_amount_is_lost_between_threads(world: World) -> None:
    store = store_of(world)

    def add_thirty_times(writer: str) -> Callable[[], None]:
        def add() -> None:
            for sequence in range(1, 31):
                store.add(Batch(writer, sequence, {CLAIMS: 1, ACKS: 2}))

        return add

    threads = [threading.Thread(target=add_thirty_times(f"writer-{number}")) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.read().cells == {CLAIMS: 120, ACKS: 240}


@pytest.fixture(params=WORLDS[1:])
def server(request: pytest.FixtureRequest) -> World:
    return open_world(request)


def test_a_full_server_still_counts(server: World) -> None:
    store = store_of(server)
    assert server.client is not None
    store.add(Batch("a", 1, {CLAIMS: 1}))
    with full(server.client):
        store.add(Batch("a", 2, {CLAIMS: 1}))
        assert store.read().total("issuetracker_claims_total") == 2


def test_what_another_version_counted_with_other_labels_is_left_out(server: World) -> None:
    store = store_of(server)
    assert server.client is not None
    store.add(Batch("a", 1, {CLAIMS: 1, BUCKET: 2}))
    server.client.hincrby("metrics:{all}:issuetracker_claims_total", "parser\thigh\textra", 5)
    server.client.hincrby("metrics:{all}:issuetracker_handler_seconds", "fetch", 5)
    assert store.read().cells == {CLAIMS: 1, BUCKET: 2}


def test_label_values_from_outside_cant_forge_a_field(server: World) -> None:
    store = store_of(server)
    store.add(Batch("a", 1, {Cell("issuetracker_fetches_total", ("a\tb", "fetched")): 1, **fetched("\udc80")}))
    assert store.read().by("issuetracker_fetches_total", "host") == {"a b": 1, "?": 1}


def test_scripts_forgotten_by_the_server_are_sent_again(server: World) -> None:
    store = store_of(server)
    assert server.client is not None
    store.add(Batch("a", 1, {CLAIMS: 1}))
    server.client.script_flush()
    store.add(Batch("a", 2, {CLAIMS: 1}))
    server.client.script_flush()
    assert store.read().total("issuetracker_claims_total") == 2
