"""The contracts of `RawContents` and `Contents`."""

from issuetracker_dagster.flow.sweeps import PageSweep
from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.model.letters import LetterFilter, LetterState
from issuetracker_dagster.model.records import Content, ContentStatus, MadeFrom, Verdict
from tests.contracts.store_worlds import (
    Stores,
    article,
    page,
)
from tests.dead_letters import letter


def test_a_page_comes_back_byte_for_byte(stores: Stores) -> None:
    body = bytes(range(256)) * 50
    raw_id = stores.raw_contents.save(page(body=body))
    found = stores.raw_contents.get(raw_id)
    assert found is not None
    assert (found.raw_id, found.body, found.fetched_ms) == (raw_id, body, 1_000)
    assert stores.raw_contents.get(raw_id + 1) is None


def test_latest_leaves_the_body_out(stores: Stores) -> None:
    raw_id = stores.raw_contents.save(page(body=b"long"))
    found = stores.raw_contents.latest("https://news.example.com/a")
    assert found is not None
    assert (found.raw_id, found.body, found.body_sha256) == (raw_id, b"", page(body=b"long").body_sha256)
    assert stores.raw_contents.latest("https://news.example.com/b") is None


def test_a_page_fetched_again_replaces_the_stored_one_and_its_history_stays(stores: Stores) -> None:
    raw_id = stores.raw_contents.save(page(body=b"old", fetched_ms=1_000))
    assert stores.raw_contents.save(page(body=b"new", fetched_ms=2_000)) == raw_id
    found = stores.raw_contents.get(raw_id)
    assert found is not None
    assert found.body == b"new"
    old, new = page(body=b"old").body_sha256, page(body=b"new").body_sha256
    assert list(stores.raw_contents.history(raw_id)) == [(old, 1_000), (new, 2_000)]


def test_saving_a_page_twice_notes_it_once(stores: Stores) -> None:
    raw_id = stores.raw_contents.save(page())
    assert stores.raw_contents.save(page()) == raw_id
    assert len(stores.raw_contents.history(raw_id)) == 1


def test_touch_notes_when_and_the_new_validators(stores: Stores) -> None:
    raw_id = stores.raw_contents.save(page())
    stores.raw_contents.touch(raw_id, 9_000, '"v2"', "Mon, 30 Nov 2026 00:00:00 GMT")
    found = stores.raw_contents.latest("https://news.example.com/a")
    assert found is not None
    assert (found.fetched_ms, found.etag, found.last_modified) == (9_000, '"v2"', "Mon, 30 Nov 2026 00:00:00 GMT")


def purged(stores: Stores, before_ms: int, keep: frozenset[int] | set[int] = frozenset()) -> int:
    """How many pages a purge removes; each looks like what it is."""
    sweep = PageSweep(stores.raw_contents, lambda: keep, 0)
    counted = PageSweep(stores.raw_contents, lambda: keep, 0).count(before_ms)
    removed = Removed()
    while (found := sweep.step(before_ms)) is not None:
        removed += found
    assert removed == counted
    return removed.rows


def test_purge_leaves_the_young_the_kept_and_what_dead_letters_name(stores: Stores) -> None:
    old, kept, lettered, young = (
        stores.raw_contents.save(page(f"https://news.example.com/{n}", fetched_ms=ms))
        for n, ms in enumerate((10, 10, 10, 99))
    )
    stores.dead_letters.record([letter("r", b'{"raw_id": %d}' % lettered, at_ms=50)])
    assert purged(stores, 50, keep={kept}) == 1
    left = [raw_id for raw_id in (old, kept, lettered, young) if stores.raw_contents.get(raw_id) is not None]
    assert left == [kept, lettered, young]
    stores.dead_letters.mark([1], LetterState.REDRIVEN, 55)
    stores.dead_letters.record([letter("s", b'{"raw_id": %d}' % kept, at_ms=50)])
    assert purged(stores, 50) == 0
    stores.dead_letters.purge(LetterFilter(), 58)
    assert purged(stores, 50) == 1
    stores.dead_letters.remove(60)
    assert purged(stores, 50) == 1


