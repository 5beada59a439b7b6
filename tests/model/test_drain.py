"""Waiting times of a drain run."""

import math

from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.drain import DrainTally, DwellTimes


@given(st.lists(st.integers(0, 10**9), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_never_too_short_and_at_most_five_percent_too_long(waited: list[int], share: float) -> None:
    dwell = DwellTimes()
    for one in waited:
        dwell.add(one)
    exact = sorted(waited)[math.ceil(share * len(waited)) - 1]
    assert exact <= dwell.percentile_ms(share) <= exact * 1.05 + 1
    assert dwell.longest_ms == max(waited)


def test_a_clock_that_went_back_counts_as_no_time_and_nothing_at_all_gives_zero() -> None:
    dwell = DwellTimes()
    assert dwell.percentile_ms(0.5) == 0
    dwell.add(-5)
    assert (dwell.percentile_ms(0.5), dwell.longest_ms) == (0, 0)


def test_an_empty_run_has_a_summary() -> None:
    assert DrainTally().summary("its time is over").published == {}
