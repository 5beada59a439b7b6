"""Which seeds may be stored, how their interval adapts, and when a page is stale."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.durations import about_duration, exact_duration
from issuetracker_dagster.model.seeds import Seed, check_seed, fresh_until_ms, is_stale, may_hurry, next_interval_ms
from issuetracker_dagster.settings.kinds import duration_ms

M = 60_000
H = 60 * M
URL = "https://news.example.com/rss"


def seed(**fields: Any) -> Seed:
    return Seed(**{"url": URL, "source": "example", **fields})


def adaptive(**fields: Any) -> Seed:
    given_fields = {"interval_ms": 20 * M, "min_interval_ms": 10 * M, "max_interval_ms": H, "body_sha256": "old"}
    return seed(**{**given_fields, **fields})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"url": "news.example.com/rss"}, "write the whole URL"),
        ({"url": "ftp://news.example.com/rss"}, "http or https"),
        ({"url": "HTTPS://News.Example.com/rss#top"}, "must be written as https://news.example.com/rss"),
        ({"url": f"{URL}/{'x' * 2_000}"}, "at most 2000"),
        ({"source": " "}, "source"),
        ({"priority": 4}, r"1 \(high\)"),
        ({"interval_ms": 0}, "such as 10m"),
        ({"timeout_ms": 0}, "timeout"),
        ({"min_interval_ms": 5 * M}, "both min and max"),
        ({"max_interval_ms": 5 * M}, "both min and max"),
        ({"min_interval_ms": 20 * M, "max_interval_ms": H}, r"10m .*outside its bounds \(min 20m, max 1h\)"),
        ({"min_interval_ms": H, "max_interval_ms": M}, "min <= every <= max"),
        ({"freshness_ms": 5 * M}, "shorter than its longest interval 10m.*freshness of 20m"),
        (
            {"freshness_ms": 2 * H, "min_interval_ms": M, "max_interval_ms": 3 * H},
            "longest interval 3h.*freshness of 6h",
        ),
        ({"freshness_ms": -1}, "0 for none"),
    ],
)
def test_a_seed_that_cannot_be_is_refused_with_what_to_write(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(PermanentError, match=said) as refused:
        check_seed(seed(**fields))
    assert refused.value.code == "invalid_seed"


def test_a_good_seed_passes() -> None:
    check_seed(seed())
    check_seed(adaptive(freshness_ms=H, priority=3))
    # Which parameters its host keeps is known where it is published.
    check_seed(seed(url=f"{URL}?rss=1&sid=7"))


def test_a_change_halves_the_interval_and_sameness_lengthens_it_by_a_fifth() -> None:
    assert next_interval_ms(adaptive(), "new", 5) == 10 * M
    assert next_interval_ms(adaptive(), "old", 5) == pytest.approx(24 * M, abs=1)


def test_nothing_is_learned_without_bounds_or_a_page_or_a_look_before() -> None:
    assert next_interval_ms(seed(body_sha256="old"), "new", 5) == seed().interval_ms
    assert next_interval_ms(adaptive(), "", 0) == 20 * M
    assert next_interval_ms(adaptive(body_sha256=""), "new", 5) == 20 * M


def test_a_page_not_fetched_since_it_was_asked_for_is_no_sign_of_rest() -> None:
    assert next_interval_ms(adaptive(published_ms=100), "old", 99) == 20 * M
    assert next_interval_ms(adaptive(published_ms=100), "new", 99) == 10 * M


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 10**8), st.integers(0, 10**8), st.integers(0, 10**8))
def test_the_interval_never_leaves_its_bounds(looks: list[bool], low: int, wider: int, inside: int) -> None:
    high = low + wider
    one = adaptive(min_interval_ms=low, max_interval_ms=high, interval_ms=low + min(inside, wider))
    for changed in looks:
        found = next_interval_ms(one, "new" if changed else "old", 1)
        assert low <= found <= high
        assert found <= one.interval_ms if changed else found >= one.interval_ms
        one = msgspec.structs.replace(one, interval_ms=found)


def test_quick_to_shorten_slow_to_lengthen() -> None:
    one = adaptive(min_interval_ms=10 * M, interval_ms=10 * M)
    looks = 0
    while one.interval_ms < one.max_interval_ms:
        one = msgspec.structs.replace(one, interval_ms=next_interval_ms(one, "old", 1))
        looks += 1
    assert looks == 10
    for _ in range(3):
        one = msgspec.structs.replace(one, interval_ms=next_interval_ms(one, "new", 1))
    assert one.interval_ms == one.min_interval_ms


def test_a_page_is_stale_when_it_was_not_fetched_for_its_target() -> None:
    fresh = seed(freshness_ms=H, since_ms=1_000)
    assert fresh_until_ms(fresh, 5_000) == H + 5_000
    assert not is_stale(fresh, 5_000, H + 4_999)
    assert is_stale(fresh, 5_000, H + 5_000)


def test_the_age_of_a_page_never_fetched_counts_from_when_its_seed_was_switched_on() -> None:
    fresh = seed(freshness_ms=H, since_ms=1_000)
    assert not is_stale(fresh, 0, H + 999)
    assert is_stale(fresh, 0, H + 1_000)
    assert not is_stale(msgspec.structs.replace(fresh, since_ms=5 * H), 1, 5 * H + 1)


def test_without_a_target_or_switched_off_nothing_is_stale() -> None:
    assert fresh_until_ms(seed(), 0) is None
    assert not is_stale(seed(), 0, 10**13)
    assert not is_stale(seed(freshness_ms=H, enabled=False), 0, 10**13)


def test_a_dead_site_is_not_hammered() -> None:
    assert not may_hurry(seed(freshness_ms=H, published_ms=1), H // 2)
    assert may_hurry(seed(freshness_ms=H, published_ms=1), H // 2 + 1)
    slow = adaptive(min_interval_ms=50 * M, interval_ms=H, max_interval_ms=H, freshness_ms=H, published_ms=1)
    assert not may_hurry(slow, 50 * M)
    assert may_hurry(slow, 50 * M + 1)


@given(st.integers(0, 10**12))
def test_an_exact_duration_is_read_back_as_it_was(ms: int) -> None:
    assert duration_ms(exact_duration(ms)) == ms


@pytest.mark.parametrize(
    ("ms", "said"),
    [(0, "0s"), (-5, "0s"), (999, "0s"), (90_000, "1m 30s"), (H, "1h"), (25 * H + 59_000, "1d 1h"), (H + 5_000, "1h")],
)
def test_a_duration_as_one_reads_it(ms: int, said: str) -> None:
    assert about_duration(ms) == said
