"""Limits: what they allow, and what 0 means."""

import pytest

from issuetracker_dagster.model.limits import Level, Limits, LimitsByBand
from issuetracker_dagster.model.priority import Priority


@pytest.mark.parametrize(
    ("limits", "figure", "level"),
    [
        (Limits(10, 20), 10, Level.WELL),
        (Limits(10, 20), 11, Level.WARN),
        (Limits(10, 20), 20, Level.WARN),
        (Limits(10, 20), 21, Level.ERROR),
        (Limits(0, 20), 20, Level.WELL),
        (Limits(0, 20), 21, Level.ERROR),
        (Limits(10, 0), 1_000, Level.WARN),
        (Limits(0, 0), 1_000, Level.WELL),
    ],
)
def test_a_figure_may_reach_a_limit_and_zero_is_none(limits: Limits, figure: int, level: Level) -> None:
    assert limits.level(figure) is level


def test_bounds_hold_where_no_lower_limit_is_set() -> None:
    assert Limits(10, 0).at_most(Limits(5, 50)) == Limits(5, 50)
    assert Limits(0, 40).at_most(Limits(50, 50)) == Limits(50, 40)


def test_a_bound_of_zero_is_none() -> None:
    assert Limits(10, 20).at_most(Limits(0, 0)) == Limits(10, 20)
    assert Limits(0, 0).at_most(Limits(0, 0)) == Limits(0, 0)


def test_each_priority_has_its_own() -> None:
    limits = LimitsByBand({"high": 1, "normal": 2, "low": 3}, {"high": 4, "normal": 5, "low": 6})
    assert [limits.of(priority) for priority in Priority] == [Limits(1, 4), Limits(2, 5), Limits(3, 6)]
