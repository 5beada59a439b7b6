"""The contracts of `IngestionLock` and `ProcessingLock`."""

from typing import Any

import pytest
from redis import Connection
from redis.exceptions import ResponseError

from issuetracker_dagster.adapters.memory.urls import MemoryIngestionLock, MemoryProcessingLock
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.adapters.redis.urls import RedisIngestionLock, RedisProcessingLock
from issuetracker_dagster.model.urls import url_hash
from issuetracker_dagster.ports.locks import IngestionLock, Mark, ProcessingLock
from tests.contracts.redis_worlds import CLUSTER, WORLDS, World, open_world

URL = "http://news.example.com/a?id=1"
PENDING_MS, DAY_MS = 40, 86_400_000
SERVERS = (*WORLDS[1:], CLUSTER)


@pytest.fixture(params=(*WORLDS, CLUSTER))
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


def begins(ingestion: IngestionLock, url: str, owner: str) -> bool:
    (answer,) = ingestion.begin([Mark(url, owner)])
    return answer


def test_a_url_under_way_is_known_to_others_but_not_to_its_own_parent(ingestion: IngestionLock) -> None:
    assert begins(ingestion, URL, "root-1")
    assert begins(ingestion, URL, "root-1")
    assert not begins(ingestion, URL, "root-2")
    assert begins(ingestion, "http://news.example.com/a?id=2", "root-2")


def test_a_confirmed_url_is_known_even_to_its_parent_until_its_time_is_over(
    ingestion: IngestionLock, world: World
) -> None:
    begins(ingestion, URL, "root-1")
    ingestion.confirm([(Mark(URL, "root-1"), 60)])
    assert not begins(ingestion, URL, "root-1")
    world.passes(70)
    assert begins(ingestion, URL, "root-2")


def test_a_marker_does_not_outlive_a_publish_that_never_came_back(impatient: IngestionLock, world: World) -> None:
    assert begins(impatient, URL, "crashed")
    world.passes(PENDING_MS + 10)
    assert begins(impatient, URL, "another")


def test_10_what_was_released_before_it_was_confirmed_stays_free(ingestion: IngestionLock) -> None:
    """A job may fall out of the buffer between the push and the confirmation."""
    assert begins(ingestion, URL, "root-1")
    ingestion.release([Mark(URL, "root-1")])
    ingestion.confirm([(Mark(URL, "root-1"), DAY_MS)])
    assert ingestion.view(URL) is None


def test_confirming_touches_nobody_elses_marker_and_prolongs_no_confirmed_one(
    impatient: IngestionLock, world: World
) -> None:
    assert begins(impatient, URL, "slow")
    world.passes(PENDING_MS + 10)
    assert begins(impatient, URL, "another")
    impatient.confirm([(Mark(URL, "another"), 60_000), (Mark(URL, "slow"), DAY_MS), (Mark(URL, "another"), DAY_MS)])
    view = impatient.view(URL)
    assert view is not None
    assert (view.owner, view.pending, view.expires_in_ms <= 60_000) == ("another", False, True)


def test_an_abandoned_url_is_free_at_once(ingestion: IngestionLock) -> None:
    begins(ingestion, URL, "root-1")
    ingestion.abandon([Mark(URL, "root-1")])
    assert begins(ingestion, URL, "root-2")


def test_abandoning_touches_nobody_elses_marker_and_no_confirmed_one(ingestion: IngestionLock) -> None:
    begins(ingestion, URL, "root-1")
    ingestion.abandon([Mark(URL, "root-2")])
    assert not begins(ingestion, URL, "root-2")
    ingestion.confirm([(Mark(URL, "root-1"), DAY_MS)])
    ingestion.abandon([Mark(URL, "root-1")])
    assert not begins(ingestion, URL, "root-3")


