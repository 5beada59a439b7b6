"""The contract of `StageQueue`: who holds what, for how long, and what a stale or repeated call may do (nothing)."""

import threading

import pytest

from issuetracker_dagster.model.queue import Claim, Lease
from issuetracker_dagster.ports.queue import StageQueue
from tests.contracts.queue_worlds import (
    ALL_WORLDS,
    HIGH,
    LONG_MS,
    LOW,
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


def test_a_claimed_entry_stays_until_its_ack(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("ab"))
    leases = at.claim(queue)
    assert at.claim(queue) == ()
    assert queue.depth().leased == 2
    assert queue.ack(leases) == ()
    assert queue.depth().total == 0


def test_finished_members_ride_on_the_next_claim(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("abc"))
    first = at.claim(queue, limit=2)
    second = at.claim(queue, limit=2, acks=first)
    assert members(second) == ["c"]
    assert queue.depth().leased == 1


def test_an_expired_lease_comes_back_at_its_place_with_one_delivery_more(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("ab"))
    assert members(at.claim(queue, limit=1, lease_ms=SHORT_MS)) == ["a"]
    at.passes(SHORT_MS)
    (again,) = at.claim(queue, limit=1)
    assert (again.member, again.deliveries) == ("a", 2)


def test_reap_brings_back_expired_leases_and_due_delays_and_nothing_else(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("abcd"))
    a, b = at.claim(queue, limit=2, lease_ms=SHORT_MS)
    c, d = at.claim(queue, limit=2)
    assert queue.nack(d, SHORT_MS)
    at.passes(SHORT_MS)
    assert queue.reap(limit=2) == 2
    assert queue.reap() == 1
    assert queue.reap() == 0
    assert queue.depth().leased == 1
    assert queue.ack([c]) == ()
    assert queue.ack([a, b, d]) == ("a", "b", "d")


def test_a_slow_worker_that_extends_keeps_its_lease(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    leases = at.claim(queue, lease_ms=SHORT_MS)
    assert queue.extend(leases, LONG_MS) == ()
    at.passes(2 * SHORT_MS)
    assert queue.reap() == 0
    assert at.claim(queue) == ()
    assert queue.ack(leases) == ()


def test_an_extend_whose_reply_was_lost_doesnt_make_the_rightful_ack_stale(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    leases = at.claim(queue)
    assert queue.extend(leases, LONG_MS) == ()
    assert queue.extend(leases, LONG_MS) == ()
    assert queue.ack(leases) == ()


def test_extend_never_creates_anything(at: QueueWorld, queue: StageQueue) -> None:
    ghost = Lease("ghost", "claim", HIGH, 1.0, 1, b"")
    assert queue.extend([ghost], LONG_MS) == ("ghost",)
    assert queue.depth().total == 0
    queue.push([entry("a")])
    leases = at.claim(queue)
    queue.ack(leases)
    assert queue.extend(leases, LONG_MS) == ("a",)
    assert queue.depth().total == 0


def test_ack_with_a_stale_lease_is_refused(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    stale = at.claim(queue, lease_ms=SHORT_MS)
    at.passes(SHORT_MS)
    fresh = at.claim(queue)
    assert queue.ack(stale) == ("a",)
    assert queue.extend(stale, LONG_MS) == ("a",)
    assert queue.release(stale) == ("a",)
    assert not queue.nack(stale[0], 0)
    assert queue.claim(at.new_id(), 10, LONG_MS, stale) == Claim((), ("a",))
    assert queue.depth().leased == 1
    assert queue.ack(fresh) == ()


def test_a_stale_ack_is_refused_also_when_both_leases_end_together(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    first = at.claim(queue, lease_ms=SHORT_MS)
    assert queue.release(first) == ()
    second = at.claim(queue, lease_ms=SHORT_MS)
    assert queue.ack(first) == ("a",)
    assert queue.ack(second) == ()


def test_an_ack_of_one_lease_twice_counts_once(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a"), entry("b")])
    a, b = at.claim(queue)
    assert queue.ack([a, a]) == ("a",)
    assert queue.oldest_source_ms() is not None
    assert queue.ack([b]) == ()
    assert queue.oldest_source_ms() is None


def test_an_expired_lease_that_nobody_took_may_still_be_acknowledged(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    leases = at.claim(queue, lease_ms=SHORT_MS)
    at.passes(SHORT_MS)
    assert queue.ack(leases) == ()
    assert queue.reap() == 0


def test_a_claim_sent_again_returns_the_same_leases_and_applies_its_acks_once(
    at: QueueWorld, queue: StageQueue
) -> None:
    queue.push(entries("abcd"))
    stale = at.claim(queue, limit=1, lease_ms=SHORT_MS)
    queue.release(stale)
    done = at.claim(queue, limit=2)
    first = queue.claim("lost-reply", 1, LONG_MS, [*done, *stale])
    assert (members(first), first.refused) == (["c"], ("a",))
    assert queue.claim("lost-reply", 1, LONG_MS, [*done, *stale]) == first
    assert members(at.claim(queue)) == ["d"]


def test_a_claim_that_found_nothing_answers_the_same_about_its_acks(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("ab"))
    done = at.claim(queue)
    first = queue.claim("lost-reply", 5, LONG_MS, done)
    assert first == Claim((), ())
    queue.push([entry("c")])
    assert queue.claim("lost-reply", 5, LONG_MS, done) == first
    assert members(at.claim(queue)) == ["c"]


def test_a_repeated_claim_gives_a_full_lease_and_leaves_out_what_others_took(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("ab"))
    assert members(queue.claim("lost-reply", 2, SHORT_MS)) == ["a", "b"]
    assert members(queue.claim("lost-reply", 2, 2 * SHORT_MS)) == ["a", "b"]
    at.passes(2 * SHORT_MS)
    assert members(at.claim(queue, limit=1)) == ["a"]
    assert queue.claim("lost-reply", 2, LONG_MS).leases == ()


def test_a_delayed_entry_isnt_leased_and_returns_at_its_place_undelivered(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("ab"))
    a, b = at.claim(queue)
    assert queue.nack(a, SHORT_MS)
    queue.release([b])
    assert queue.depth().delayed == 1
    assert queue.depth().leased == 0
    at.passes(SHORT_MS)
    found = at.claim(queue)
    assert [(lease.member, lease.deliveries) for lease in found] == [("a", 1), ("b", 1)]
    assert found[0].arrival_ms == a.arrival_ms


def test_a_nack_sent_again_succeeds_and_moves_nothing(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    (a,) = at.claim(queue)
    assert queue.nack(a, SHORT_MS)
    assert queue.nack(a, LONG_MS)
    assert queue.ack([a]) == ("a",)
    at.passes(SHORT_MS)
    assert members(at.claim(queue)) == ["a"]
    assert not queue.nack(a, SHORT_MS)


def test_a_released_entry_is_ready_at_once_at_its_place_undelivered(at: QueueWorld, queue: StageQueue) -> None:
    queue.push(entries("ab"))
    leases = at.claim(queue, limit=1)
    assert queue.release(leases) == ()
    assert queue.release(leases) == ("a",)
    assert [(lease.member, lease.deliveries) for lease in at.claim(queue)] == [("a", 1), ("b", 1)]


def test_a_release_after_an_expiry_keeps_the_deliveries_so_far(at: QueueWorld, queue: StageQueue) -> None:
    queue.push([entry("a")])
    at.claim(queue, lease_ms=SHORT_MS)
    at.passes(SHORT_MS)
    queue.release(at.claim(queue))
    (again,) = at.claim(queue)
    assert again.deliveries == 2


@pytest.mark.parametrize("claim_id", ["", "two words", "~marked"])
def test_a_malformed_claim_id_is_refused(queue: StageQueue, claim_id: str) -> None:
    with pytest.raises(ValueError, match="claim id"):
        queue.claim(claim_id, 1, LONG_MS)


def test_many_workers_at_once_get_each_entry_once(at: QueueWorld, queue: StageQueue) -> None:
    names = [f"m{number}" for number in range(400)]
    queue.push([entry(name, HIGH if number % 3 else LOW) for number, name in enumerate(names)])
    found: list[str] = []

    def work(worker: int) -> None:
        acks: tuple[Lease, ...] = ()
        for number in range(200):
            claim = queue.claim(f"worker-{worker}-{number}", 7, LONG_MS, acks)
            assert claim.refused == ()
            acks = claim.leases
            found.extend(members(acks))
            if not acks:
                return

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(found) == sorted(names)
    assert queue.depth().total == 0
