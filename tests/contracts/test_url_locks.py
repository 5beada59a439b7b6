"""The contracts of `IngestionLock` and `ProcessingLock`."""

import pytest

from issuetracker_dagster.adapters.memory.urls import MemoryIngestionLock, MemoryProcessingLock
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.urls import RedisIngestionLock, RedisProcessingLock
from issuetracker_dagster.ports.locks import IngestionLock, ProcessingLock
from tests.contracts.redis_worlds import WORLDS, World, open_world

URL = "http://news.example.com/a?id=1"
PENDING_MS, DAY_MS = 40, 86_400_000


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def ingestion(world: World) -> IngestionLock:
    return MemoryIngestionLock(world.clock) if world.client is None else RedisIngestionLock(world.client)


@pytest.fixture
def impatient(world: World) -> IngestionLock:
    """Its pending markers last `PENDING_MS`."""
    if world.client is None:
        return MemoryIngestionLock(world.clock, pending_ms=PENDING_MS)
    return RedisIngestionLock(world.client, pending_ms=PENDING_MS)


@pytest.fixture
def processing(world: World) -> ProcessingLock:
    return MemoryProcessingLock(world.clock) if world.client is None else RedisProcessingLock(world.client)


def test_a_url_under_way_is_known_to_others_but_not_to_its_own_parent(ingestion: IngestionLock) -> None:
    assert ingestion.begin(URL, "root-1")
    assert ingestion.begin(URL, "root-1")
    assert not ingestion.begin(URL, "root-2")
    assert ingestion.begin("http://news.example.com/a?id=2", "root-2")


def test_a_confirmed_url_is_known_even_to_its_parent_until_its_time_is_over(
    ingestion: IngestionLock, world: World
) -> None:
    ingestion.begin(URL, "root-1")
    ingestion.confirm(URL, "root-1", 60)
    assert not ingestion.begin(URL, "root-1")
    world.passes(70)
    assert ingestion.begin(URL, "root-2")


def test_a_marker_does_not_outlive_a_publish_that_never_came_back(impatient: IngestionLock, world: World) -> None:
    assert impatient.begin(URL, "crashed")
    world.passes(PENDING_MS + 10)
    assert impatient.begin(URL, "another")


def test_a_confirmed_url_is_known_even_if_its_pending_marker_had_lapsed(impatient: IngestionLock, world: World) -> None:
    assert impatient.begin(URL, "slow")
    world.passes(PENDING_MS + 10)
    impatient.confirm(URL, "slow", DAY_MS)
    assert not impatient.begin(URL, "another")


def test_an_abandoned_url_is_free_at_once(ingestion: IngestionLock) -> None:
    ingestion.begin(URL, "root-1")
    ingestion.abandon(URL, "root-1")
    assert ingestion.begin(URL, "root-2")


def test_abandoning_touches_nobody_elses_marker_and_no_confirmed_one(ingestion: IngestionLock) -> None:
    ingestion.begin(URL, "root-1")
    ingestion.abandon(URL, "root-2")
    assert not ingestion.begin(URL, "root-2")
    ingestion.confirm(URL, "root-1", DAY_MS)
    ingestion.abandon(URL, "root-1")
    assert not ingestion.begin(URL, "root-3")


def test_a_url_busy_in_one_worker_is_refused_to_another_root_until_released(processing: ProcessingLock) -> None:
    assert processing.acquire("parser", URL, "root-1", DAY_MS)
    assert not processing.acquire("parser", URL, "root-2", DAY_MS)
    processing.release("parser", URL, "root-1")
    assert processing.acquire("parser", URL, "root-2", DAY_MS)


def test_a_redelivery_is_not_shut_out_by_its_own_lock(processing: ProcessingLock) -> None:
    assert processing.acquire("parser", URL, "root-1", DAY_MS)
    assert processing.acquire("parser", URL, "root-1", DAY_MS)


def test_stages_do_not_shut_each_other_out(processing: ProcessingLock) -> None:
    assert processing.acquire("parser", URL, "root-1", DAY_MS)
    assert processing.acquire("validate", URL, "root-2", DAY_MS)


def test_a_url_lock_released_by_one_that_does_not_own_it_stays(processing: ProcessingLock) -> None:
    assert processing.acquire("parser", URL, "root-1", DAY_MS)
    processing.release("parser", URL, "root-2")
    assert not processing.acquire("parser", URL, "root-2", DAY_MS)


def test_the_lock_of_a_dead_worker_lapses_and_retaking_it_prolongs_it(processing: ProcessingLock, world: World) -> None:
    assert processing.acquire("parser", URL, "root-1", 30)
    assert processing.acquire("parser", URL, "root-1", 90)
    world.passes(40)
    assert not processing.acquire("parser", URL, "root-2", DAY_MS)
    world.passes(60)
    assert processing.acquire("parser", URL, "root-2", DAY_MS)


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_every_lock_on_a_url_has_a_time_to_live_and_a_name_of_bounded_length(
    world: World, ingestion: IngestionLock, processing: ProcessingLock
) -> None:
    assert world.client is not None
    url = f"http://news.example.com/{'x' * 5_000}"
    ingestion.begin(url, "root-1")
    processing.acquire("parser", url, "root-1", DAY_MS)
    keys = command(world.client, "KEYS", "*")
    assert len(keys) == 2
    for key in keys:
        assert len(key) < 100
        assert command(world.client, "PTTL", key) > 0