def test_a_released_url_is_free_whether_its_publish_was_confirmed_or_not(ingestion: IngestionLock) -> None:
    for url, confirmed in ((URL, False), (f"{URL}&b", True)):
        begins(ingestion, url, "root-1")
        if confirmed:
            ingestion.confirm([(Mark(url, "root-1"), DAY_MS)])
        ingestion.release([Mark(url, "root-1")])
        assert begins(ingestion, url, "root-2")


def test_releasing_touches_nobody_elses_marker(ingestion: IngestionLock) -> None:
    begins(ingestion, URL, "root-1")
    ingestion.release([Mark(URL, "root-2")])
    assert not begins(ingestion, URL, "root-2")
    ingestion.confirm([(Mark(URL, "root-1"), DAY_MS)])
    ingestion.release([Mark(URL, "root-2")])
    assert not begins(ingestion, URL, "root-2")


def test_each_url_of_a_batch_is_answered_for_itself_and_in_order(ingestion: IngestionLock) -> None:
    batch = [Mark(f"{URL}&n={number}", f"root-{number}") for number in range(300)]
    ingestion.begin(batch[::3])
    ingestion.confirm([(mark, DAY_MS) for mark in batch[::3]])
    assert list(ingestion.begin(batch)) == [number % 3 != 0 for number in range(300)]
    ingestion.abandon(batch)  # only those are pending that weren't confirmed
    assert list(ingestion.begin(batch)) == [number % 3 != 0 for number in range(300)]
    ingestion.release(batch)
    assert list(ingestion.begin(batch)) == [True] * 300


def test_of_two_marks_on_one_url_in_a_batch_the_first_takes_it(ingestion: IngestionLock) -> None:
    twice, other = Mark(URL, "root-1"), Mark(URL, "root-2")
    assert list(ingestion.begin([twice, other, twice])) == [True, False, False]
    # Taken up by root-1 before: the mark of root-2 in front of it changes nothing.
    assert list(ingestion.begin([other, twice, other])) == [False, True, False]


def test_an_empty_batch_is_no_call(ingestion: IngestionLock) -> None:
    assert list(ingestion.begin([])) == []
    ingestion.confirm([])
    ingestion.abandon([])
    ingestion.release([])