def test_purge_shortens_the_history_of_a_page_that_is_fetched_again_and_again(stores: Stores) -> None:
    (busy,) = {stores.raw_contents.save(page(body=b"%d" % ms, fetched_ms=ms)) for ms in (10, 20, 60, 70)}
    (still,) = {stores.raw_contents.save(page("https://news.example.com/s", b"%d" % ms, ms)) for ms in (10, 20)}
    stores.raw_contents.touch(still, 70, "", "")
    assert purged(stores, 50) == 0
    assert stores.raw_contents.old_history(50) == 3
    assert [stores.raw_contents.shorten_history(50, 2) for _ in range(3)] == [2, 1, 0]
    assert [fetched_ms for _, fetched_ms in stores.raw_contents.history(busy)] == [60, 70]
    assert [fetched_ms for _, fetched_ms in stores.raw_contents.history(still)] == [20]


def test_the_id_of_a_purged_page_is_never_given_away_again(stores: Stores) -> None:
    first = stores.raw_contents.save(page(fetched_ms=10))
    assert purged(stores, 50) == 1
    assert stores.raw_contents.save(page("https://news.example.com/other")) > first
    assert stores.raw_contents.get(first) is None


def test_a_content_comes_back_whole(stores: Stores) -> None:
    content = article(images=("https://news.example.com/i.png",), replacement_share=0.25, author="김기자", root_id="r1")
    content_id = stores.contents.save(content)
    found = stores.contents.get(content_id)
    assert found is not None
    assert found == Content(
        **{name: getattr(content, name) for name in content.__struct_fields__} | {"content_id": content_id}
    )
    assert stores.contents.get(content_id + 1) is None


def test_a_content_says_what_it_was_made_from_also_when_nothing_else_changed(stores: Stores) -> None:
    content_id = stores.contents.save(article(1), MadeFrom(raw_sha256="a" * 64, code_version="old"))
    stores.contents.record_verdict(content_id, Verdict(accepted=True, quality=0.9))
    again = MadeFrom(raw_sha256="a" * 64, rule_id=7, rule_version=2, code_version="new")
    assert stores.contents.save(article(1), again) == content_id
    assert stores.contents.made_from(content_id) == again
    assert stores.contents.verdict(content_id) is not None, "the same text again undoes no verdict"
    assert stores.contents.made_from(content_id + 1) is None


def test_an_older_page_replaces_no_newer_content_when_that_is_asked_for(stores: Stores) -> None:
    content_id = stores.contents.save(article(1, title="Of today", fetched_ms=200), MadeFrom(code_version="a"))
    older = article(1, title="Of old", fetched_ms=100)
    assert stores.contents.save(older, MadeFrom(code_version="b"), unless_newer=True) == content_id
    found = stores.contents.get(content_id)
    assert found is not None
    assert (found.title, found.fetched_ms) == ("Of today", 200)
    assert stores.contents.made_from(content_id) == MadeFrom(code_version="a")
    stores.contents.save(article(1, title="Read better", fetched_ms=200), unless_newer=True)
    found = stores.contents.get(content_id)
    assert found is not None
    assert found.title == "Read better"


def test_a_content_keeps_its_id_however_its_url_is_spelled(stores: Stores) -> None:
    first = stores.contents.save(article(1, url="https://news.example.com/1"))
    assert stores.contents.save(article(1, url="https://NEWS.example.com:443/%31#top", title="New")) == first
    assert stores.contents.save(article(1, url="https://news.example.com/1?id=2")) != first
    # Somebody whose host tells pages apart by it has kept this one; whoever names a page leaves tracking away.
    assert stores.contents.save(article(1, url="https://news.example.com/1?rss=2")) != first
    found = stores.contents.get(first)
    assert found is not None
    assert found.title == "New"


def test_a_parse_repeated_undoes_nothing_that_later_stages_found(stores: Stores) -> None:
    content_id = stores.contents.save(article())
    stores.contents.clear_date(content_id, "after the fetch")
    stores.contents.record_verdict(content_id, Verdict(accepted=True, quality=0.5))
    assert stores.contents.save(article(raw_id=7, fetched_ms=8, root_id="again")) == content_id
    found = stores.contents.get(content_id)
    assert found is not None
    assert (found.status, found.published_ms, found.raw_id, found.root_id) == (ContentStatus.VALIDATED, 0, 7, "again")
    assert found.field_sources["published_ms"] == "cleared: after the fetch"
    assert stores.contents.verdict(content_id) is not None


