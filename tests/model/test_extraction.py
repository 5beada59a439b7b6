"""What parsing yields by host: stale rules, lost fields, garbled text."""

import pytest

from issuetracker_dagster.model.extraction import (
    BEFORE_MS,
    FEW,
    LOST_FOR_MS,
    LOST_HOSTS,
    STALE_MISSES,
    WINDOW_MS,
    HostYield,
    LostFields,
    ParsedPage,
    host_yields,
    lately_lost,
    remember_lost,
    rule_yields,
)


def pages(count: int, *, host: str = "a.com", garbled: float = 0.0, **sources: str) -> list[ParsedPage]:
    return [
        ParsedPage(host=host, url=f"https://{host}/{number}", sources=sources, replacement_share=garbled)
        for number in range(count)
    ]


@pytest.mark.parametrize(
    ("missed", "used", "is_stale", "misses_some"),
    [
        (STALE_MISSES, 40, True, False),
        (STALE_MISSES, 41, False, True),
        (STALE_MISSES - 1, 0, False, False),
        (10, 990, False, True),
        (200, 800, True, False),
    ],
)
def test_a_rule_is_stale_by_number_and_share_of_the_pages_it_misses(
    missed: int, used: int, is_stale: bool, misses_some: bool
) -> None:
    (rule,) = rule_yields([*pages(missed, rule="missed:7"), *pages(used, rule="used:7")])
    assert (rule.is_stale, rule.misses_some) == (is_stale, misses_some)


@pytest.mark.parametrize(("missed", "is_stale"), [(STALE_MISSES - 1, False), (STALE_MISSES, True)])
def test_a_rule_is_stale_after_ten_misses(missed: int, is_stale: bool) -> None:
    found = rule_yields([*pages(missed, rule="missed:7"), *pages(3, rule="used:7"), *pages(5, title="json_ld")])
    (rule,) = found
    assert (rule.rule_id, rule.used, rule.missed, rule.is_stale) == ("7", 3, missed, is_stale)
    assert rule.samples == ("https://a.com/0", "https://a.com/1", "https://a.com/2")


def test_a_rule_is_judged_on_each_of_its_hosts() -> None:
    found = rule_yields([*pages(12, host="new.a.com", rule="missed:7"), *pages(40, host="old.a.com", rule="used:7")])
    assert [(rule.host, rule.missed, rule.used) for rule in found] == [("new.a.com", 12, 0), ("old.a.com", 0, 40)]


@pytest.mark.parametrize(
    ("now", "before", "lost"),
    [
        (FEW, FEW, ("author",)),
        (FEW - 1, FEW, ()),
        (FEW, FEW - 1, ()),
    ],
)
def test_a_field_that_a_host_used_to_have_got_lost_when_enough_pages_say_so(
    now: int, before: int, lost: tuple[str, ...]
) -> None:
    had = pages(before, title="rule", author="rule")
    (host,) = host_yields(pages(now, title="rule"), had)
    assert host.lost == lost


def test_a_field_counts_as_lost_only_between_usual_and_rare() -> None:
    def lost(with_now: int, with_before: int) -> tuple[str, ...]:
        now = [*pages(with_now, author="json_ld"), *pages(10 - with_now)]
        before = [*pages(with_before, author="json_ld"), *pages(10 - with_before)]
        return host_yields(now, before)[0].lost

    assert lost(2, 8) == ("author",)
    assert lost(3, 8) == ()
    assert lost(2, 7) == ()


def test_a_date_that_validate_cleared_is_no_date_and_the_rule_is_no_field() -> None:
    before = pages(10, published_at="json_ld", published_ms="json_ld", rule="used:1")
    now = pages(10, published_at="json_ld", published_ms="cleared: after the fetch")
    assert host_yields(now, before)[0].lost == ("published_ms",)


@pytest.mark.parametrize(
    ("count", "share", "is_garbled"), [(FEW, 0.011, True), (FEW, 0.01, False), (FEW - 1, 0.5, False)]
)
def test_text_is_garbled_above_one_in_a_hundred_characters(count: int, share: float, is_garbled: bool) -> None:
    found = host_yields([*pages(count, garbled=share), *pages(3, host="b.com")], [])
    assert [(host.host, host.is_garbled) for host in found] == [("a.com", is_garbled), ("b.com", False)]


HOUR_MS = 3_600_000


def looked_at_hourly(hours: int, *, broken_from: int, mended_from: int, a_page_every_ms: int) -> list[bool]:
    """Whether the loss of the author is told in each hour, on a site that has a page so often and breaks in between."""
    told: list[bool] = []
    known: LostFields = {}
    start_ms = 1_750_000_000_000

    def read(since_ms: int, until_ms: int) -> list[ParsedPage]:
        found = []
        for at_ms in range(since_ms, until_ms, a_page_every_ms):
            is_broken = broken_from * HOUR_MS <= at_ms - start_ms < mended_from * HOUR_MS
            found += pages(1, title="rule") if is_broken else pages(1, title="rule", author="rule")
        return found

    for hour in range(hours):
        now_ms = start_ms + hour * HOUR_MS
        since_ms = now_ms - WINDOW_MS
        known = lately_lost(known, now_ms)
        hosts = host_yields(read(since_ms, now_ms), read(since_ms - BEFORE_MS, since_ms), known)
        known = remember_lost(known, hosts, now_ms)
        told.append(bool(hosts[0].lost))
    return told


def test_a_lost_field_is_told_until_it_is_back_however_long_the_host_stays_broken() -> None:
    told = looked_at_hourly(96, broken_from=24, mended_from=72, a_page_every_ms=300_000)
    first = told.index(True)
    assert 24 < first <= 26
    last = len(told) - told[::-1].index(True)
    assert 72 < last <= 74
    assert all(told[first:last])


def test_what_a_site_gave_up_for_good_is_told_for_a_week() -> None:
    told = looked_at_hourly(24 * 10, broken_from=24, mended_from=10_000, a_page_every_ms=600_000)
    first = told.index(True)
    assert told.count(True) == LOST_FOR_MS // HOUR_MS
    assert all(told[first : first + LOST_FOR_MS // HOUR_MS])


def test_a_loss_stays_known_while_few_pages_or_none_come() -> None:
    known = {"a.com": {"author": 5}}
    (few,) = host_yields(pages(FEW - 1, author="rule"), [], known)
    (none,) = host_yields([], [], known)
    assert (few.lost, none.lost, none.pages) == (("author",), ("author",), 0)
    assert remember_lost(known, [none], 9) == known
    (back,) = host_yields(pages(FEW, author="rule"), [], known)
    assert back.lost == ()


def test_the_memory_of_losses_has_an_end() -> None:
    hosts = [
        HostYield(host=f"h{n}.com", pages=FEW, lost=("body",), garbled=0.0, samples=()) for n in range(LOST_HOSTS + 1)
    ]
    known = {"h0.com": {"body": 1}}
    assert remember_lost(known, hosts, 9).keys() == {host.host for host in hosts[1:]}
