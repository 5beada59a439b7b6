"""Every script of the smaller adapters on a cluster of three nodes: the keys that one call touches lie in one slot."""

import pytest

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.heartbeats import RedisHeartbeats
from issuetracker_dagster.adapters.redis.hosts import RedisHostGate
from issuetracker_dagster.adapters.redis.locks import RedisLocks
from issuetracker_dagster.adapters.redis.retries import RedisRetrySet
from issuetracker_dagster.adapters.redis.urls import RedisProcessingLock
from issuetracker_dagster.errors import NotDue
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.stage import Stage
from tests.contracts.redis_worlds import CLUSTER, open_world

NAMES = [f"name-{number}" for number in range(8)]


@pytest.fixture(params=[CLUSTER])
def client(request: pytest.FixtureRequest) -> RedisClient:
    found = open_world(request).client
    assert found is not None
    return found


def test_retries_on_a_cluster(client: RedisClient) -> None:
    retries = RedisRetrySet(client)
    entries = [RetryEntry(1_000, "fetched", stage, 500, Message(Headers(root_id=stage), None, b"")) for stage in Stage]
    for entry in entries:
        retries.schedule(entry)
    assert list(retries.due(1_000)) == entries
    assert retries.oldest_source_ms(Stage.ENRICH) == 500
    assert retries.remove(entries) == retries.size() + len(entries) == len(Stage)


def test_locks_on_a_cluster(client: RedisClient) -> None:
    locks = RedisLocks(client)
    for name in NAMES:
        hold = locks.acquire(name, 60_000)
        assert hold is not None
        assert locks.renew(hold, 60_000)
        assert locks.release(hold)


def test_processing_locks_on_a_cluster(client: RedisClient) -> None:
    processing = RedisProcessingLock(client)
    for name in NAMES:
        assert processing.acquire("parser", name, "root", 60_000)
        processing.release("parser", name, "root")
        assert processing.acquire("parser", name, "other", 60_000)


def test_heartbeats_on_a_cluster(client: RedisClient) -> None:
    heartbeats = RedisHeartbeats(client)
    for stage in Stage:
        heartbeats.beat(stage, 0, "run", {})
        assert [beat.run_id for beat in heartbeats.alive(stage)] == ["run"]
    assert heartbeats.now_ms() > 0


def test_the_host_gate_on_a_cluster(client: RedisClient) -> None:
    gate = RedisHostGate(client, failures_to_open=1)
    rule = FetcherRule(host_pattern="*", concurrency=1)
    for host in [*NAMES, "[::1]:8080", "a{b}c", "}.example"]:
        gate.enter(host, rule, "p0")
        with pytest.raises(NotDue, match="concurrency"):
            gate.enter(host, rule, "p1")
        gate.leave(host, "p0")
        assert gate.failed(host)
        gate.succeeded(host)
        gate.block(host, 1)
        gate.enter(host, rule, "p1")