def test_a_changed_content_starts_over(stores: Stores) -> None:
    content_id = stores.contents.save(article())
    stores.contents.record_verdict(content_id, Verdict(accepted=False, code="VAL_003"))
    stores.contents.first_with_hash("same", content_id)
    stores.contents.save_signature(content_id, ["band"], b"signature")
    assert stores.contents.save(article(body="Another body.")) == content_id
    found = stores.contents.get(content_id)
    assert found is not None
    assert (found.status, found.body) == (ContentStatus.PARSED, "Another body.")
    assert stores.contents.verdict(content_id) is None
    assert stores.contents.first_with_hash("same", stores.contents.save(article(2))) is None
    assert list(stores.contents.near_candidates(0, ["band"])) == []


def test_a_verdict_comes_back_with_its_breakdown(stores: Stores) -> None:
    verdict = Verdict(
        accepted=False,
        code="VAL_005",
        reason="too thin",
        quality=0.25,
        scores={"words": 0.5, "meta": 0.0},
        notes=("date cleared",),
        duplicate_of=3,
    )
    content_id = stores.contents.save(article())
    assert stores.contents.verdict(content_id) is None
    stores.contents.record_verdict(content_id, verdict)
    assert stores.contents.verdict(content_id) == verdict
    found = stores.contents.get(content_id)
    assert found is not None
    assert found.status is ContentStatus.REJECTED


def test_text_that_no_database_takes_is_stored_with_replacements(stores: Stores) -> None:
    content_id = stores.contents.save(article(title="nul \x00 and half a pair \ud83d end", tags=("t\x00g",)))
    assert stores.contents.get(content_id) is not None
    assert stores.contents.save(article(title="nul \x00 and half a pair \ud83d end", tags=("t\x00g",))) == content_id


def test_the_first_copy_is_the_one_before(stores: Stores) -> None:
    first, second, third = (stores.contents.save(article(number)) for number in (1, 2, 3))
    assert stores.contents.first_with_hash("h", first) is None
    assert stores.contents.first_with_hash("h", second) == first
    assert stores.contents.first_with_hash("h", third) == first
    assert stores.contents.first_with_hash("h", first) is None
    assert stores.contents.first_with_hash("other", second) is None
    assert stores.contents.first_with_hash("h", third) == first


def test_near_candidates_share_a_band_and_are_others(stores: Stores) -> None:
    first, second, third = (stores.contents.save(article(number)) for number in (1, 2, 3))
    stores.contents.save_signature(first, ["b1", "b2"], b"one")
    stores.contents.save_signature(second, ["b2", "b2", "b3"], b"two")
    stores.contents.save_signature(third, ["b4"], b"three")
    assert list(stores.contents.near_candidates(third, ["b2", "b4"])) == [(first, b"one"), (second, b"two")]
    stores.contents.save_signature(first, ["b9"], b"new")
    assert list(stores.contents.near_candidates(third, ["b2", "b9"])) == [(first, b"new"), (second, b"two")]
    assert list(stores.contents.near_candidates(third, [])) == []


def test_near_candidates_are_bounded_however_many_pages_say_the_same(stores: Stores) -> None:
    ids = [stores.contents.save(article(number)) for number in range(1, 8)]
    for content_id in ids:
        stores.contents.save_signature(content_id, ["b1", "b2"], b"same")
    found = stores.contents.near_candidates(ids[3], ["b1", "b2"], limit=2)
    assert [other for other, _ in found] == [ids[0], ids[1], ids[4], ids[5]]


def test_a_copy_link_only_moves_to_a_lower_id(stores: Stores) -> None:
    content_id = stores.contents.save(article())
    stores.contents.link_copy(content_id, duplicate_of=5)
    assert stores.contents.verdict(content_id) is None
    stores.contents.record_verdict(content_id, Verdict(accepted=True))
    stores.contents.link_copy(content_id, duplicate_of=5)
    stores.contents.link_copy(content_id, duplicate_of=9, near_duplicate_of=4)
    stores.contents.link_copy(content_id, duplicate_of=2)
    verdict = stores.contents.verdict(content_id)
    assert verdict is not None
    assert (verdict.duplicate_of, verdict.near_duplicate_of) == (2, 4)
