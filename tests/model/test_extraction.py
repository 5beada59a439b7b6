"""What parsing yields by host: stale rules, lost fields, garbled text."""

import pytest

from issuetracker_dagster.model.extraction import FEW, STALE_MISSES, ParsedPage, host_yields, rule_yields


def pages(count: int, *, host: str = "a.com", garbled: float = 0.0, **sources: str) -> list[ParsedPage]:
    return [
        ParsedPage(host=host, url=f"https://{host}/{number}", sources=sources, replacement_share=garbled)
        for number in range(count)
    ]


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
