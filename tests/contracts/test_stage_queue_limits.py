"""The contract of `StageQueue` at its bounds: overflow, age, poison, starvation, and the outbox to the DLQ."""

import pytest

from issuetracker_dagster.model.queue import PushResult, QueueLimits
from issuetracker_dagster.ports.queue import StageQueue
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


@pytest.fixture(params=ALL_WORLDS)
def at(request: pytest.FixtureRequest) -> QueueWorld:
    return open_queue_world(request)


def reasons(queue: StageQueue) -> list[tuple[str, str]]:
    return [(one.member, one.reason) for one in queue.outbox()]


def test_overflow_evicts_the_oldest_of_the_lowest_band_into_the_outbox(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=4))
    queue.push([entry("l1", LOW), entry("n1", NORMAL), entry("l2", LOW), entry("h1", HIGH)])
    assert queue.push([entry("h2", HIGH)]) == PushResult(added=1, evicted=1)
    assert reasons(queue) == [("l1", "overflow")]
    assert queue.push([entry("h3", HIGH), entry("h4", HIGH)]) == PushResult(added=2, evicted=2)
    assert reasons(queue) == [("l1", "overflow"), ("l2", "overflow"), ("n1", "overflow")]
    assert at.drain(queue) == ["h1", "h2", "h3", "h4"]


def test_overflow_inside_one_band_keeps_the_newest(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=3))
    assert queue.push(entries("abcde")) == PushResult(added=5, evicted=2)
    assert reasons(queue) == [("a", "overflow"), ("b", "overflow")]
    assert at.drain(queue) == ["c", "d", "e"]


def test_a_push_sent_again_after_it_evicted_evicts_nothing_more(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=2))
    batch = entries("abc")
    assert queue.push(batch) == PushResult(added=3, evicted=1)
    assert queue.push(batch) == PushResult(known=3)
    assert reasons(queue) == [("a", "overflow")]
    assert at.drain(queue) == ["b", "c"]


def test_with_backpressure_the_rest_of_the_batch_is_refused_and_nothing_is_evicted(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=3, backpressure=True))
    queue.push(entries("ab"))
    result = queue.push([entry("a"), entry("c"), entry("d", HIGH), entry("b"), entry("e")])
    assert result == PushResult(added=1, known=2, refused=("d", "e"))
    assert queue.outbox() == ()
    assert at.drain(queue) == ["a", "b", "c"]
    assert queue.push(entries("de")) == PushResult(added=2)


def test_backpressure_refuses_also_what_lies_beyond_one_script_call(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=10, backpressure=True))
    names = [f"m{number}" for number in range(1100)]
    result = queue.push(entries(names))
    assert (result.added, list(result.refused)) == (10, names[10:])


def test_an_entry_past_its_age_goes_to_the_outbox_instead_of_a_worker(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(entry_ttl_ms=5 * SHORT_MS))
    queue.push([entry("old", LOW), entry("old2", HIGH)])
    at.passes(5 * SHORT_MS + 1)
    queue.push([entry("new", NORMAL)])
    assert members(at.claim(queue)) == ["new"]
    assert sorted(reasons(queue)) == [("old", "expired"), ("old2", "expired")]


def test_reap_lets_go_of_aged_entries_even_when_nobody_claims(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(entry_ttl_ms=SHORT_MS))
    queue.push(entries("ab"))
    at.passes(SHORT_MS + 1)
    assert queue.reap() == 0
    assert reasons(queue) == [("a", "expired"), ("b", "expired")]


def test_an_entry_that_was_delivered_before_comes_alone(at: QueueWorld) -> None:
    queue = at.queue()
    queue.push(entries("abcd"))
    assert members(at.claim(queue, limit=2, lease_ms=SHORT_MS)) == ["a", "b"]
    at.passes(SHORT_MS + 1)
    assert members(at.claim(queue)) == ["a"]
    assert members(at.claim(queue)) == ["b"]
    assert members(at.claim(queue)) == ["c", "d"]


def test_a_suspect_in_the_middle_ends_the_batch_before_it(at: QueueWorld) -> None:
    queue = at.queue()
    queue.push([entry("suspect", NORMAL)])
    at.claim(queue, lease_ms=SHORT_MS)
    at.passes(SHORT_MS + 1)
    queue.push([entry("h", HIGH), entry("n", NORMAL)])
    assert members(at.claim(queue)) == ["h"]
    assert members(at.claim(queue)) == ["suspect"]
    assert members(at.claim(queue)) == ["n"]


