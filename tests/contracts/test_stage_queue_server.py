"""What a server can do to a stage queue: forget scripts, run full, restart, lose replies, be a cluster."""

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.errors import ConfigError, Unavailable
from issuetracker_dagster.model.queue import PushResult, QueueLimits
from tests import services
from tests.contracts.lossy_proxy import LossyProxy
from tests.contracts.queue_worlds import LONG_MS, SHORT_MS, entries, entry, members
from tests.waiting import eventually

pytestmark = pytest.mark.services


@pytest.fixture(params=["valkey", "redis7"])
def client(request: pytest.FixtureRequest) -> RedisClient:
    return connect(request.getfixturevalue(f"clean_{request.param}_url"))


@pytest.fixture
def queue(client: RedisClient) -> PriorityZSetQueue:
    return a_queue(client)


def a_queue(client: RedisClient, limits: QueueLimits | None = None) -> PriorityZSetQueue:
    return PriorityZSetQueue(client, f"test:{uuid.uuid4().hex}", limits or QueueLimits())


def used_memory(client: RedisClient) -> int:
    return int(client.info("memory")["used_memory"])


@pytest.fixture
def small_server(client: RedisClient) -> Iterator[RedisClient]:
    """A server with room for about 3 MB more."""
    command(client, "CONFIG", "SET", "maxmemory", str(used_memory(client) + 3_000_000))
    yield client
    command(client, "CONFIG", "SET", "maxmemory", "0")


