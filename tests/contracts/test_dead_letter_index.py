"""The contract of `DeadLetterIndex`."""

import time

import msgspec
import pytest

from issuetracker_dagster.model.letters import Indexed, LetterFilter, LetterState, indexed
from issuetracker_dagster.model.stage import Stage
from tests.contracts.store_worlds import Stores
from tests.dead_letters import junk, letter, lying, written

ALL = LetterFilter(states=())


def test_a_letter_is_found_with_all_that_its_headers_and_payload_say(stores: Stores) -> None:
    assert stores.dead_letters.record([letter(offset=4, value=b'{"url": "https://a.com/1", "raw_id": 9}')]) == 1
    (found,) = stores.dead_letters.newest(ALL, 10)
    assert stores.dead_letters.get(found.letter_id) == found
    assert (found.identity, found.stage, found.reason, found.error) == ("r:0", "parser", "http_404", "not found")
    assert (found.host, found.url, found.raw_id, found.priority) == ("a.com", "https://a.com/1", 9, 1)
    assert (found.source_topic, found.source_partition, found.source_offset) == ("fetched", 1, 7)
    assert (found.dlq_partition, found.dlq_offset, found.logged_ms, found.at_ms) == (0, 4, 2_000, 1_000)
    assert (found.key, found.value_bytes, found.target_type) == ("key", 39, "article")
    assert (found.state, found.redrive_count, found.is_exhausted) == (LetterState.OPEN, 0, False)


def test_a_letter_that_is_read_twice_is_one_row_and_stays_what_it_was_marked(stores: Stores) -> None:
    index = stores.dead_letters
    assert index.record([letter(), letter()]) == 1
    index.mark([1], LetterState.REDRIVEN, 5_000)
    assert index.record([letter(), letter("other", offset=1)]) == 1
    assert index.count() == 2
    found = index.get(1)
    assert found is not None
    assert (found.state, found.state_ms) == (LetterState.REDRIVEN, 5_000)


def test_a_letter_that_was_written_twice_is_one_row_and_another_stage_or_generation_or_value_is_another(
    stores: Stores,
) -> None:
    first = letter(offset=1)
    others = [letter(offset=2, stage=Stage.ENRICH), letter(offset=3, generation=1), letter(offset=4, value=b"{}")]
    assert stores.dead_letters.record([first, letter(offset=9), *others]) == 4


def test_random_bytes_are_indexed_by_their_place_and_kept_byte_for_byte(stores: Stores) -> None:
    first, second, anew = junk(7), junk(8), junk(7, logged_ms=9_000)
    assert stores.dead_letters.record([indexed(record) for record in (first, second, anew, first)]) == 3
    found = stores.dead_letters.after(ALL, 0, 10)
    assert [each.identity for each in found] == ["dlq:0:7", "dlq:0:8", "dlq:0:7"]
    assert {(each.stage, each.reason, each.url, each.host) for each in found} == {("unknown", "", "", "")}
    assert stores.dead_letters.kept([1, 2, 3]) == {1: first, 2: second, 3: anew}


def test_numbers_and_texts_beyond_what_a_database_takes_are_stored_all_the_same(stores: Stores) -> None:
    headers = [
        ("root_id", b"r"), ("priority", b"77"), ("dlq_stage", b"parser\x00"), ("dlq_reason", b"n\x00" * 5_000),
        ("dlq_error", b"\xed\xa0\x80" * 9_000), ("dlq_source_partition", b"9" * 19), ("dlq_source_offset", b"9" * 40),
        ("dlq_at_ms", b"9" * 16), ("redrive_count", b"9" * 15), ("target_type", b"\xf0\x9f\x98\x80" * 900),
    ]  # fmt: skip
    record = lying(msgspec.structs.replace(written(), headers=headers, value=b'{"raw_id": 9%s}' % (b"9" * 60)))
    many = [indexed(record), letter("b", b'{"url": "http://%s.com/"}' % (b"h" * 60_000), offset=1)]
    assert stores.dead_letters.record(many) == 2
    found = stores.dead_letters.get(1)
    assert found is not None
    assert (found.raw_id, found.source_partition, found.source_offset, found.at_ms) == (0, -1, -1, 2_000)


def test_a_large_letter_is_told_of_but_not_kept(stores: Stores) -> None:
    stores.dead_letters.record([letter(value=b"x" * 20_000), letter("small")])
    assert set(stores.dead_letters.kept([1, 2, 3])) == {2}
    found = stores.dead_letters.get(1)
    assert found is not None
    assert found.value_bytes == 20_000


