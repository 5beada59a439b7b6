"""The size of a claim follows the time of a handler."""

from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.batching import BatchSizer


def sizer_after(*handler_s: float) -> BatchSizer:
    sizer = BatchSizer(100)
    for seconds in handler_s:
        sizer.observe(seconds)
    return sizer


def test_the_first_claim_takes_one_message() -> None:
    assert BatchSizer(100).size == 1


def test_handlers_slower_than_the_budget_are_claimed_one_by_one() -> None:
    assert sizer_after(*[0.02] * 50).size == 1


def test_fast_handlers_get_the_largest_batch() -> None:
    assert sizer_after(*[0.000_001] * 50).size == 100


def test_one_slow_message_shrinks_the_batch_at_once() -> None:
    assert sizer_after(*[0.000_01] * 50, 0.05).size == 1


def test_it_grows_slowly_after_a_slow_message() -> None:
    sizer = sizer_after(*[0.000_01] * 50, 0.05, *[0.000_01] * 10)
    assert sizer.size < 10


@given(st.lists(st.floats(min_value=0, max_value=100)), st.integers(1, 1000))
def test_the_size_stays_within_its_bounds(times: list[float], most: int) -> None:
    sizer = BatchSizer(most)
    for seconds in times:
        sizer.observe(seconds)
        assert 1 <= sizer.size <= most
