"""What a server can do to a buffer: forget scripts, run full, lose replies, execute late, die, be a cluster."""

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.redis.buffer import RedisBuffer, RedisBufferSwitch
from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import ConfigError, Unavailable
from tests import services
from tests.contracts.buffer_worlds import drained, entries, names
from tests.contracts.lossy_proxy import LossyProxy
from tests.contracts.redis_worlds import CLUSTER, full, open_world

pytestmark = pytest.mark.services


@pytest.fixture(params=["valkey", "redis7"])
def client(request: pytest.FixtureRequest) -> RedisClient:
    found = open_world(request).client
    assert found is not None
    return found


def a_buffer(client: RedisClient, max_len: int = 0) -> RedisBuffer:
    return RedisBuffer(client, f"test:{uuid.uuid4().hex}", max_len=max_len)


def test_50_a_full_server_refuses_a_push_clearly_and_can_still_be_drained(client: RedisClient) -> None:
    buffer, switch = a_buffer(client, max_len=4), RedisBufferSwitch(client)
    buffer.push(entries("abcdef"))
    with full(client):
        with pytest.raises(Unavailable, match=r"REDIS_URL.*full \(maxmemory\)"):
            buffer.push(entries("g"))
        assert names(buffer.take(1, 2)) == "cd"
        assert buffer.put_back(1) == 2
        assert names(buffer.take(1, 2)) == "cd"
        assert buffer.recover(2) == 2
        buffer.pause(9, ["a:1"])
        assert buffer.paused() == ("a:1",)
        buffer.resume(9)
        assert buffer.outbox_remove(buffer.outbox(10)) == 2
        switch.turn(on=True)
        assert switch.is_on()
        assert buffer.state().waiting == 4
        assert drained(buffer, 2) == "cdef"
    assert buffer.push(entries("g")) == 0


def test_every_call_survives_script_flush(client: RedisClient) -> None:
    buffer = a_buffer(client, max_len=3)

    def forget() -> None:
        command(client, "SCRIPT", "FLUSH", "SYNC")

    forget()
    assert buffer.push(entries("abcd")) == 1
    forget()
    assert names(buffer.take(1, 2)) == "bc"
    forget()
    assert buffer.recover(2) == 2
    buffer.take(2, 1)
    forget()
    assert buffer.put_back(2) == 1
    buffer.take(2, 1)
    forget()
    buffer.done(2)
    forget()
    assert (buffer.state().waiting, buffer.state().draining) == (2, 0)
    forget()
    assert buffer.outbox_remove(buffer.outbox(9)) == 1
    forget()
    buffer.pause(9, ["a:1"])
    assert buffer.paused() == ("a:1",)


@pytest.fixture
def lossy(client: RedisClient) -> Iterator[LossyProxy]:
    with LossyProxy(int(client.get_connection_kwargs()["port"])) as proxy:
        yield proxy


def test_34_calls_whose_replies_are_lost_have_one_effect(lossy: LossyProxy) -> None:
    buffer = a_buffer(connect(f"redis://127.0.0.1:{lossy.port}"), max_len=4)
    lossy.lose(2)
    buffer.push(entries("abcde"))
    assert names(buffer.outbox(9)) == "a"
    lossy.lose(1)
    assert names(buffer.take(1, 2)) == "bc"
    lossy.lose(1)
    buffer.put_back(1)
    lossy.lose(2)
    assert names(buffer.take(1, 2)) == "bc"
    lossy.lose(1)
    assert names(buffer.advance(1, 1)) == "d"
    lossy.lose(1)
    buffer.recover(2)
    lossy.lose(1)
    assert buffer.outbox_remove(buffer.outbox(9)) in (0, 1)
    assert lossy.lost == 9
    state = buffer.state()
    assert (state.waiting, state.draining, state.outbox) == (2, 0, 0)
    assert drained(buffer, 2) == "de"


def test_34_a_server_that_stays_away_is_named_within_a_bound(lossy: LossyProxy) -> None:
    buffer = a_buffer(connect(f"redis://:hidden@127.0.0.1:{lossy.port}"))
    lossy.lose(1000)
    with pytest.raises(Unavailable, match="REDIS_URL") as caught:
        buffer.push(entries("a"))
    assert "hidden" not in str(caught.value)
    assert lossy.lost <= 10


