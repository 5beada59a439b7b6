"""`Starts`: in memory, on Redis and in a file, the counts of what was begun and never ended."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from issuetracker_dagster.adapters.local_starts import LocalStarts
from issuetracker_dagster.adapters.memory.starts import MemoryStarts
from issuetracker_dagster.adapters.redis.client import command, connect
from issuetracker_dagster.adapters.redis.starts import RedisStarts
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.ports.starts import Starts
from tests.contracts.lossy_proxy import LossyProxy
from tests.contracts.redis_worlds import CLUSTER, WORLDS, full, open_world
from tests.waiting import eventually


@pytest.fixture(params=(*WORLDS, CLUSTER, "file"))
def starts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Starts]:
    if request.param == "file":
        made: Starts = LocalStarts(tmp_path / "home" / "starts.db", "parsers")
    else:
        client = open_world(request).client
        made = MemoryStarts() if client is None else RedisStarts(client, "parsers")
    yield made
    made.close()


def test_each_start_counts_until_the_message_has_ended(starts: Starts) -> None:
    assert [starts.begin("a:0"), starts.begin("a:0"), starts.begin("b:0")] == [1, 2, 1]
    starts.note(["a:0"], [])
    assert [starts.begin("a:0"), starts.begin("b:0")] == [1, 2]


def test_a_start_that_was_withdrawn_does_not_count_and_those_before_it_do(starts: Starts) -> None:
    starts.begin("a:0")
    starts.begin("a:0")
    starts.note([], ["a:0"])
    assert starts.begin("a:0") == 2


def test_what_ended_rides_on_the_next_start(starts: Starts) -> None:
    for _ in range(3):
        starts.begin("ended")
        starts.begin("withdrawn")
    assert starts.begin("next", ["ended"], ["withdrawn"]) == 1
    assert [starts.begin("ended"), starts.begin("withdrawn")] == [1, 3]


def test_more_than_ever_ends_at_once_is_noted_all_the_same(starts: Starts) -> None:
    many = [f"m{n}" for n in range(1_200)]
    for one in many[:3]:
        starts.begin(one)
    assert starts.begin("next", many, many) == 1
    assert starts.begin("m0") == 1


def test_what_was_never_begun_can_end_and_be_withdrawn(starts: Starts) -> None:
    starts.note(["a"], ["b"])
    assert [starts.begin("a"), starts.begin("b")] == [1, 1]


def test_any_identity_is_taken(starts: Starts) -> None:
    odd = ["{a}:0", "a b:1", "한국:2", "x" * 300, "'; DROP TABLE starts; --"]
    assert [starts.begin(one) for one in odd] == [1] * len(odd)
    starts.note(odd[:2], odd[2:])
    assert [starts.begin(one) for one in odd] == [1] * len(odd)


def test_starts_at_the_same_time_all_count(starts: Starts) -> None:
    threads = [threading.Thread(target=lambda: [starts.begin("a") for _ in range(25)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert starts.begin("a") == 201


@pytest.fixture(params=[*WORLDS[1:], CLUSTER])
def on_redis(request: pytest.FixtureRequest) -> RedisStarts:
    world = open_world(request)
    assert world.client is not None
    return RedisStarts(world.client, "parsers", ttl_ms=150)


@pytest.mark.services
def test_counts_are_forgotten_after_their_time(on_redis: RedisStarts) -> None:
    on_redis.begin("a")
    assert on_redis.begin("a") == 2
    eventually(lambda: on_redis.begin("probe") and on_redis.begin("a") == 1, interval_s=0.2)


@pytest.mark.services
@pytest.mark.parametrize("on_redis", WORLDS[1:], indirect=True)
def test_nothing_is_left_in_redis_of_what_ended(on_redis: RedisStarts) -> None:
    for number in range(20):
        on_redis.begin(f"m{number}")
    on_redis.note([f"m{number}" for number in range(10)], [f"m{number}" for number in range(10, 20)])
    assert command(on_redis._client, "DBSIZE") == 0


@pytest.mark.services
def test_a_full_server_still_counts(on_redis: RedisStarts) -> None:
    with full(on_redis._client):
        assert on_redis.begin("a") == 1


@pytest.mark.services
@pytest.mark.parametrize("on_redis", WORLDS[1:], indirect=True)
def test_groups_count_apart(on_redis: RedisStarts) -> None:
    on_redis.begin("a")
    assert RedisStarts(on_redis._client, "enrichers").begin("a") == 1


def test_a_file_outlives_the_process_that_is_killed_and_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "starts.db"
    mine = LocalStarts(path, "parsers")
    mine.begin("a")
    killed = (
        "import os, sys; from pathlib import Path;"
        "from issuetracker_dagster.adapters.local_starts import LocalStarts;"
        "LocalStarts(Path(sys.argv[1]), 'parsers').begin('a'); os.kill(os.getpid(), 9)"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert mine.begin("a") == 4
    assert LocalStarts(path, "enrichers").begin("a") == 1
    mine.close()


def test_a_file_that_cannot_be_used_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(Unavailable, match="ISSUETRACKER_HOME"):
        LocalStarts(tmp_path / "home" / "starts.db", "parsers").begin("a")
    (tmp_path / "starts.db").write_bytes(b"junk" * 1000)
    with pytest.raises(Unavailable, match=r"starts\.db"):
        LocalStarts(tmp_path / "starts.db", "parsers").begin("a")


def test_beyond_the_most_that_are_asked_for_a_start_is_answered_and_not_counted(starts: Starts) -> None:
    assert [starts.begin("a:0", most=2) for _ in range(4)] == [1, 2, 3, 3]
    assert [starts.begin("a:0"), starts.begin("a:0", most=2), starts.begin("a:0")] == [3, 4, 4]
    assert [starts.begin("b:0", most=0), starts.begin("b:0", ["a:0"], most=0), starts.begin("a:0")] == [1, 1, 1]


@pytest.mark.services
def test_34_a_start_whose_reply_is_lost_counts_once(clean_valkey_url: str) -> None:
    with LossyProxy(int(urlsplit(clean_valkey_url).port or 0)) as lossy:
        starts = RedisStarts(connect(f"redis://127.0.0.1:{lossy.port}"), "parsers")
        starts.begin("a:0")
        lossy.lose(2)
        assert starts.begin("a:0", ["ended"], ["withdrawn"]) == 2
        assert lossy.lost == 2
        assert starts.begin("a:0") == 3
