"""The contract of `RetrySet`."""

import pytest

from issuetracker_dagster.adapters.memory.retries import MemoryRetrySet
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.retries import RedisRetrySet
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Origin
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.retries import RetrySet
from tests.contracts.redis_worlds import WORLDS, World, full, open_world

NOW = 1_750_000_000_000
UNREADABLE = {
    "no msgpack": b"\xc1 not msgpack",
    "nested without end": b"\x81\xa1x" + b"\x91" * 100_000 + b"\xc0",
    "no UTF-8": b"\x81\xa5topic\xa1\xff",
}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def retries(world: World) -> RetrySet:
    return MemoryRetrySet() if world.client is None else RedisRetrySet(world.client)


def entry(
    root: str, due_ms: int = NOW, *, stage: Stage = Stage.PARSER, source_ms: int = NOW - 1_000, generation: int = 1
) -> RetryEntry:
    headers = Headers(root_id=root, generation=generation, priority=Priority.HIGH, attempt=2, other=(("x", b"\xff"),))
    message = Message(headers, b"key", b'{"v":1}', Origin("fetched", 3, 77, source_ms))
    return RetryEntry(due_ms, "fetched", stage, source_ms, message)


def roots(entries: object) -> list[str]:
    assert isinstance(entries, tuple)
    return [one.message.headers.root_id for one in entries]


def test_an_entry_comes_out_whole_once_it_is_due_and_not_before(retries: RetrySet) -> None:
    retries.schedule(entry("a"))
    assert retries.due(NOW - 1) == ()
    assert retries.due(NOW) == (entry("a"),)


def test_due_entries_come_earliest_first_up_to_the_limit(retries: RetrySet) -> None:
    for root, due_ms in (("late", NOW), ("early", NOW - 20), ("middle", NOW - 10), ("future", NOW + 1)):
        retries.schedule(entry(root, due_ms))
    assert roots(retries.due(NOW, 2)) == ["early", "middle"]
    assert roots(retries.due(NOW)) == ["early", "middle", "late"]


def test_a_batch_with_one_due_time_keeps_its_order(retries: RetrySet) -> None:
    order = [f"{(7 * index) % 12:02}" for index in range(12)]
    for root in order:
        retries.schedule(entry(root))
    assert roots(retries.due(NOW)) == order


def test_a_refused_batch_scheduled_at_once_keeps_its_order(retries: RetrySet) -> None:
    order = [f"{(7 * index) % 100:03}" for index in range(100)]
    retries.schedule(entry("before"))
    retries.schedule_all([entry(root) for root in order])
    assert roots(retries.due(NOW, 200)) == ["before", *order]
    assert retries.remove(retries.due(NOW, 200)) == 101


def test_a_batch_with_ascending_due_times_keeps_its_order_and_whose_it_is(retries: RetrySet) -> None:
    batch = [entry("c", NOW), entry("b", NOW, stage=Stage.FETCH), entry("a", NOW + 1), entry("c", NOW + 2)]
    retries.schedule_all(batch)
    retries.schedule_all([])
    assert retries.due(NOW + 2) == tuple(batch[1:])
    assert retries.oldest_source_ms(Stage.FETCH) == NOW - 1_000


def test_how_many_of_some_identities_wait_is_known(retries: RetrySet) -> None:
    batch = [entry(root) for root in ("a", "b", "c")]
    retries.schedule_all(batch)
    names = [one.message.identity for one in batch]
    assert retries.holds([*names, "unknown:1"]) == 3
    retries.remove(batch[:2])
    assert retries.holds(names) == 1
    assert retries.holds([]) == 0


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_more_entries_of_one_millisecond_than_it_has_steps_are_all_due_in_it(retries: RetrySet) -> None:
    retries.schedule_all([entry(f"{index:05}") for index in range(1_100)])
    retries.schedule(entry("next", NOW + 1))
    assert roots(retries.due(NOW, 1_000)) == [f"{index:05}" for index in range(1_000)]
    assert retries.remove(retries.due(NOW, 1_000)) + retries.remove(retries.due(NOW, 1_000)) == 1_100
    assert roots(retries.due(NOW + 1)) == ["next"]


