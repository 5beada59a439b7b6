"""The contract of `QueueSteering`: operators look at a queue, find members and move bands while shifts work on it."""

from collections.abc import Sequence

import pytest

from issuetracker_dagster.model.queue import LeaseTimes, QueueLimits
from issuetracker_dagster.model.queue_view import EntryView, Move, MoveResult
from issuetracker_dagster.ports.queue import QueueSteering, StageQueue
from tests.contracts.queue_worlds import (
    ALL_WORLDS,
    HIGH,
    LONG_MS,
    LOW,
    NORMAL,
    SHORT_MS,
    SOURCE_MS,
    QueueWorld,
    entries,
    entry,
    members,
    open_queue_world,
)
from tests.contracts.redis_worlds import full


@pytest.fixture(params=ALL_WORLDS)
def at(request: pytest.FixtureRequest) -> QueueWorld:
    return open_queue_world(request)


@pytest.fixture
def queue(at: QueueWorld) -> StageQueue:
    return at.queue()


@pytest.fixture
def steering(at: QueueWorld, queue: StageQueue) -> QueueSteering:
    return at.steering(queue)


def names(views: Sequence[EntryView]) -> list[str]:
    return [view.member for view in views]


def moves(*found: str) -> list[Move]:
    return [Move(name, b"\x01moved " + name.encode()) for name in found]


def test_a_look_shows_the_order_of_the_next_claims_and_takes_nothing(
    at: QueueWorld, queue: StageQueue, steering: QueueSteering
) -> None:
    queue.push([*entries("ab", LOW), entry("c", HIGH), *entries("de")])
    assert names(steering.peek(None, 10)) == ["c", "d", "e", "a", "b"]
    assert names(steering.peek(LOW, 1)) == ["a"]
    assert names(steering.peek(HIGH, 10)) == ["c"]
    assert names(steering.peek(NORMAL, 10)) == ["d", "e"]
    assert steering.peek(None, 0) == ()
    assert queue.depth().ready == 5
    assert members(at.claim(queue)) == ["c", "d", "e", "a", "b"]
    assert steering.peek(None, 10) == ()


def test_a_look_goes_on_behind_a_place_also_after_that_entry_is_gone(
    at: QueueWorld, queue: StageQueue, steering: QueueSteering
) -> None:
    queue.push([*entries("ab", HIGH), *entries("cd", LOW)])
    first = steering.peek(None, 3)
    at.claim(queue, limit=2)
    assert names(steering.peek(None, 3, after=first[0].place)) == ["c", "d"]
    assert names(steering.peek(None, 3, after=first[2].place)) == ["d"]
    assert names(steering.peek(LOW, 3, after=first[0].place)) == ["c", "d"]
    assert steering.peek(HIGH, 3, after=first[2].place) == ()


def test_a_look_tells_what_the_queue_knows_of_an_entry(
    at: QueueWorld, queue: StageQueue, steering: QueueSteering
) -> None:
    queue.push([entry("a", LOW)])
    before_ms = at.world.now_ms()
    (lease,) = at.claim(queue, lease_ms=SHORT_MS)
    at.passes(SHORT_MS)
    queue.reap()
    (view,) = steering.peek(None, 1)
    assert (view.state, view.priority, view.deliveries) == ("ready", LOW, 1)
    assert view.arrival_ms == lease.arrival_ms
    assert view.arrival_ms is not None
    assert view.arrival_ms <= before_ms + 1
    assert (view.source_ms, view.envelope) == (SOURCE_MS, lease.envelope)


def test_a_look_at_thousands_is_complete_and_in_order(queue: StageQueue, steering: QueueSteering) -> None:
    given = [f"m{number:04}" for number in range(1_203)]
    queue.push(entries(given))
    assert names(steering.peek(NORMAL, 5_000)) == given


def test_members_are_found_in_every_state(at: QueueWorld, steering: QueueSteering) -> None:
    queue = at.queue(QueueLimits(max_size=2))
    queue.push([entry("leased", HIGH), entry("delayed", HIGH)])
    leased, delayed = at.claim(queue)
    assert queue.nack(delayed, LONG_MS)
    queue.push([entry("out", LOW)])
    queue.push(entries(["ready", "next"]))
    seen = at.steering(queue).find(["ready", "ghost", "out", "leased", "delayed"])
    assert [(view.member, view.state, view.priority, view.deliveries) for view in seen] == [
        ("ready", "ready", NORMAL, 0),
        ("out", "outbox", None, 0),
        ("leased", "leased", HIGH, 1),
        ("delayed", "delayed", HIGH, 0),
    ]
    now_ms = at.world.now_ms()
    assert [view.due_ms > now_ms for view in seen] == [False, False, True, True]
    assert [bool(view.envelope) for view in seen] == [True, False, True, True]
    assert queue.ack([leased]) == ()