def test_poison_ends_in_the_outbox_and_its_neighbours_are_unharmed(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_deliveries=2))
    queue.push([entry("poison", HIGH), entry("mate"), entry("other")])
    deaths = 0
    done: list[str] = []
    while leases := at.claim(queue, lease_ms=SHORT_MS):
        if "poison" in members(leases):
            deaths += 1
            at.passes(SHORT_MS + 1)
        else:
            done += members(leases)
            assert queue.ack(leases) == ()
    assert deaths == 2
    assert done == ["mate", "other"]
    (out,) = queue.outbox()
    assert (out.member, out.reason, out.deliveries) == ("poison", "max_deliveries", 2)


def test_worn_out_entries_dont_take_the_place_of_others_in_a_claim(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_deliveries=1))
    queue.push(entries("ab", HIGH))
    at.claim(queue, lease_ms=0)
    queue.push(entries("cde"))
    assert members(at.claim(queue, limit=3)) == ["c", "d", "e"]
    assert reasons(queue) == [("a", "max_deliveries"), ("b", "max_deliveries")]


def test_an_outbox_entry_keeps_its_envelope_and_stays_until_removed(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=1))
    queue.push([entry("a"), entry("b")])
    (out,) = queue.outbox()
    assert (out.member, out.envelope, out.source_ms) == ("a", entry("a").envelope, SOURCE_MS // 60_000 * 60_000)
    assert queue.outbox() == (out,)
    assert queue.depth().outbox == 1
    assert queue.oldest_source_ms() == out.source_ms
    assert at.drain(queue) == ["b"]
    assert queue.oldest_source_ms() == out.source_ms
    assert queue.outbox_remove([out]) == 1
    assert queue.outbox_remove([out]) == 0
    assert queue.outbox() == ()
    assert queue.oldest_source_ms() is None


def test_the_outbox_is_read_in_order_and_removed_one_by_one(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=1))
    queue.push(entries("abcd"))
    assert members_out(queue, 2) == ["a", "b"]
    assert queue.outbox(0) == ()
    first, second, third = queue.outbox()
    assert queue.outbox_remove([second]) == 1
    assert members_out(queue, 10) == ["a", "c"]
    assert queue.outbox_remove([first, second, third]) == 2


def members_out(queue: StageQueue, limit: int) -> list[str]:
    return [one.member for one in queue.outbox(limit)]


def test_a_member_in_the_outbox_counts_as_held_until_the_dlq_has_it(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_size=1))
    queue.push(entries("ab"))
    assert queue.push([entry("a", HIGH)]) == PushResult(known=1)
    queue.outbox_remove(queue.outbox())
    at.drain(queue)
    assert queue.push([entry("a", HIGH)]) == PushResult(added=1)


def test_waiting_entries_get_their_share_under_a_flood_of_high_and_not_more(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_wait_ms=SHORT_MS, max_wait_share=0.2))
    queue.push(entries([f"low{number}" for number in range(100)], LOW))
    at.passes(SHORT_MS + 1)
    queue.push(entries([f"high{number}" for number in range(200)], HIGH))
    found: list[str] = []
    for _ in range(100):
        leases = at.claim(queue, limit=1)
        queue.ack(leases)
        found += members(leases)
    lows = [name for name in found if name.startswith("low")]
    assert lows == [f"low{number}" for number in range(len(lows))]
    assert 15 <= len(lows) <= 20


def test_the_share_holds_for_large_claims_too_and_leaves_the_order_alone(at: QueueWorld) -> None:
    queue = at.queue(QueueLimits(max_wait_ms=SHORT_MS, max_wait_share=0.2))
    queue.push(entries([f"low{number}" for number in range(50)], LOW))
    at.passes(SHORT_MS + 1)
    queue.push(entries([f"high{number}" for number in range(200)], HIGH))
    first = at.claim(queue, limit=50)
    assert {lease.priority for lease in first} == {HIGH}
    second = at.claim(queue, limit=50)
    assert [lease.priority for lease in second] == [HIGH] * 40 + [LOW] * 10
    assert members(second)[40:] == [f"low{number}" for number in range(10)]


def test_without_the_guard_low_waits_for_every_high(at: QueueWorld) -> None:
    queue = at.queue()
    queue.push([entry("low", LOW)])
    at.passes(SHORT_MS + 1)
    queue.push(entries("abc", HIGH))
    assert at.drain(queue) == ["a", "b", "c", "low"]


def test_many_expired_leases_come_back_in_order(at: QueueWorld) -> None:
    queue = at.queue()
    names = [f"m{number:03d}" for number in range(250)]
    queue.push(entries(names))
    for _ in range(3):
        at.claim(queue, lease_ms=SHORT_MS)
    at.passes(SHORT_MS + 1)
    assert [queue.reap(limit=100) for _ in range(4)] == [100, 100, 50, 0]
    assert members([*at.claim(queue), *at.claim(queue, lease_ms=LONG_MS)]) == names[:2]
