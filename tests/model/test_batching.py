"""Batches sized by a budget of work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.batching import BatchSize


def settled(size: BatchSize, each_ms: float, rounds: int) -> int:
    for _ in range(rounds):
        size.observe(size.next(), size.next() * each_ms)
    return size.next()


def test_an_unknown_handler_starts_with_one_entry() -> None:
    assert BatchSize(budget_ms=1, most=100).next() == 1


def test_the_batch_grows_to_what_fits_the_budget() -> None:
    assert settled(BatchSize(budget_ms=10, most=100), 1.0, 20) == 10
    assert settled(BatchSize(budget_ms=1, most=100), 0.0001, 20) == 100
    assert settled(BatchSize(budget_ms=1, most=100), 0.0, 20) == 100


def test_a_slow_handler_comes_one_by_one() -> None:
    assert settled(BatchSize(budget_ms=1, most=100), 20.0, 5) == 1


def test_no_step_more_than_doubles_the_batch() -> None:
    size = BatchSize(budget_ms=1, most=100)
    seen = [settled(size, 0.0, 1) for _ in range(8)]
    assert seen == [2, 4, 8, 16, 32, 64, 100, 100]


def test_it_shrinks_in_a_few_rounds_and_grows_back_in_many() -> None:
    size = BatchSize(budget_ms=10, most=100)
    assert settled(size, 0.1, 30) == 100
    assert settled(size, 10.0, 2) <= 2
    assert settled(size, 0.1, 2) <= 2
    assert settled(size, 0.1, 60) >= 50


@given(
    budget_ms=st.floats(0.1, 1000),
    most=st.integers(1, 500),
    figures=st.lists(st.tuples(st.integers(-1, 500), st.floats(-1, 1e6))),
)
def test_the_batch_is_never_below_one_nor_above_the_bound(
    budget_ms: float, most: int, figures: list[tuple[int, float]]
) -> None:
    size = BatchSize(budget_ms=budget_ms, most=most)
    for count, took_ms in figures:
        size.observe(count, took_ms)
        assert 1 <= size.next() <= most


@pytest.mark.parametrize(("budget_ms", "most"), [(0, 10), (-1, 10), (1, 0)])
def test_bounds_that_make_no_sense_are_refused(budget_ms: float, most: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        BatchSize(budget_ms=budget_ms, most=most)
