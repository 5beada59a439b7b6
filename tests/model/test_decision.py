"""The pure decision: how a message's handling ended, and what that means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.decision import DeadLetter, Retry, decide
from issuetracker_dagster.model.headers import Headers, headers_from_raw
from issuetracker_dagster.model.priority import (
    Priority,
    arrival_of_score,
    priority_from_headers,
    priority_of_score,
    score,
)
from issuetracker_dagster.model.retry import RetryPolicy, backoff_ms

POLICY = RetryPolicy()


@given(st.integers(1, 10**6), st.floats(0, 1, exclude_max=True))
def test_a_delay_stays_within_its_cap_and_jitter(attempt: int, uniform: float) -> None:
    delay = backoff_ms(attempt, POLICY, uniform)
    assert 0.75 * 5_000 - 1 <= delay <= 1.25 * 300_000


def test_delays_double() -> None:
    assert [backoff_ms(attempt, POLICY, 0.5) for attempt in (1, 2, 3, 4)] == [5_000, 10_000, 20_000, 40_000]


@given(st.integers(1, 50))
def test_there_are_exactly_as_many_attempts_as_the_policy_allows(most: int) -> None:
    policy = RetryPolicy(max_attempts=most)
    headers, tries = Headers(root_id="r"), 1
    while isinstance(decide(ValueError("x"), headers, policy, 0, lambda: 0.5), Retry):
        headers, tries = headers.evolve(attempt=headers.attempt + 1), tries + 1
    assert tries == most
    assert isinstance(decide(ValueError("x"), headers, policy, 0, lambda: 0.5), DeadLetter)


@pytest.mark.parametrize("value", [None, b"", b"x", b"0", b"4", b"-1", b"1.5", "²", b"\xff", b"1e0"])
def test_a_priority_header_that_is_no_priority_is_normal(value: bytes | str | None) -> None:
    assert priority_from_headers(value) is Priority.NORMAL


@pytest.mark.parametrize(("value", "priority"), [(b"1", Priority.HIGH), ("2", Priority.NORMAL), (b" 3", Priority.LOW)])
def test_a_priority_header_is_read(value: bytes | str, priority: Priority) -> None:
    assert priority_from_headers(value) is priority


@given(st.sampled_from(list(Priority)), st.integers(0, 256 * 5_180_000_000_000))  # up to the year 2134
def test_priority_and_arrival_come_back_out_of_a_score(priority: Priority, ticks: int) -> None:
    value = score(priority, ticks / 256)
    assert priority_of_score(value) is priority
    assert arrival_of_score(value) == ticks / 256


headers = st.builds(
    Headers,
    root_id=st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, categories=["L", "N"]), min_size=1),
    generation=st.integers(0, 10**9),
    priority=st.sampled_from(list(Priority)),
    crawler=st.text(),
    timeout_ms=st.integers(1, 10**9),
    trace_id=st.text(),
    first_published_ms=st.integers(0, 10**14),
    attempt=st.integers(1, 10**6),
    recrawl_count=st.integers(0, 10**6),
    other=st.lists(st.tuples(st.text(min_size=1).map("x-".__add__), st.binary())).map(tuple),
)


@given(headers)
def test_headers_survive_kafka(sent: Headers) -> None:
    assert headers_from_raw(sent.to_raw()) == sent


@given(st.lists(st.tuples(st.text(), st.binary() | st.none())))
def test_hostile_headers_never_crash(raw: list[tuple[str, bytes | None]]) -> None:
    assert headers_from_raw([*raw, ("root_id", b"r")]).root_id == "r"