def test_34_a_done_that_is_executed_late_doesnt_forget_the_next_batch(client: RedisClient) -> None:
    buffer = a_buffer(client)
    buffer.push(entries("abcd"))
    buffer.take(1, 2)
    tag = f"{{{buffer.name}}}:"
    word = command(client, "HGET", f"{tag}drains", "1")
    buffer.done(1)
    assert names(buffer.take(1, 2)) == "cd"
    assert script("buffer_done").run(client, [f"{tag}drains", f"{tag}draining:1"], ["1", word]) == 0
    assert names(buffer.take(1, 2)) == "cd"


def test_the_words_of_pushes_dont_pile_up(client: RedisClient) -> None:
    buffer = a_buffer(client)
    keys = [buffer.name, f"{{{buffer.name}}}:outbox", f"{{{buffer.name}}}:pushes"]
    for number in range(1_100):
        script("buffer_push").run(client, keys, ["0", f"word-{number}", b"x"])
    assert command(client, "ZCARD", keys[2]) == 1_000
    assert buffer.state().waiting == 1_100


def test_who_is_late_in_emptying_a_long_outbox_costs_the_server_no_search(client: RedisClient) -> None:
    buffer = a_buffer(client, max_len=1)
    buffer.push([f"m{number:05d}".encode() for number in range(3_000)])
    published = buffer.outbox(100)
    assert buffer.outbox_remove(published) == 100
    command(client, "CONFIG", "RESETSTAT")
    assert buffer.outbox_remove(published) == 0
    assert "cmdstat_lrem" not in client.info("commandstats")


def test_a_drained_buffer_leaves_only_its_constant_keys(client: RedisClient) -> None:
    buffer = a_buffer(client, max_len=4)
    buffer.push(entries("abcdef"))
    for epoch in range(1, 5):
        buffer.take(epoch, 2)
    buffer.recover(5)
    buffer.pause(9, ["a:1"])
    buffer.resume(9)
    buffer.outbox_remove(buffer.outbox(9))
    assert drained(buffer, 5) == "cdef"
    left = {key.decode().rpartition("}:")[2] for key in command(client, "KEYS", "*")}
    assert left <= {"epoch", "pushes", "fence"}


@pytest.mark.parametrize("key", ["", "{publisher}:buffer", "a}b"])
def test_51_a_key_with_braces_is_refused(key: str, valkey_url: str) -> None:
    with pytest.raises(ConfigError, match=r"without \{ and \}"):
        RedisBuffer(connect(valkey_url), key, max_len=0)


@pytest.mark.parametrize("client", [CLUSTER], indirect=True)
def test_51_all_keys_of_a_buffer_share_one_slot_of_a_cluster(client: RedisClient) -> None:
    slots = set()
    for _ in range(6):
        buffer = a_buffer(client, max_len=2)
        buffer.push(entries("abc"))
        buffer.take(1, 1)
        assert buffer.recover(2) == 1
        assert drained(buffer, 2) == "bc"
        slots.add(command(client, "CLUSTER", "KEYSLOT", buffer.name))
    assert len(slots) > 1


def test_11_what_was_pushed_survives_kill_9_and_so_does_what_was_being_drained(tmp_path: Path) -> None:
    folder, key = tmp_path / "server", f"test:{uuid.uuid4().hex}"
    expected: list[bytes] = []
    for epoch in range(1, 4):
        with services.running_valkey(folder) as url:
            client = connect(url)
            buffer = RedisBuffer(client, key, max_len=0)
            assert buffer.recover(epoch) == (2 if expected else 0)
            for number in range(20):
                batch = [f"{epoch}-{number:02}-{part}".encode() for part in range(5)]
                buffer.push(batch)
                expected += batch
            assert list(buffer.take(epoch, 2)) == expected[:2]
            os.kill(int(client.info("server")["process_id"]), signal.SIGKILL)
    with services.running_valkey(folder) as url:
        buffer = RedisBuffer(connect(url), key, max_len=0)
        assert buffer.recover(9) == 2
        assert list(buffer.take(9, 1_000)) == expected
