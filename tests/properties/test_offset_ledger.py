"""The ledger of offsets against a plain set: a commit never passes a record that is still in somebody's hands."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.adapters.kafka.ledger import OffsetLedger

P = ("fetched", 0)
Q = ("fetched", 1)


def ledger_of(*offsets: int) -> OffsetLedger:
    ledger = OffsetLedger()
    for offset in offsets:
        ledger.delivered(P, offset)
    return ledger


@given(
    gaps=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    start=st.integers(0, 1000),
    order=st.randoms(use_true_random=False),
    deliver_first=st.booleans(),
)
def test_the_position_is_the_smallest_outstanding_offset_or_the_one_after_the_last(
    gaps: list[int], start: int, order: random.Random, deliver_first: bool
) -> None:
    offsets = [start]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    ledger = OffsetLedger()
    outstanding: set[int] = set()
    arriving = list(offsets)
    confirmed = start
    if deliver_first:
        while arriving:
            outstanding.add(arriving[0])
            ledger.delivered(P, arriving.pop(0))
    while arriving or outstanding:
        if arriving and (not outstanding or len(outstanding) < 3):
            outstanding.add(arriving[0])
            ledger.delivered(P, arriving.pop(0))
        else:
            choices = sorted(outstanding)
            order.shuffle(choices)
            ledger.settle(P, choices[0])
            outstanding.remove(choices[0])
        delivered = offsets[: len(offsets) - len(arriving)]
        expected = min(outstanding) if outstanding else delivered[-1] + 1
        due = ledger.due()
        assert due == ({P: expected} if expected > confirmed else {})
        assert ledger.outstanding() == len(outstanding)
        if due and expected % 2:
            ledger.confirm(due)
            confirmed = expected
    assert confirmed <= offsets[-1] + 1


def test_nothing_is_due_while_the_first_record_is_outstanding() -> None:
    ledger = ledger_of(5, 6, 7)
    ledger.settle(P, 6)
    ledger.settle(P, 7)
    assert ledger.due() == {}


def test_what_was_confirmed_is_not_due_again() -> None:
    ledger = ledger_of(0, 1)
    ledger.settle(P, 0)
    ledger.confirm(ledger.due())
    assert ledger.due() == {}
    ledger.settle(P, 1)
    assert ledger.due() == {P: 2}


def test_offsets_that_compaction_removed_hold_nothing_back() -> None:
    ledger = ledger_of(2, 9, 40)
    ledger.settle(P, 2)
    ledger.settle(P, 9)
    assert ledger.due() == {P: 40}


def test_settling_twice_or_what_was_never_delivered_changes_nothing() -> None:
    ledger = ledger_of(3, 4)
    ledger.settle(P, 3)
    ledger.settle(P, 3)
    ledger.settle(P, 2)
    ledger.settle(P, 99)
    ledger.settle(Q, 3)
    assert ledger.due() == {P: 4}
    assert ledger.outstanding() == 1


def test_a_forgotten_partition_ignores_what_is_settled_later() -> None:
    ledger = ledger_of(0, 1)
    ledger.delivered(Q, 7)
    ledger.settle(P, 0)
    ledger.forget([P])
    ledger.settle(P, 1)
    ledger.settle(Q, 7)
    assert ledger.due() == {Q: 8}


def test_only_the_partitions_asked_for_are_due() -> None:
    ledger = ledger_of(0)
    ledger.delivered(Q, 0)
    ledger.settle(P, 0)
    ledger.settle(Q, 0)
    assert ledger.due([Q, ("elsewhere", 0)]) == {Q: 1}


def test_reading_anew_from_a_lower_offset_starts_over() -> None:
    ledger = ledger_of(5, 6)
    ledger.settle(P, 5)
    ledger.delivered(P, 2)
    assert ledger.due() == {}
    ledger.settle(P, 2)
    assert ledger.due() == {P: 3}


@pytest.mark.parametrize("count", [50_000])
def test_settling_many_in_reverse_order_takes_linear_time(count: int) -> None:
    ledger = ledger_of(*range(count))
    for offset in reversed(range(count)):
        ledger.settle(P, offset)
        if offset % 50 == 0:
            ledger.due()
    assert ledger.due() == {P: count}
