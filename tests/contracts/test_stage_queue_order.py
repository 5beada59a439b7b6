"""The contract of `StageQueue`: what comes first, and what a repeated push changes."""

import pytest

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.model.priority import Priority, score
from issuetracker_dagster.model.queue import PushResult, QueueEntry
from issuetracker_dagster.ports.queue import StageQueue
from tests.contracts.queue_worlds import (
    ALL_WORLDS,
    HIGH,
    LONG_MS,
    LOW,
    NORMAL,
    SHORT_MS,
    QueueWorld,
    entries,
    entry,
    members,
    open_queue_world,
)


@pytest.fixture(params=ALL_WORLDS)
def at(request: pytest.FixtureRequest) -> QueueWorld:
    return open_queue_world(request)


@pytest.fixture
def queue(at: QueueWorld) -> StageQueue:
    return at.queue()


def test_high_comes_before_normal_before_low(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("l", LOW), entry("n", NORMAL), entry("h", HIGH)])
    queue.push([entry("h2", HIGH)])
    assert at.drain(queue) == ["h", "h2", "n", "l"]


def test_a_band_is_first_in_first_out_even_within_one_millisecond(at: QueueWorld, queue: StageQueue) -> None:
    names = [f"m{number * 7919 % 300:03d}" for number in range(300)]
    queue.push(entries(names[:200]))
    queue.push(entries(names[200:]))
    assert at.drain(queue) == names


def test_a_batch_larger_than_one_script_call_keeps_its_order(at: QueueWorld, queue: StageQueue) -> None:
    names = [f"m{number * 7919 % 1203}" for number in range(1203)]
    assert queue.push(entries(names)) == PushResult(added=1203)
    assert at.drain(queue) == names


def test_every_arrival_is_distinct_and_its_band_can_be_read_back(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry(f"{band.label}{number}", band) for number in range(100) for band in Priority])
    leases = [*at.claim(queue), *at.claim(queue), *at.claim(queue)]
    assert len({lease.arrival_ms for lease in leases}) == 300
    for lease in leases:
        assert lease.member.startswith(lease.priority.label)
        assert lease.arrival_ms * 256 == int(lease.arrival_ms * 256)
        assert score(lease.priority, lease.arrival_ms) < score(lease.priority, lease.arrival_ms + 1 / 256)


def test_the_envelope_comes_back_byte_for_byte(at: QueueWorld, queue: StageQueue) -> None:
    body = bytes(range(256)) * 3
    queue.push([QueueEntry("méß 1", HIGH, 0, body), entry("empty").__class__("empty", LOW, 0, b"")])
    first, second = at.claim(queue)
    assert (first.member, first.envelope, first.deliveries) == ("méß 1", body, 1)
    assert (second.member, second.envelope) == ("empty", b"")


def test_a_member_pushed_again_while_waiting_keeps_its_place(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries(["a", "b"]))
    assert queue.push(entries(["a", "c"])) == PushResult(added=1, known=1)
    assert at.drain(queue) == ["a", "b", "c"]


def test_a_member_twice_in_one_batch_is_stored_once_in_its_better_band(at: QueueWorld, queue: StageQueue) -> None:
    assert queue.push([entry("a", LOW), entry("b", NORMAL), entry("a", HIGH)]) == PushResult(added=2, promoted=1)
    assert at.drain(queue) == ["a", "b"]


def test_a_held_member_twice_in_one_batch_ends_in_the_best_of_its_bands(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a", LOW), entry("b", LOW)])
    a, b = at.claim(queue)
    queue.release([a])
    better = [entry("a", HIGH), entry("a", NORMAL), entry("b", NORMAL), entry("b", HIGH), entry("b", LOW)]
    assert queue.push(better) == PushResult(known=2, promoted=3)
    queue.release([b])
    assert [(lease.member, lease.priority) for lease in at.claim(queue)] == [("a", HIGH), ("b", HIGH)]


def test_a_member_may_move_to_a_better_band_at_its_own_age(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("old", LOW), entry("young", HIGH), entry("other", LOW)])
    assert queue.push([entry("old", HIGH)]) == PushResult(promoted=1)
    assert at.drain(queue) == ["old", "young", "other"]


