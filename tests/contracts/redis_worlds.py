"""The worlds in which the contract suites of Redis' ports run: in memory, on Valkey, on Redis 7.0 and on a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

import pytest
from redis.cluster import RedisCluster

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.redis.client import RedisClient, connect
from issuetracker_dagster.adapters.redis.scripts import script
from tests.waiting import eventually

WORLDS = (
    "memory",
    pytest.param("valkey", marks=pytest.mark.services),
    pytest.param("redis7", marks=pytest.mark.services),
)
CLUSTER = pytest.param("cluster", marks=pytest.mark.services)


@dataclass
class World:
    """Where a suite runs: without a client, in memory and on a clock that stands still until it is moved."""

    client: RedisClient | None
    clock: FakeClock = field(default_factory=FakeClock)

    def now_ms(self) -> int:
        """Time as this world's adapters see it."""
        if self.client is None:
            return self.clock.now_ms()
        return int(script("server_time").run(self.client, ["clock"], []))

    def passes(self, milliseconds: int) -> None:
        """Let that much time pass."""
        if self.client is None:
            self.clock.advance(milliseconds)
        else:
            until_ms = self.now_ms() + milliseconds
            eventually(lambda: self.now_ms() > until_ms, interval_s=0.005)


@contextmanager
def full(client: RedisClient) -> Iterator[None]:
    """The server (every node of a cluster) has no memory left inside the block."""
    _limit_memory(client, "1")
    try:
        yield
    finally:
        _limit_memory(client, "0")


def open_world(request: pytest.FixtureRequest) -> World:
    """The world that the fixture's parameter names, its server emptied first."""
    if request.param == "memory":
        return World(None)
    cluster = request.param == "cluster"
    client = _client(request.getfixturevalue("redis_cluster_url" if cluster else f"{request.param}_url"), cluster)
    if isinstance(client, RedisCluster):
        client.flushall(target_nodes="primaries")
    else:
        client.flushall()
    return World(client)


@cache
def _client(url: str, cluster: bool) -> RedisClient:
    return connect(url, cluster=cluster)


def _limit_memory(client: RedisClient, limit: str) -> None:
    if isinstance(client, RedisCluster):
        client.config_set("maxmemory", limit, target_nodes="primaries")
    else:
        client.config_set("maxmemory", limit)