def test_entries_stay_until_they_are_removed(retries: RetrySet) -> None:
    retries.schedule(entry("a"))
    due = retries.due(NOW)
    assert retries.due(NOW) == due
    assert retries.remove(due) == 1
    assert retries.remove(due) == 0
    assert (retries.size(), retries.due(NOW), retries.oldest_source_ms(Stage.PARSER)) == (0, (), None)


def test_an_entry_scheduled_again_meanwhile_survives_the_removal_of_its_older_self(retries: RetrySet) -> None:
    retries.schedule(entry("a"))
    stale = retries.due(NOW)
    retries.schedule(entry("a", NOW + 5_000))
    assert retries.size() == 1
    assert retries.due(NOW) == ()
    assert retries.remove(stale) == 0
    assert roots(retries.due(NOW + 5_000)) == ["a"]


def test_the_newer_due_time_counts_even_when_it_is_sooner(retries: RetrySet) -> None:
    retries.schedule(entry("a", NOW + 5_000))
    retries.schedule(entry("a", NOW))
    assert retries.due(NOW) == (entry("a", NOW),)


def test_two_generations_of_one_root_are_two_entries(retries: RetrySet) -> None:
    retries.schedule(entry("a", generation=1))
    retries.schedule(entry("a", generation=2))
    assert retries.size() == 2
    assert retries.remove([entry("a", generation=1)]) == 1
    assert retries.due(NOW) == (entry("a", generation=2),)


def test_removing_a_part_of_what_is_due_leaves_the_rest(retries: RetrySet) -> None:
    for root in "abc":
        retries.schedule(entry(root))
    assert retries.remove([entry("b"), entry("b"), entry("unknown")]) == 1
    assert roots(retries.due(NOW)) == ["a", "c"]
    assert retries.remove([]) == 0


def test_the_oldest_source_is_told_a_stage_apart(retries: RetrySet) -> None:
    retries.schedule(entry("a", source_ms=NOW - 500))
    retries.schedule(entry("b", source_ms=NOW - 900))
    retries.schedule(entry("c", stage=Stage.FETCH, source_ms=NOW - 5_000))
    assert retries.oldest_source_ms(Stage.PARSER) == NOW - 900
    assert retries.oldest_source_ms(Stage.FETCH) == NOW - 5_000
    assert retries.oldest_source_ms(Stage.ENRICH) is None
    retries.remove([entry("b", source_ms=NOW - 900)])
    assert retries.oldest_source_ms(Stage.PARSER) == NOW - 500


def test_an_entry_scheduled_again_by_another_stage_is_that_stages(retries: RetrySet) -> None:
    retries.schedule(entry("a", stage=Stage.FETCH))
    retries.schedule(entry("a", stage=Stage.ENRICH))
    assert retries.oldest_source_ms(Stage.FETCH) is None
    assert retries.oldest_source_ms(Stage.ENRICH) == NOW - 1_000


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_an_entry_that_does_not_decode_is_kept_aside_and_hides_nothing(
    world: World, retries: RetrySet, data: bytes
) -> None:
    assert world.client is not None
    retries.schedule(entry("bad", NOW - 1))
    retries.schedule(entry("good"))
    command(world.client, "HSET", "{retry:due}:entries", "bad:1", data)
    assert roots(retries.due(NOW, 1)) == []
    assert roots(retries.due(NOW, 1)) == ["good"]
    assert command(world.client, "HGET", "{retry:due}:unreadable", "bad:1") == data
    assert retries.size() == 1


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_a_drained_set_leaves_no_key_but_its_fence(world: World, retries: RetrySet) -> None:
    assert world.client is not None
    retries.schedule(entry("a"))
    retries.remove([entry("a")])
    assert set(command(world.client, "KEYS", "*")) <= {b"{retry:due}:fence"}


@pytest.mark.parametrize("world", WORLDS[1:], indirect=True)
def test_a_full_server_refuses_new_entries_but_can_still_be_drained(world: World, retries: RetrySet) -> None:
    assert world.client is not None
    retries.schedule(entry("a"))
    with full(world.client):
        with pytest.raises(Unavailable, match="full"):
            retries.schedule_all([entry("b"), entry("c")])
        assert retries.holds(["a:1", "b:1"]) == 1
        assert retries.remove(retries.due(NOW)) == 1
    assert retries.size() == 0