def _some(stores: Stores) -> None:
    stores.dead_letters.record(
        [
            letter("a", at_ms=1_000),
            letter("b", at_ms=2_000, stage=Stage.FETCH, reason="expired"),
            letter("c", at_ms=3_000, value=b'{"url": "https://news.example.com/1"}'),
            letter("d", at_ms=4_000, value=b'{"url": "https://example.com/1"}', reason="expired"),
            letter("100%_", at_ms=5_000, value=b'{"url": "https://badexample.com/1"}'),
        ]
    )


@pytest.mark.parametrize(
    ("wanted", "roots"),
    [
        (LetterFilter(), ["100%_", "d", "c", "b", "a"]),
        (LetterFilter(stages=("fetch",)), ["b"]),
        (LetterFilter(stages=("fetch", "enrich", "parser"), reasons=("expired",)), ["d", "b"]),
        (LetterFilter(host="example.com"), ["d"]),
        (LetterFilter(host="*.example.com"), ["c"]),
        (LetterFilter(url="https://news.example.com/1"), ["c"]),
        (LetterFilter(since_ms=2_000, before_ms=4_000), ["c", "b"]),
        (LetterFilter(named="c"), ["c"]),
        (LetterFilter(named="c:0"), ["c"]),
        (LetterFilter(letter_ids=(1, 4, 77)), ["d", "a"]),
        (LetterFilter(named="1%_"), []),
        (LetterFilter(states=(LetterState.PURGED,)), []),
    ],
)
def test_filters_find_what_they_say_youngest_first(stores: Stores, wanted: LetterFilter, roots: list[str]) -> None:
    _some(stores)
    assert [each.identity.rpartition(":")[0] for each in stores.dead_letters.newest(wanted, 10)] == roots
    assert [each.identity.rpartition(":")[0] for each in stores.dead_letters.after(wanted, 0, 10)] == roots[::-1]
    assert stores.dead_letters.count(wanted) == len(roots)


def test_pages_by_id_see_each_letter_once(stores: Stores) -> None:
    _some(stores)
    seen: list[int] = []
    while page := stores.dead_letters.after(ALL, seen[-1] if seen else 0, 2):
        seen += [each.letter_id for each in page]
    assert seen == [1, 2, 3, 4, 5]


def test_only_open_letters_are_marked(stores: Stores) -> None:
    _some(stores)
    assert stores.dead_letters.mark([1, 2, 99], LetterState.REDRIVEN, 9_000) == 2
    assert stores.dead_letters.mark([2, 3], LetterState.PURGED, 9_001) == 1
    assert stores.dead_letters.purge(LetterFilter(states=()), 9_002) == 2
    states = [each.state for each in stores.dead_letters.after(ALL, 0, 10)]
    assert states == [LetterState.REDRIVEN, LetterState.REDRIVEN, *[LetterState.PURGED] * 3]
    assert stores.reports.counts()["dead_letters"] == 0


def test_purge_marks_what_is_meant_and_remove_takes_out_what_is_old(stores: Stores) -> None:
    _some(stores)
    assert stores.dead_letters.purge(LetterFilter(reasons=("expired",), before_ms=3_000), 9_000) == 1
    assert stores.dead_letters.count(LetterFilter()) == stores.reports.counts()["dead_letters"] == 4
    assert stores.dead_letters.remove(3_000) == 2
    assert [view.identity for view in stores.reports.dead_letters(10)] == ["100%_:0", "d:0", "c:0"]


def test_letters_are_counted_by_stage_and_reason_and_by_what_became_of_them(stores: Stores) -> None:
    _some(stores)
    before = stores.dead_letters.tally(LetterFilter(since_ms=2_000))
    assert before == {("parser", "http_404"): 2, ("parser", "expired"): 1, ("fetch", "expired"): 1}
    stores.dead_letters.purge(LetterFilter(reasons=("http_404",)), 9_000)
    assert stores.dead_letters.tally(LetterFilter(since_ms=2_000)) == {
        ("parser", "expired"): 1, ("fetch", "expired"): 1,
    }  # fmt: skip
    assert stores.dead_letters.tally(LetterFilter(since_ms=2_000, states=())) == before


def test_ten_thousand_letters_are_stored_and_searched_fast(stores: Stores) -> None:
    batch: list[Indexed] = [
        letter(f"root{n}", b'{"url": "https://host%d.com/"}' % (n % 100), offset=n, at_ms=n + 1) for n in range(10_000)
    ]
    for start in range(0, 10_000, 500):
        assert stores.dead_letters.record(batch[start : start + 500]) == 500
    began = time.monotonic()
    assert len(stores.dead_letters.newest(LetterFilter(host="host7.com", since_ms=5_000), 1_000)) == 50
    assert stores.dead_letters.count(LetterFilter(reasons=("http_404",))) == 10_000
    assert time.monotonic() - began < 5.0  # on a busy machine; milliseconds on one that has the time
