"""The way to Redis: which URLs are taken, what an outage says, and what is known about the disk."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis.exceptions import ResponseError

from issuetracker_dagster.adapters.redis import client as redis_client
from issuetracker_dagster.adapters.redis.client import command, connect, redis_errors, wait_durable
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import ConfigError, Unavailable
from issuetracker_dagster.local import children, valkey
from issuetracker_dagster.local.ports import choose_ports
from tests import services
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("url", "cluster", "text"),
    [
        ("http://host", False, "REDIS_URL starts with 'http'; accepted: redis://"),
        ("", False, "accepted: redis://"),
        ("redis+sentinel://host:26379", False, "names no sentinel service"),
        ("redis+sentinel://host:port/name", False, "can't be read"),
        ("redis+sentinel://host/name", True, "REDIS_CLUSTER=true takes"),
        ("redis://host:port", False, "can't be read"),
    ],
)
def test_a_url_of_another_kind_is_refused_with_what_is_accepted(url: str, cluster: bool, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        connect(url, cluster=cluster)


@pytest.mark.parametrize("url", ["redis://u:p@host/3", "rediss://host:6390", "redis+sentinel://u:p@a:1,b/main/2"])
def test_a_client_is_made_without_a_connection(url: str) -> None:
    assert connect(url) is not None


def test_nobody_listening_names_the_setting_and_not_the_password() -> None:
    (port,) = choose_ports(1)
    with (
        pytest.raises(Unavailable, match=r"asking: Redis \(REDIS_URL\): it can't be used") as caught,
        redis_errors("asking"),
    ):
        command(connect(f"redis://:secret-word@127.0.0.1:{port}"), "PING")
    assert "secret-word" not in str(caught.value)


def test_a_server_before_7_0_is_told_what_is_accepted() -> None:
    refusal = "Error compiling script (new function): user_script:1: unexpected symbol near '#'"
    with pytest.raises(ConfigError, match=r"too old; accepted: Redis 7\.0 or later, or Valkey"), redis_errors("claim"):
        raise ResponseError(refusal)


def test_a_cluster_that_isnt_there_is_an_outage() -> None:
    (port,) = choose_ports(1)
    with pytest.raises(Unavailable, match="REDIS_URL"):
        connect(f"redis://127.0.0.1:{port}", cluster=True)


@pytest.fixture
def guarded_url(clean_redis7_url: str) -> Iterator[str]:
    """A server that wants the password `right`."""
    client = connect(clean_redis7_url)
    command(client, "CONFIG", "SET", "requirepass", "right")
    url = clean_redis7_url.replace("redis://", "redis://:right@")
    yield url
    command(connect(url), "CONFIG", "SET", "requirepass", "")


@pytest.mark.services
def test_a_server_is_reached_by_a_socket_of_the_file_system(tmp_path: Path) -> None:
    (port,) = choose_ports(1)
    socket = tmp_path / "valkey.sock"
    server = valkey.start(tmp_path / "valkey", port, log=tmp_path / "log", extra=("--unixsocket", str(socket)))
    try:
        assert command(connect(f"unix://{socket}?db=1"), "PING") is True
    finally:
        children.stop(server, grace_s=5)


@pytest.mark.services
@pytest.mark.parametrize("credentials", [":wrong-word@", ""])
def test_a_refused_password_says_so_without_spelling_it(guarded_url: str, credentials: str) -> None:
    url = guarded_url.replace(":right@", credentials)
    with (
        pytest.raises(Unavailable, match=r"REDIS_URL.*(refuses the user|NOAUTH|Authentication)") as caught,
        redis_errors("x"),
    ):
        command(connect(url), "SET", "a", "b")
    assert "wrong-word" not in str(caught.value)


@pytest.mark.services
def test_a_read_only_replica_is_an_outage(clean_redis7_url: str) -> None:
    client = connect(clean_redis7_url)
    (nobody,) = choose_ports(1)
    command(client, "REPLICAOF", "127.0.0.1", str(nobody))
    try:
        with pytest.raises(Unavailable, match="read-only replica"):
            script("queue_open").run(client, [f"k{number}" for number in range(13)], ["epoch", "1"])
    finally:
        command(client, "REPLICAOF", "NO", "ONE")


@pytest.mark.services
def test_a_write_is_confirmed_on_disk_where_the_server_can_tell(valkey_url: str) -> None:
    assert wait_durable(connect(valkey_url), "test:fence") is True


@pytest.mark.services
def test_a_confirmation_doesnt_wait_until_the_server_looks_by_itself(valkey_url: str) -> None:
    client = connect(valkey_url)
    began = time.monotonic()
    for number in range(50):
        command(client, "SET", "test:confirmed", str(number))
        assert wait_durable(client, "test:fence")
    assert time.monotonic() - began < 4.0  # fifty looks, ten a second, are five


@pytest.mark.services
def test_a_confirmation_leaves_no_reply_behind_on_its_connection(valkey_url: str) -> None:
    client = connect(valkey_url, max_connections=1)
    for number in range(20):
        assert wait_durable(client, "test:fence")
        assert command(client, "ECHO", str(number)) == str(number).encode()


@pytest.mark.services
def test_a_disk_that_doesnt_confirm_in_time_is_an_outage(clean_valkey_url: str) -> None:
    client = connect(clean_valkey_url)
    command(client, "CONFIG", "SET", "appendfsync", "no")
    try:
        with pytest.raises(Unavailable, match="didn't confirm its append-only file within 50 ms"):
            wait_durable(client, "test:fence", timeout_ms=50)
        assert command(client, "ECHO", "still in step") == b"still in step"
    finally:
        command(client, "CONFIG", "SET", "appendfsync", "everysec")


@pytest.mark.services
def test_a_cluster_confirms_on_the_node_that_wrote(redis_cluster_url: str) -> None:
    client = connect(redis_cluster_url, cluster=True)
    for key in ("a", "b", "c", "d"):
        command(client, "SET", key, "1")
        assert wait_durable(client, key) is True


@pytest.mark.services
def test_a_server_that_cant_tell_is_said_once_and_is_no_error(
    clean_redis7_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    redis_client._say_once.cache_clear()
    client = connect(clean_redis7_url)
    with caplog.at_level(logging.WARNING):
        assert wait_durable(client, "test:fence") is False
        assert wait_durable(client, "test:fence") is False
    assert [record.message for record in caplog.records if "WAITAOF" in record.message] == [
        "Redis has no WAITAOF (before 7.2): writes of its last second are lost when it is killed"
    ]


@pytest.mark.services
def test_sentinels_lead_to_the_present_master(clean_redis7_url: str, tmp_path: Path) -> None:
    (port,) = choose_ports(1)
    master = urlsplit(clean_redis7_url)
    config = tmp_path / "sentinel.conf"
    config.write_text(f"port {port}\nbind 127.0.0.1\nsentinel monitor main {master.hostname} {master.port} 1\n")
    argv = [str(services.redis7_binary()), str(config), "--sentinel"]
    sentinel = children.spawn(argv, log=tmp_path / "sentinel.log", cwd=tmp_path)
    try:
        client = connect(f"redis+sentinel://127.0.0.1:1,127.0.0.1:{port}/main/0")

        def answers() -> bool:
            try:
                with redis_errors("ping"):
                    return bool(command(client, "SET", "through-sentinel", "1"))
            except Unavailable:
                return False

        eventually(answers)
        assert command(connect(clean_redis7_url), "GET", "through-sentinel") == b"1"
    finally:
        children.stop(sentinel, grace_s=2.0)
