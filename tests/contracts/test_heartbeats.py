"""The contract of `Heartbeats`."""

import pytest

from issuetracker_dagster.adapters.memory.heartbeats import MemoryHeartbeats
from issuetracker_dagster.adapters.redis.client import command, connect
from issuetracker_dagster.adapters.redis.heartbeats import RedisHeartbeats
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.ports.locks import Heartbeats
from tests.contracts.redis_worlds import WORLDS, World, full, open_world


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def heartbeats(world: World) -> Heartbeats:
    return MemoryHeartbeats(world.clock) if world.client is None else RedisHeartbeats(world.client)


def test_the_latest_beat_of_each_slot_is_read_a_stage_apart(heartbeats: Heartbeats) -> None:
    heartbeats.beat("parser", 0, "run-a", {"held": "1"})
    heartbeats.beat("parser", 0, "run-a", {"held": "2"})
    heartbeats.beat("parser", 10, "run-b", {})
    heartbeats.beat("enrich", 0, "run-c", {})
    found = [(beat.stage, beat.slot, beat.run_id, beat.info) for beat in heartbeats.alive("parser")]
    assert found == [("parser", 0, "run-a", {"held": "2"}), ("parser", 10, "run-b", {})]
    assert heartbeats.alive("validate") == ()


def test_a_beat_carries_the_stores_time_and_an_old_one_stays_to_be_judged(heartbeats: Heartbeats, world: World) -> None:
    before = heartbeats.now_ms()
    heartbeats.beat("parser", 0, "run-a", {})
    after = heartbeats.now_ms()
    world.passes(60)
    (beat,) = heartbeats.alive("parser")
    assert before <= beat.at_ms <= after
    assert heartbeats.now_ms() - beat.at_ms >= 60


def test_an_unreachable_store_is_an_error_and_never_silence() -> None:
    heartbeats = RedisHeartbeats(connect("redis://127.0.0.1:1"))
    with pytest.raises(Unavailable, match="REDIS_URL"):
        heartbeats.alive("parser")
    with pytest.raises(Unavailable):
        heartbeats.now_ms()


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_an_unreadable_beat_is_an_error_and_never_silence(world: World, heartbeats: Heartbeats) -> None:
    assert world.client is not None
    heartbeats.beat("parser", 0, "run-a", {})
    command(world.client, "HSET", "worker:parser", "1", "nonsense")
    with pytest.raises(Unavailable, match="worker:parser"):
        heartbeats.alive("parser")


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_a_full_server_still_takes_beats(world: World, heartbeats: Heartbeats) -> None:
    assert world.client is not None
    with full(world.client):
        heartbeats.beat("parser", 0, "run-a", {})
    assert [beat.run_id for beat in heartbeats.alive("parser")] == ["run-a"]