def test_moved_entries_keep_their_arrival_among_those_that_were_there(
    at: QueueWorld, queue: StageQueue, steering: QueueSteering
) -> None:
    queue.push([entry("h1", HIGH), entry("l1", LOW), entry("h2", HIGH), entry("l2", LOW), entry("h3", HIGH)])
    assert steering.move(moves("l2", "l1"), HIGH) == MoveResult(moved=2)
    assert at.drain(queue) == ["h1", "l1", "h2", "l2", "h3"]


def test_a_move_down_and_back_leaves_no_trace(at: QueueWorld, queue: StageQueue, steering: QueueSteering) -> None:
    queue.push([*entries("ab", HIGH), entry("c", LOW)])
    places = [view.place for view in steering.peek(None, 10)]
    assert steering.move(moves("a", "b"), LOW) == MoveResult(moved=2)
    assert names(steering.peek(None, 10)) == ["a", "b", "c"]
    assert queue.depth().bands[LOW].ready == 3
    assert steering.move(moves("a", "b"), HIGH) == MoveResult(moved=2)
    assert [view.place for view in steering.peek(None, 10)] == places
    assert at.drain(queue) == ["a", "b", "c"]


def test_a_moved_entry_is_delivered_with_its_new_band_and_envelope(
    at: QueueWorld, queue: StageQueue, steering: QueueSteering
) -> None:
    queue.push([entry("a", LOW)])
    steering.move(moves("a"), HIGH)
    (lease,) = at.claim(queue)
    assert (lease.priority, lease.envelope, lease.deliveries) == (HIGH, b"\x01moved a", 1)
    assert queue.ack([lease]) == ()
    assert queue.oldest_source_ms() is None


def test_a_delayed_entry_comes_back_in_its_new_band(at: QueueWorld, queue: StageQueue, steering: QueueSteering) -> None:
    queue.push([entry("a", LOW), entry("b", LOW)])
    (a,) = at.claim(queue, limit=1)
    assert queue.nack(a, SHORT_MS)
    assert steering.move(moves("a"), NORMAL) == MoveResult(moved=1)
    assert queue.nack(a, SHORT_MS), "a nack sent again isn't refused"
    at.passes(SHORT_MS)
    assert [(lease.member, lease.priority) for lease in at.claim(queue)] == [("a", NORMAL), ("b", LOW)]


def test_what_is_being_worked_on_stays_and_what_is_gone_isnt_made_anew(
    at: QueueWorld, queue: StageQueue, steering: QueueSteering
) -> None:
    queue.push([entry("a"), entry("b", HIGH)])
    (b,) = at.claim(queue, limit=1)
    assert steering.move(moves("a", "b", "ghost"), NORMAL) == MoveResult(same=1, leased=1, gone=1)
    assert steering.move(moves("a", "a"), LOW) == MoveResult(moved=1, same=1)
    assert queue.ack([b]) == ()
    assert at.drain(queue) == ["a"]
    assert queue.depth().total == 0
    assert steering.find(["ghost"]) == ()


def test_more_than_one_script_call_moves_whole(queue: StageQueue, steering: QueueSteering) -> None:
    given = [f"m{number:04}" for number in range(1_203)]
    queue.push(entries(given, LOW))
    assert steering.move(moves(*given), HIGH) == MoveResult(moved=1_203)
    assert names(steering.peek(HIGH, 5_000)) == given


@pytest.mark.parametrize("at", ALL_WORLDS[1:], indirect=True)
def test_a_full_server_still_lets_entries_move(at: QueueWorld, queue: StageQueue, steering: QueueSteering) -> None:
    assert at.world.client is not None
    queue.push([entry("a", LOW)])
    (view,) = steering.peek(None, 1)
    with full(at.world.client):
        assert steering.move([Move("a", view.envelope)], HIGH) == MoveResult(moved=1)
        assert names(steering.peek(HIGH, 1)) == ["a"]


def test_leases_are_near_their_end_then_over_until_somebody_brings_them_back(
    at: QueueWorld, queue: StageQueue, steering: QueueSteering
) -> None:
    assert steering.lease_times(LONG_MS) == LeaseTimes()
    queue.push(entries("abc"))
    (long,) = at.claim(queue, limit=1)
    assert steering.lease_times(1) == LeaseTimes()
    assert steering.lease_times(2 * LONG_MS) == LeaseTimes(near=1)
    at.claim(queue, limit=1, lease_ms=SHORT_MS)
    at.passes(SHORT_MS)
    found = steering.lease_times(1)
    assert (found.near, found.over) == (0, 1)
    assert 0 <= found.oldest_over_ms < LONG_MS
    assert steering.lease_times(2 * LONG_MS).near == 1
    queue.reap()
    assert queue.nack(long, LONG_MS)
    assert steering.lease_times(2 * LONG_MS) == LeaseTimes()
