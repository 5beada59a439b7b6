"""What is noticed of the data of a Redis that came back without it, or was replaced by another."""

import msgspec

from issuetracker_dagster.model.losses import (
    LOSSES_KEPT,
    TOLD_FOR_MS,
    Holding,
    Kind,
    Loss,
    Memory,
    lately,
    new_losses,
    remember,
)
from issuetracker_dagster.model.probe import ProbeMemory, decode_probe, encode_probe

NOW_MS = 1_750_000_000_000
FULL = Holding("retries", 7, mark="a", history="h1", length=1_000)


def seen(*holdings: Holding) -> Memory:
    """Looked at one after the other, a second apart."""
    memory = Memory()
    for second, holding in enumerate(holdings):
        memory = remember(memory, [holding], NOW_MS + second * 1_000)
    return memory


def losses(*holdings: Holding) -> list[Loss]:
    return list(seen(*holdings).losses["retries"])


def test_other_data_than_before_is_a_loss_of_what_was_seen_last() -> None:
    (loss,) = losses(FULL, msgspec.structs.replace(FULL, mark="b", count=0))
    assert (loss.kind, loss.count, loss.seen_ms, loss.noticed_ms) == (Kind.WIPED, 7, NOW_MS, NOW_MS + 1_000)


def test_a_server_that_comes_back_with_its_append_only_file_has_lost_nothing() -> None:
    assert losses(FULL, msgspec.structs.replace(FULL, history="h2", length=10, count=0)) == []


def test_what_is_worked_off_is_no_loss() -> None:
    assert losses(FULL, msgspec.structs.replace(FULL, count=0, length=2_000)) == []


def test_a_replica_that_followed_less_far_than_was_seen_is_behind() -> None:
    successor = msgspec.structs.replace(FULL, history="h2", before="h1")
    assert [loss.kind for loss in losses(FULL, msgspec.structs.replace(successor, followed=1_000))] == [Kind.BEHIND]
    assert [loss.kind for loss in losses(FULL, msgspec.structs.replace(successor, followed=1_001))] == [Kind.TAKEN_OVER]


def test_after_two_failovers_unseen_nothing_is_known_and_the_worst_is_told() -> None:
    successor = msgspec.structs.replace(FULL, history="h3", before="h2", followed=9_000)
    assert [loss.kind for loss in losses(FULL, successor)] == [Kind.BEHIND]


def test_a_loss_is_noticed_once_and_told_for_a_day() -> None:
    wiped = msgspec.structs.replace(FULL, mark="b")
    first, then = seen(FULL, wiped), seen(FULL, wiped, wiped)
    assert len(new_losses(seen(FULL), first)) == 1
    assert new_losses(first, then) == []
    noticed_ms = NOW_MS + 1_000
    assert lately(then, "retries", noticed_ms + TOLD_FOR_MS - 1)
    assert not lately(then, "retries", noticed_ms + TOLD_FOR_MS)
    assert remember(then, [wiped], noticed_ms + TOLD_FOR_MS).losses["retries"] == ()


def test_what_waited_came_after_the_moment_at_which_nothing_did() -> None:
    empty = msgspec.structs.replace(FULL, count=0)
    (loss,) = losses(empty, FULL, msgspec.structs.replace(FULL, mark="b"))
    assert loss.since_ms == NOW_MS
    (loss,) = losses(FULL, msgspec.structs.replace(FULL, mark="b"))
    assert loss.since_ms == 0


def test_a_server_that_is_wiped_all_the_time_makes_no_endless_memory() -> None:
    memory = seen(*(msgspec.structs.replace(FULL, mark=str(number)) for number in range(3 * LOSSES_KEPT)))
    assert len(memory.losses["retries"]) == LOSSES_KEPT


def test_a_memory_survives_as_text_and_what_is_none_is_forgotten() -> None:
    memory = seen(FULL, msgspec.structs.replace(FULL, mark="b"))
    known = ProbeMemory(memory.seen, memory.losses, {"a.com": {"author": 5}}, 7)
    assert decode_probe(encode_probe(known)) == known
    assert decode_probe("") == decode_probe("{") == decode_probe('{"seen": 1}') == ProbeMemory()
