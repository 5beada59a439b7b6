"""The gold gate: what is read on recorded pages, charsets and feeds doesn't fall below its floors."""

from pathlib import Path

import pytest

from benchmarks.quality import files, readers
from benchmarks.quality.figures import Floors, broken, fallen, floors, korean, runs
from benchmarks.quality.recorded import Gold, Page, pages
from benchmarks.quality.scoring import BodyScore, Reading, body_score, mean_score, right_fields

OURS = {"ours": readers.parser}


def silent(_: str) -> None:
    """Progress that nobody watches."""


def beside(limits: Floors, measured: dict[str, float]) -> list[str]:
    """What is broken among the figures measured here; the others are `make quality`'s."""
    least = {name: floor for name, floor in limits.least.items() if name in measured}
    return broken(measured, Floors(least=least, most={}))


@pytest.mark.slow
def test_bodies_of_recorded_english_pages_hold_their_floor(shared_data: Path) -> None:
    run = runs(pages("aeb", shared_data), OURS, silent)["ours"]
    assert not beside(floors(), {"aeb body F1": run.body.f1})


@pytest.mark.slow
def test_bodies_and_fields_of_recorded_pages_of_the_world_hold_their_floors(shared_data: Path) -> None:
    taken = list(pages("fundus", shared_data))
    run = runs(taken, OURS, silent)["ours"]
    hangul = korean(taken, run)
    assert len(hangul) >= 2
    measured = {"fundus body F1": run.body.f1, "Korean body F1": mean_score(hangul).f1}
    measured |= {f"fundus {name}": share for name, share in run.fields.items()}
    assert len(measured) == 6
    assert not beside(floors(), measured)


def test_every_recorded_charset_is_read_as_written(shared_data: Path) -> None:
    count = files.encodings(shared_data)
    assert count.total >= 29
    assert not count.wrong


def test_every_recorded_feed_is_read_or_refused_with_a_reason(shared_data: Path) -> None:
    count = files.feeds(shared_data)
    assert count.total >= 220
    assert not count.wrong


def test_a_body_is_scored_by_its_shingles() -> None:
    gold = "the council voted to rebuild the bridge"
    assert body_score(gold, gold) == BodyScore(1.0, 1.0)
    assert body_score("the council voted to", gold) == BodyScore(1.0, 0.25)
    assert body_score("", gold) == BodyScore(0.0, 0.0)
    assert body_score("", "") == BodyScore(1.0, 1.0)
    assert mean_score([BodyScore(1.0, 0.5), BodyScore(0.5, 0.5)]).f1 == pytest.approx(0.6)


def test_a_repeated_shingle_counts_as_often_as_it_is_there() -> None:
    assert body_score("one two three four " * 2, "one two three four").precision == pytest.approx(0.2)


def test_fields_are_judged_in_the_zone_of_the_gold() -> None:
    gold = Gold(id="x", url="u", body="b", title="T", authors=("A", "B"), date="2026-11-30T01:00:30+09:00")
    at = 1_795_968_000_000
    assert right_fields(Reading(title="T", authors=("B", "A"), published_ms=at), gold) == {
        "title": True, "authors": True, "day": True, "instant": True,
    }  # fmt: skip
    assert right_fields(Reading(title="t", day="2026-11-29"), gold) == {
        "title": False, "authors": False, "day": False, "instant": False,
    }  # fmt: skip


def test_a_figure_below_its_floor_or_not_measured_fails_the_gate() -> None:
    limits = Floors(least={"a": 0.9, "b": 0.9}, most={"c": 1.15})
    assert broken({"a": 0.9, "b": 0.95, "c": 1.15}, limits) == []
    assert len(broken({"a": 0.89, "c": 1.2}, limits)) == 3


def test_pages_that_got_worse_are_named_worst_first() -> None:
    assert fallen({"a": 0.9, "b": 0.9, "c": 0.9}, {"a": 0.8, "b": 0.5, "c": 0.899, "new": 0.1}) == [
        ("b", 0.9, 0.5), ("a", 0.9, 0.8),
    ]  # fmt: skip


def test_peers_read_a_page_without_metadata_and_one_without_anything() -> None:
    for html in (b"<html><body><p>Nothing here.</p></body></html>", b"<p></p>", b"x"):
        page = Page(Gold(id="x", url="https://news.example.com/1", body=""), html)
        for name, reader in readers.peers().items():
            assert isinstance(reader(page, readers.text_of_page(page)), Reading), name
