"""The contract of `Locks`."""

import msgspec
import pytest

from issuetracker_dagster.adapters.memory.locks import MemoryLocks
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.locks import RedisLocks
from issuetracker_dagster.ports.locks import LockHold, Locks
from tests.contracts.redis_worlds import WORLDS, World, full, open_world

LONG_MS, SHORT_MS = 60_000, 40


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def locks(world: World) -> Locks:
    return MemoryLocks(world.clock) if world.client is None else RedisLocks(world.client)


def acquired(locks: Locks, name: str = "drain", ttl_ms: int = LONG_MS) -> LockHold:
    hold = locks.acquire(name, ttl_ms)
    assert hold is not None
    return hold


def test_a_held_lock_is_nobody_elses(locks: Locks) -> None:
    acquired(locks)
    assert locks.acquire("drain", LONG_MS) is None
    assert locks.acquire("intake:parser", LONG_MS) is not None


def test_a_released_lock_is_free_at_once(locks: Locks) -> None:
    hold = acquired(locks)
    assert locks.release(hold)
    assert acquired(locks).epoch > hold.epoch


def test_a_lock_lapses_with_its_time_to_live(locks: Locks, world: World) -> None:
    first = acquired(locks, ttl_ms=SHORT_MS)
    world.passes(SHORT_MS + 10)
    assert acquired(locks).epoch > first.epoch


def test_a_renewed_lock_outlives_its_first_time_to_live(locks: Locks, world: World) -> None:
    hold = acquired(locks, ttl_ms=SHORT_MS)
    assert locks.renew(hold, LONG_MS)
    world.passes(SHORT_MS + 10)
    assert locks.acquire("drain", LONG_MS) is None
    assert locks.renew(hold, LONG_MS)


def test_a_lock_released_by_one_that_no_longer_owns_it_stays_with_its_owner(locks: Locks, world: World) -> None:
    stale = acquired(locks, ttl_ms=SHORT_MS)
    world.passes(SHORT_MS + 10)
    owner = acquired(locks)
    assert not locks.release(stale)
    assert locks.acquire("drain", LONG_MS) is None
    assert locks.renew(owner, LONG_MS)


def test_a_lock_renewed_by_one_that_no_longer_owns_it_is_refused(locks: Locks, world: World) -> None:
    stale = acquired(locks, ttl_ms=SHORT_MS)
    world.passes(SHORT_MS + 10)
    assert not locks.renew(stale, LONG_MS)
    owner = acquired(locks)
    assert not locks.renew(stale, LONG_MS)
    assert locks.release(owner)


def test_the_epoch_alone_proves_nothing(locks: Locks) -> None:
    hold = acquired(locks)
    assert not locks.release(msgspec.structs.replace(hold, token="guessed"))
    assert locks.release(hold)


def test_epochs_grow_with_every_holder_and_count_a_name_apart(locks: Locks) -> None:
    epochs = []
    for _ in range(5):
        hold = acquired(locks)
        epochs.append(hold.epoch)
        locks.release(hold)
    assert epochs == sorted(set(epochs))


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_epochs_go_on_growing_when_the_server_lost_its_data(world: World, locks: Locks) -> None:
    assert world.client is not None
    before = acquired(locks)
    world.passes(5)
    command(world.client, "FLUSHALL")
    assert acquired(locks).epoch > before.epoch


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_locks_survive_the_loss_of_the_servers_scripts(world: World, locks: Locks) -> None:
    assert world.client is not None
    hold = acquired(locks)
    command(world.client, "SCRIPT FLUSH")
    assert locks.renew(hold, LONG_MS)
    assert locks.release(hold)


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_a_full_server_still_grants_the_locks_that_draining_it_needs(world: World, locks: Locks) -> None:
    assert world.client is not None
    with full(world.client):
        hold = acquired(locks)
        assert locks.renew(hold, LONG_MS)
        assert locks.release(hold)