def test_a_member_never_moves_to_a_worse_band(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a", HIGH), entry("b", NORMAL)])
    assert queue.push([entry("a", LOW)]) == PushResult(known=1)
    assert at.drain(queue) == ["a", "b"]


def test_a_member_pushed_again_while_leased_isnt_delivered_twice(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    leases = at.claim(queue)
    assert queue.push([entry("a")]) == PushResult(known=1)
    assert at.claim(queue) == ()
    assert queue.ack(leases) == ()
    assert queue.depth().total == 0


def test_a_leased_member_promoted_meanwhile_comes_back_in_its_better_band(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("n", NORMAL), entry("l", LOW)])
    leases = at.claim(queue)
    assert queue.push([entry("l", HIGH)]) == PushResult(promoted=1)
    assert queue.release(leases) == ()
    assert at.drain(queue) == ["l", "n"]


def test_a_delayed_member_promoted_meanwhile_stays_delayed(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a", LOW), entry("b", NORMAL)])
    (b, a) = at.claim(queue)
    assert queue.nack(a, SHORT_MS)
    assert queue.push([entry("a", HIGH)]) == PushResult(promoted=1)
    assert at.claim(queue) == ()
    queue.release([b])
    at.passes(SHORT_MS)
    assert members(at.claim(queue)) == ["a", "b"]


def test_an_acknowledged_member_may_come_again(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    assert at.drain(queue) == ["a"]
    assert queue.push([entry("a")]) == PushResult(added=1)
    assert at.drain(queue) == ["a"]


def test_an_empty_push_and_a_claim_of_nothing_change_nothing(at: QueueWorld, queue: StageQueue) -> None:
    assert queue.push([]) == PushResult()
    assert queue.claim(at.new_id(), 0, LONG_MS).leases == ()
    queue.push([entry("a")])
    assert queue.claim(at.new_id(), 0, LONG_MS).leases == ()
    assert queue.depth().ready == 1


def test_the_oldest_source_time_is_exact_to_the_minute_until_the_ack(at: QueueWorld, queue: StageQueue) -> None:
    assert queue.oldest_source_ms() is None
    minute = 1_750_000_020_000
    queue.push(
        [entry("new", HIGH, minute + 180_000), entry("old", LOW, minute + 59_999), entry("mid", LOW, minute + 60_000)]
    )
    assert queue.oldest_source_ms() == minute
    (new, old, mid) = at.claim(queue)
    assert queue.nack(mid, LONG_MS)
    assert queue.oldest_source_ms() == minute
    assert queue.ack([old]) == ()
    assert queue.oldest_source_ms() == minute + 60_000
    queue.release([new])
    assert at.drain(queue) == ["new"]
    assert queue.oldest_source_ms() == minute + 60_000


def test_depth_tells_bands_states_and_ages(at: QueueWorld, queue: StageQueue) -> None:
    assert queue.depth().epoch is None
    epoch = queue.open()
    queue.push([entry("h", HIGH), entry("h2", HIGH), entry("n", NORMAL), entry("l", LOW)])
    (h, h2) = at.claim(queue, limit=2)
    assert queue.nack(h2, LONG_MS)
    at.passes(SHORT_MS)
    depth = queue.depth()
    assert {band: depth.bands[band].ready for band in Priority} == {HIGH: 0, NORMAL: 1, LOW: 1}
    assert (depth.leased, depth.delayed, depth.outbox, depth.ready, depth.total) == (1, 1, 0, 2, 4)
    assert depth.bands[HIGH].oldest_age_ms == 0
    assert SHORT_MS <= depth.bands[NORMAL].oldest_age_ms < SHORT_MS + 30_000
    assert depth.epoch == epoch == queue.open()
    assert queue.ack([h]) == ()


@pytest.mark.parametrize("key", ["", "{parser}:queue", "parser}", "a{"])
def test_a_key_with_braces_is_refused_with_what_is_accepted(at: QueueWorld, key: str) -> None:
    at.key = key
    with pytest.raises(ConfigError, match=r"without \{ and \}, such as parser:zset:queue"):
        at.queue()
