"""What a look does when a server's answer is not what was expected; see `test_top` for servers that are out."""

import time
from collections.abc import Iterator

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.overview import BuffersView
from issuetracker_dagster.model.readings import Cell, Readings
from issuetracker_dagster.wiring.figures import RedisFigures
from issuetracker_dagster.wiring.lookout import Asked, Past

LONG_S = 60.0


def asked(*answers: int | Exception) -> Iterator[tuple[int | None, str]]:
    """Each answer as it shows, and why none does; a look that waits for its whole time fails the test."""
    left = iter(answers)

    def question() -> int:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    server = Asked("redis", question)
    for _ in answers:
        began = time.monotonic()
        server.ask()
        server.wait(began + LONG_S)
        assert time.monotonic() - began < LONG_S / 2
        answer, view = server.latest(LONG_S)
        yield answer, view.error


def test_an_answer_that_nobody_foresaw_is_named_at_once_and_the_next_look_asks_again() -> None:
    found = list(asked(1, Unavailable("Redis is out"), 2, ValueError("redis://:secret@host"), 3))
    assert [answer for answer, _ in found] == [1, None, 2, None, 3]
    assert [error for _, error in found][:3] == ["", "Redis is out", ""]
    assert found[3][1] == "its answer isn't understood (ValueError)"


def said(at_s: float, handled: int) -> RedisFigures:
    """What Redis says at that time, when so many messages were counted."""
    counted = Cell("issuetracker_claims_total", ("parser", "high"))
    return RedisFigures(
        now_ms=int(at_s * 1000),
        depths={},
        beats={},
        readings=Readings({counted: handled}),
        frontier=0,
        retries=0,
        relay_silent_ms=None,
        buffers=BuffersView(buffering=False, drain_run_silent_ms=None, topics=()),
    )


def claims_per_s(*figures: RedisFigures) -> list[float | None]:
    past = Past()
    rates = [past.rates(each) for each in figures]
    return [each.per_s("issuetracker_claims_total") if each else None for each in rates]


def test_rates_are_told_however_long_the_time_between_two_looks_is() -> None:
    assert claims_per_s(said(0, 0), said(31, 310), said(62, 930)) == [None, 10, 20]
    assert claims_per_s(said(0, 0), said(600, 600), said(602, 602)) == [None, 1, 1]


def test_rates_reach_back_half_a_minute_when_looks_are_closer_than_that() -> None:
    steady = [said(second, 10 * min(second, 20)) for second in range(0, 61, 2)]
    told = claims_per_s(*steady)
    assert (told[0], told[5], told[10], told[15], told[-1]) == (None, 10, 10, 6.67, 0)


def test_an_answer_that_is_shown_again_has_the_rates_that_it_had_and_that_of_another_clock_none() -> None:
    same = said(40, 400)
    assert claims_per_s(said(0, 0), same, same) == [None, 10, 10]
    assert claims_per_s(same, said(39, 500), said(41, 520)) == [None, None, 10]