def test_what_is_known_of_a_url_can_be_looked_at(ingestion: IngestionLock) -> None:
    assert ingestion.view(URL) is None
    begins(ingestion, URL, "root:1")
    view = ingestion.view(URL)
    assert view is not None
    assert (view.owner, view.pending) == ("root:1", True)
    assert 0 < view.expires_in_ms <= 60_000
    ingestion.confirm([(Mark(URL, "root:1"), DAY_MS)])
    view = ingestion.view(URL)
    assert view is not None
    assert (view.owner, view.pending) == ("root:1", False)
    assert DAY_MS - 60_000 < view.expires_in_ms <= DAY_MS


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_a_server_that_lost_its_scripts_answers_a_whole_batch(world: World, ingestion: IngestionLock) -> None:
    assert world.client is not None
    batch = [Mark(f"{URL}&n={number}", "root-1") for number in range(50)]
    flush: Any = world.client.script_flush
    for _ in range(2):
        flush()
        assert all(ingestion.begin(batch))
    assert not any(ingestion.begin([Mark(mark.url, "root-2") for mark in batch]))


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_a_batch_is_one_round_trip(world: World, ingestion: IngestionLock, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[int]] = []
    send: Any = Connection.send_packed_command

    def counted(connection: Connection, words: Any, check_health: bool = True) -> None:
        sent.append([piece.count(b"EVALSHA") for piece in words])
        send(connection, words, check_health)

    batch = [Mark(f"{URL}&n={number}", "root-1") for number in range(500)]
    known_scripts = [Mark(URL, "root-1")]
    ingestion.begin(known_scripts)
    ingestion.confirm([(mark, DAY_MS) for mark in known_scripts])
    ingestion.release(known_scripts)
    ingestion.view(URL)
    monkeypatch.setattr(Connection, "send_packed_command", counted)
    ingestion.begin(batch)
    ingestion.confirm([(mark, DAY_MS) for mark in batch])
    ingestion.abandon(batch)
    ingestion.release(batch)
    ingestion.view(URL)
    assert sent == [[500], [500], [500], [500], [1]]


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_a_batch_that_a_server_refuses_is_an_outage_and_leaves_the_connection_clean(world: World) -> None:
    """Every reply is read, so that the next call doesn't take one of them for its own."""
    assert world.client is not None
    script("value_take").run(world.client, ["ingestion:warm"], ["pending:a", "60000"])
    command(world.client, "LPUSH", f"ingestion:url:{url_hash(URL)}", "a list where a marker should be")
    ingestion = RedisIngestionLock(world.client)
    marks = [Mark(f"{URL}&n={number}", "root-1") for number in range(5)]
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        ingestion.begin([marks[0], Mark(URL, "root-1"), *marks[1:]])
    assert list(ingestion.begin(marks)) == [True] * 5
    assert ingestion.view(marks[4].url) is not None


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_a_batch_that_is_interrupted_leaves_no_reply_to_the_next_call(
    world: World, ingestion: IngestionLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = [Mark(f"{URL}&n={number}", "root-1") for number in range(5)]
    others = [Mark(mark.url, "another") for mark in marks]
    ingestion.begin(marks)
    ingestion.release(others)  # the server knows the scripts from now on
    send: Any = Connection.send_packed_command
    read: Any = Connection.can_read
    asked: list[Connection] = []

    def interrupted(connection: Connection, *words: Any, **options: Any) -> None:
        send(connection, *words, **options)
        asked.append(connection)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "send_packed_command", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ingestion.release(others)
    # The replies may come later than the pool looks for any before it gives the connection to somebody else.
    monkeypatch.setattr(Connection, "can_read", lambda connection, timeout=0: timeout > 0 and read(connection, timeout))
    assert len(asked) == 1
    assert list(ingestion.begin(marks)) == [True] * 5


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
    assert processing.acquire("parser", f"{URL}&b", "root-1", 30)
    assert processing.acquire("parser", URL, "root-1", DAY_MS)
    world.passes(40)
    assert not processing.acquire("parser", URL, "root-2", DAY_MS)
    assert processing.acquire("parser", f"{URL}&b", "root-2", DAY_MS)


def test_locks_in_hand_are_prolonged_together(processing: ProcessingLock, world: World) -> None:
    held = [Mark(f"{URL}&n={number}", f"root-{number}") for number in range(5)]
    for mark in held:
        assert processing.acquire("parser", mark.url, mark.owner, 500)
    processing.prolong("parser", held, DAY_MS)
    world.passes(510)
    assert not any(processing.acquire("parser", mark.url, "another", DAY_MS) for mark in held)


def test_prolonging_touches_nobody_elses_lock_and_makes_none(processing: ProcessingLock, world: World) -> None:
    assert processing.acquire("parser", URL, "root-1", 60)
    processing.prolong("parser", [Mark(URL, "root-2"), Mark(f"{URL}&b", "root-2")], DAY_MS)
    processing.prolong("validate", [Mark(URL, "root-1")], DAY_MS)
    world.passes(70)
    assert processing.acquire("parser", URL, "root-3", DAY_MS)
    assert processing.acquire("parser", f"{URL}&b", "root-3", DAY_MS)
    assert processing.acquire("validate", URL, "root-3", DAY_MS)


@pytest.mark.parametrize("world", SERVERS, indirect=True)
def test_every_lock_on_a_url_has_a_time_to_live_and_a_name_of_bounded_length(
    world: World, ingestion: IngestionLock, processing: ProcessingLock
) -> None:
    assert world.client is not None
    url = f"http://news.example.com/{'x' * 5_000}"
    begins(ingestion, url, "root-1")
    processing.acquire("parser", url, "root-1", DAY_MS)
    keys = [f"ingestion:url:{url_hash(url)}", f"processing:parser:{url_hash(url)}"]
    for key in keys:
        assert len(key) < 100
        assert command(world.client, "PTTL", key) > 0
