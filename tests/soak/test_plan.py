"""The plan of a soak is a pure function of its seed."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.soak.plan import SHAPES, Kind, plan, told


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    assert plan(7, 30, 4) == plan(7, 30, 4)
    assert list(told(plan(7, 30, 4))) == list(told(plan(7, 30, 4)))
    assert plan(7, 30, 4) != plan(8, 30, 4)


def test_thirty_minutes_at_the_default_rate_hold_a_hundred_faults_and_every_kind() -> None:
    dealt = Counter(fault.kind for fault in plan(7, 30, 4))
    assert dealt.total() >= 100
    assert set(dealt) == set(Kind)


@given(st.integers(0, 2**32), st.floats(0.5, 40), st.floats(0.5, 10))
def test_two_faults_that_need_the_same_never_overlap(seed: int, minutes: float, a_minute: float) -> None:
    ends: dict[str, float] = {}
    for number, fault in enumerate(plan(seed, minutes, a_minute), 1):
        needs = SHAPES[fault.kind].needs
        assert fault.number == number
        assert fault.at_s >= ends.get(needs, 0.0)
        ends[needs] = fault.at_s + fault.lasts_s


def test_only_the_named_kinds_are_dealt() -> None:
    found = plan(7, 10, 4, [Kind.REDIS_SLOW, Kind.SHIFT_KILLED])
    assert {fault.kind for fault in found} == {Kind.REDIS_SLOW, Kind.SHIFT_KILLED}


@given(st.integers(0, 1000), st.integers(1, 20))
def test_a_target_is_always_one_of_those_that_live(seed: int, count: int) -> None:
    assert all(0 <= fault.pick(count) < count for fault in plan(seed, 5, 4))