def test_a_full_server_refuses_a_push_clearly_and_can_still_be_drained(small_server: RedisClient) -> None:
    queue = a_queue(small_server)
    stored = 0

    def fill() -> None:
        nonlocal stored
        for number in range(500):
            stored += queue.push(entries(f"m{number:03d}-{one:02d}-{'x' * 200}" for one in range(50))).added

    with pytest.raises(Unavailable, match=r"REDIS_URL.*full \(maxmemory\)"):
        fill()
    assert stored > 0
    command(small_server, "CONFIG", "SET", "maxmemory", str(used_memory(small_server) // 2))
    a, b, c, d = queue.claim("first", 4, LONG_MS).leases
    assert queue.extend([a], LONG_MS) == ()
    assert queue.nack(b, 0)
    assert queue.release([c]) == ()
    assert queue.reap() == 1
    assert queue.ack([d]) == ()
    assert queue.depth().total == stored - 1
    assert len(queue.claim("second", 100, LONG_MS, [a]).leases) == 100
    command(small_server, "CONFIG", "SET", "maxmemory", "0")
    assert queue.push([entry("room again")]).added == 1


def test_eviction_into_the_outbox_can_be_emptied_on_a_full_server(small_server: RedisClient) -> None:
    queue = a_queue(small_server, QueueLimits(max_size=5, max_deliveries=1))
    queue.push(entries("abcdefg"))
    command(small_server, "CONFIG", "SET", "maxmemory", "1000000")
    queue.claim("dies", 5, 0)
    assert queue.claim("next", 5, LONG_MS).leases == ()
    assert [one.reason for one in queue.outbox()] == ["overflow"] * 2 + ["max_deliveries"] * 5
    assert queue.outbox_remove(queue.outbox()) == 7


def test_a_lowered_limit_is_reached_in_steps_that_dont_hold_up_the_server(client: RedisClient) -> None:
    queue = a_queue(client)
    queue.push(entries(f"m{number:05d}" for number in range(12_000)))
    smaller = PriorityZSetQueue(client, queue.name, QueueLimits(max_size=100))
    evicted = [smaller.push([entry(f"new{number}")]).evicted for number in range(4)]
    assert max(evicted) < 6_000
    assert (sum(evicted), queue.depth().ready) == (11_904, 100)


def test_who_is_late_in_emptying_a_long_outbox_costs_the_server_no_search(client: RedisClient) -> None:
    queue = a_queue(client, QueueLimits(max_size=1))
    queue.push(entries(f"m{number:05d}-{'x' * 600}" for number in range(2_000)))
    published = queue.outbox(100)
    assert queue.outbox_remove(published) == 100
    command(client, "CONFIG", "RESETSTAT")
    assert queue.outbox_remove(published) == 0
    assert "cmdstat_lrem" not in client.info("commandstats")


def test_every_call_survives_script_flush(client: RedisClient, queue: PriorityZSetQueue) -> None:
    def forget() -> None:
        command(client, "SCRIPT", "FLUSH", "SYNC")

    queue.open()
    forget()
    queue.push(entries("abc"))
    forget()
    a, b, c = queue.claim("one", 10, LONG_MS).leases
    forget()
    assert queue.extend([a], LONG_MS) == ()
    forget()
    assert queue.depth().leased == 3
    forget()
    assert queue.reap() == 0
    forget()
    assert not queue.wait(1)
    forget()
    assert queue.ack([a, b, c]) == ()


def test_a_drained_queue_leaves_only_its_constant_keys(client: RedisClient) -> None:
    queue = a_queue(client, QueueLimits(max_size=20, max_wait_ms=1))
    queue.open()
    queue.settle_writes()
    queue.push(entries(f"m{number}" for number in range(30)))
    (late,) = queue.claim("nacked", 1, LONG_MS).leases
    assert queue.nack(late, SHORT_MS)
    queue.claim("dead-worker", 3, SHORT_MS)
    assert queue.extend(queue.claim("slow", 1, LONG_MS).leases, SHORT_MS) == ()
    eventually(lambda: queue.reap() == 0 and queue.depth().leased == queue.depth().delayed == 0)
    number = 0
    while leases := queue.claim(f"drain-{number}", 10, LONG_MS).leases:
        number += 1
        assert queue.ack(leases) == ()
    queue.outbox_remove(queue.outbox())
    assert queue.depth().total == 0
    left = [key.decode() for key in command(client, "KEYS", "*")]
    constant = {f"{{{queue.name}}}:{part}" for part in ("clock", "epoch", "format", "fence", "history")}
    lasting = {key for key in left if command(client, "PTTL", key) == -1}
    assert lasting == constant
    assert {key.rpartition("}")[2] for key in set(left) - lasting} <= {":claims:even", ":claims:odd"}


def test_an_id_whose_entry_a_foreign_hand_removed_doesnt_block_the_rest(
    client: RedisClient, queue: PriorityZSetQueue
) -> None:
    queue.push(entries("abc"))
    command(client, "HDEL", f"{{{queue.name}}}:entries", "a")
    assert members(queue.claim("one", 2, LONG_MS)) == ["b", "c"]
    assert queue.depth().ready == 0


def test_an_entry_that_a_foreign_hand_removed_while_it_was_leased_doesnt_block_the_rest(
    client: RedisClient, queue: PriorityZSetQueue
) -> None:
    queue.push(entries("abc"))
    assert members(queue.claim("dies", 1, 0)) == ["a"]
    command(client, "HDEL", f"{{{queue.name}}}:entries", "a")
    eventually(lambda: queue.depth().leased == 0 or queue.reap() > 0)
    assert members(queue.claim("one", 3, LONG_MS)) == ["b", "c"]
    assert queue.depth().total == 2


def test_an_entry_that_a_foreign_hand_removed_can_still_age_and_make_room(client: RedisClient) -> None:
    queue = a_queue(client, QueueLimits(entry_ttl_ms=SHORT_MS, max_size=2))
    queue.push(entries("ab"))
    command(client, "HDEL", f"{{{queue.name}}}:entries", "a")
    assert queue.push([entry("c")]).evicted == 1
    command(client, "HDEL", f"{{{queue.name}}}:entries", "b")
    eventually(lambda: queue.reap() == 0 and queue.depth().ready == 0)
    assert [(one.member, one.reason) for one in queue.outbox()] == [("c", "expired")]


def test_answers_kept_for_repeated_claims_end_by_themselves(client: RedisClient, queue: PriorityZSetQueue) -> None:
    queue.push([entry("a")])
    queue.claim("abandoned", 1, LONG_MS)
    (kept,) = [key for key in command(client, "KEYS", "*") if b":claims:" in key]
    assert 0 < command(client, "PTTL", kept) <= 600_000


def test_arrivals_are_the_servers_time_and_never_go_back(client: RedisClient, queue: PriorityZSetQueue) -> None:
    queue.push([entry("a")])
    seconds, _ = command(client, "TIME")
    (a,) = queue.claim("one", 1, LONG_MS).leases
    assert abs(a.arrival_ms - int(seconds) * 1000) < 60_000
    ahead = int((a.arrival_ms + 3_600_000) * 256)  # as after the server's clock was set back by an hour
    command(client, "HSET", f"{{{queue.name}}}:clock", "last", str(ahead))
    queue.push(entries("bc"))
    assert [lease.arrival_ms * 256 - ahead for lease in queue.claim("two", 2, LONG_MS).leases] == [1, 2]


def test_a_queue_in_another_format_isnt_touched(client: RedisClient, queue: PriorityZSetQueue) -> None:
    command(client, "SET", f"{{{queue.name}}}:format", "99")
    with pytest.raises(ConfigError, match="is in format 99, this version reads 1: drain it"):
        queue.open()


def test_a_mistake_of_ours_isnt_reported_as_an_outage(client: RedisClient, queue: PriorityZSetQueue) -> None:
    command(client, "SET", queue.name, "not a sorted set")
    with pytest.raises(Exception, match="WRONGTYPE"):
        queue.push([entry("a")])


@pytest.fixture
def lossy(client: RedisClient) -> Iterator[LossyProxy]:
    port = client.get_connection_kwargs()["port"]
    with LossyProxy(int(port)) as proxy:
        yield proxy


def test_calls_whose_replies_are_lost_have_one_effect(lossy: LossyProxy) -> None:
    client = connect(f"redis://127.0.0.1:{lossy.port}")
    queue = a_queue(client, QueueLimits(max_size=4))
    queue.open()
    lossy.lose(2)
    assert queue.push(entries("abcde")) == PushResult(known=5)
    assert [one.member for one in queue.outbox()] == ["a"]
    lossy.lose(1)
    first = queue.claim("first", 2, LONG_MS)
    assert members(first) == ["b", "c"]
    lossy.lose(2)
    second = queue.claim("second", 1, LONG_MS, first.leases)
    assert (members(second), second.refused) == (["d"], ())
    lossy.lose(1)
    assert queue.extend(second.leases, LONG_MS) == ()
    lossy.lose(1)
    assert queue.nack(second.leases[0], LONG_MS)
    lossy.lose(1)
    queue.outbox_remove(queue.outbox())
    depth = queue.depth()
    assert (depth.ready, depth.leased, depth.delayed, depth.outbox) == (1, 0, 1, 0)
    assert lossy.lost == 8


def test_a_server_that_stays_away_is_named_within_a_bound(lossy: LossyProxy) -> None:
    queue = a_queue(connect(f"redis://:hidden@127.0.0.1:{lossy.port}"))
    lossy.lose(1000)
    with pytest.raises(Unavailable, match="REDIS_URL") as caught:
        queue.push([entry("a")])
    assert "hidden" not in str(caught.value)
    assert lossy.lost <= 10


def test_what_was_settled_on_disk_survives_kill_9_with_its_epoch_and_leases(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    key = f"test:{uuid.uuid4().hex}"
    with services.running_valkey(folder) as url:
        client = connect(url)
        queue = PriorityZSetQueue(client, key, QueueLimits())
        epoch = queue.open()
        queue.push(entries("abc"))
        leases = queue.claim("before", 1, LONG_MS).leases
        queue.settle_writes()
        os.kill(int(client.info("server")["process_id"]), signal.SIGKILL)
    with services.running_valkey(folder) as url:
        queue = PriorityZSetQueue(connect(url), key, QueueLimits())
        assert queue.open() == epoch
        assert queue.claim("before", 1, LONG_MS).leases == leases
        assert queue.ack(leases) == ()
        assert members(queue.claim("after", 10, LONG_MS)) == ["b", "c"]
    with services.running_valkey(tmp_path / "another") as url:
        queue = PriorityZSetQueue(connect(url), key, QueueLimits())
        assert queue.depth().epoch is None
        assert queue.open() != epoch


def test_all_keys_of_a_queue_share_one_slot_of_a_cluster(redis_cluster_url: str) -> None:
    client = connect(redis_cluster_url, cluster=True)
    slots = set()
    for number in range(6):
        key = f"frontier:news{number}.example.com:8080"
        queue = PriorityZSetQueue(client, key, QueueLimits(max_size=1))
        queue.open()
        queue.push(entries("ab"))
        queue.settle_writes()
        assert queue.wait(100)
        assert members(queue.claim("one", 5, LONG_MS)) == ["b"]
        assert queue.outbox_remove(queue.outbox()) == 1
        slots.add(command(client, "CLUSTER", "KEYSLOT", key))
    assert len(slots) > 1


def test_thousands_of_queues_cost_nothing_until_they_are_used(valkey_url: str) -> None:
    parts = urlsplit(valkey_url)
    client = connect(valkey_url.replace(str(parts.port), "1"))  # nobody listens there
    assert len({a_queue(client).name for _ in range(2000)}) == 2000
