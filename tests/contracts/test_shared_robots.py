"""The contract of `SharedRobots`."""

import pytest

from issuetracker_dagster.adapters.memory.robots import MemorySharedRobots
from issuetracker_dagster.adapters.redis.robots import RedisSharedRobots
from issuetracker_dagster.ports.hosts import SHARED_ROBOTS_MAX_BYTES, SharedRobots
from tests.contracts.redis_worlds import CLUSTER, WORLDS, World, open_world

NAME = "https://{news}.example.com:8443:IssueTracker"


@pytest.fixture(params=[*WORLDS, CLUSTER])
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def robots(world: World) -> SharedRobots:
    return MemorySharedRobots(world.clock) if world.client is None else RedisSharedRobots(world.client)


def test_what_one_put_another_gets_until_its_time_is_over(robots: SharedRobots, world: World) -> None:
    robots.put(NAME, b"\x00\xff rules", 150)
    assert robots.get(NAME) == b"\x00\xff rules"
    world.passes(200)
    assert robots.get(NAME) is None


def test_what_nobody_put_is_not_known(robots: SharedRobots) -> None:
    robots.put(NAME, b"rules", 60_000)
    assert robots.get("https://news.example.com:IssueTracker") is None


def test_the_newest_counts(robots: SharedRobots) -> None:
    robots.put(NAME, b"old", 60_000)
    robots.put(NAME, b"new", 60_000)
    assert robots.get(NAME) == b"new"


def test_one_that_is_too_long_to_be_shared_is_known_to_nobody(robots: SharedRobots) -> None:
    longest = b"x" * SHARED_ROBOTS_MAX_BYTES
    robots.put(NAME, longest, 60_000)
    assert robots.get(NAME) == longest
    robots.put(NAME, longest + b"x", 60_000)
    assert robots.get(NAME) is None
