"""The validate stage over the memory stores."""

import json
import random
import threading
import tracemalloc
from collections import Counter
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryContents
from issuetracker_dagster.errors import NeedsRefetch, PermanentError
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.records import Content, ContentStatus, Verdict
from issuetracker_dagster.stages.validate.duplicates import BANDS, fingerprint, normal_text, similarity
from issuetracker_dagster.stages.validate.handler import ValidateHandler
from issuetracker_dagster.stages.validate.options import ValidateOptions

NOW_MS = 1_750_000_000_000
HOUR_MS = 3_600_000
VOCABULARY = [f"word{number}" for number in range(2_000)]


def prose(seed: int, count: int = 200) -> str:
    generator = random.Random(seed)
    chosen = [generator.choice(VOCABULARY) for _ in range(count)]
    return "\n".join(" ".join(chosen[start : start + 40]) for start in range(0, count, 40))


class World:
    """A validate stage with its store."""

    def __init__(self, options: ValidateOptions | None = None) -> None:
        self.contents = MemoryContents()
        self.handler = ValidateHandler(self.contents, FakeClock(NOW_MS), options)

    def store(self, number: int, body: str, **changes: object) -> ContentRef:
        content = Content(
            url=f"https://news.example.com/{number}",
            title="A river rises in the north",
            author="Ann Lee",
            body=body,
            published_ms=NOW_MS - HOUR_MS,
            fetched_ms=NOW_MS,
            date_required=True,
        )
        content = msgspec.structs.replace(content, **changes)
        return ContentRef(content_id=self.contents.save(content), url=content.url)

    def handle(self, ref: ContentRef, recrawl_count: int = 0) -> Outcome:
        headers = Headers(root_id=f"r{ref.content_id}", recrawl_count=recrawl_count)
        return self.handler.handle(ref, HandlerContext(headers))

    def verdict(self, ref: ContentRef) -> Verdict:
        found = self.contents.verdict(ref.content_id)
        assert found is not None
        return found


def test_an_accepted_content_is_forwarded_and_recorded() -> None:
    world = World()
    ref = world.store(1, prose(1))
    assert world.handle(ref) == Outcome(forward=ref)
    assert world.verdict(ref).accepted
    stored = world.contents.get(ref.content_id)
    assert stored is not None
    assert stored.status is ContentStatus.VALIDATED


def test_a_rejection_is_a_result_kept_with_code_and_scores() -> None:
    world = World()
    ref = world.store(1, "Too short.")
    assert world.handle(ref) == Outcome(note="rejected VAL_003")
    verdict = world.verdict(ref)
    assert (verdict.accepted, verdict.code) == (False, "VAL_003")
    assert verdict.scores
    stored = world.contents.get(ref.content_id)
    assert stored is not None
    assert stored.status is ContentStatus.REJECTED


def test_a_content_that_is_not_stored_is_a_permanent_error() -> None:
    with pytest.raises(PermanentError) as caught:
        World().handle(ContentRef(content_id=99, url="https://news.example.com/99"))
    assert caught.value.code == "content_missing"


@pytest.mark.parametrize(("body", "published_ms"), [(prose(1), 0), ("Too short.", NOW_MS), ("", NOW_MS)])
def test_reparse_asks_for_two_recrawls_then_rejects(body: str, published_ms: int) -> None:
    world = World(ValidateOptions(reparse_enabled=True))
    ref = world.store(1, body, published_ms=published_ms)
    for recrawl_count in (0, 1):
        with pytest.raises(NeedsRefetch):
            world.handle(ref, recrawl_count)
    assert world.handle(ref, 2).note.startswith("rejected VAL_00")


def test_reparse_leaves_other_faults_alone() -> None:
    world = World(ValidateOptions(reparse_enabled=True))
    assert world.handle(world.store(1, prose(1).upper())).note == "rejected VAL_006"
    assert world.handle(world.store(2, prose(2), title="Short")).note == "rejected VAL_003"


def test_without_reparse_a_missing_date_is_rejected_at_once() -> None:
    world = World()
    assert world.handle(world.store(1, prose(1), published_ms=0)).note == "rejected VAL_001"


def test_a_date_after_the_fetch_is_cleared_and_noted_before_the_date_is_judged() -> None:
    world = World()
    required = world.store(1, prose(1), published_ms=NOW_MS + HOUR_MS)
    optional = world.store(2, prose(2), published_ms=NOW_MS + HOUR_MS, date_required=False)
    assert world.handle(required).note == "rejected VAL_001"
    assert world.handle(optional).forward == optional
    for ref in (required, optional):
        stored = world.contents.get(ref.content_id)
        assert stored is not None
        assert stored.published_ms == 0
        assert any(note.startswith("date_cleared") for note in world.verdict(ref).notes)


def test_validating_again_changes_nothing() -> None:
    world = World()
    refs = [world.store(1, prose(1)), world.store(2, prose(1)), world.store(3, prose(1) + " and more")]
    refs.append(world.store(4, prose(4), published_ms=NOW_MS + HOUR_MS, date_required=False))
    first = [world.handle(ref) for ref in refs]
    kept = [world.verdict(ref) for ref in refs]
    assert [world.handle(ref) for ref in reversed(refs)] == list(reversed(first))
    assert [world.verdict(ref) for ref in refs] == kept


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)])
def test_copies_point_at_the_first_whatever_the_order_of_judging(order: tuple[int, ...]) -> None:
    world = World()
    body = prose(7, 400)
    refs = [
        world.store(1, body),
        world.store(2, body.upper().lower() + " !"),
        world.store(3, body + " plus five more words"),
    ]
    for position in order:
        assert world.handle(refs[position]).forward == refs[position]
    first, exact, near = (world.verdict(ref) for ref in refs)
    assert (first.duplicate_of, first.near_duplicate_of) == (0, 0)
    assert exact.duplicate_of == refs[0].content_id
    assert (near.duplicate_of, near.near_duplicate_of) == (0, refs[0].content_id)


def test_copies_judged_at_once_are_all_linked() -> None:
    world = World()
    body = prose(9, 400)
    refs = [world.store(number, f"{body} tail{number}") for number in range(8)]
    gate = threading.Barrier(len(refs))

    def judge(ref: ContentRef) -> None:
        gate.wait()
        world.handle(ref)

    threads = [threading.Thread(target=judge, args=(ref,)) for ref in refs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    links = [world.verdict(ref).near_duplicate_of for ref in refs]
    assert links == [0, *[refs[0].content_id] * 7]


@pytest.mark.parametrize("language", ["en", "ko"])
def test_an_agency_text_under_another_title_and_credit_is_linked_to_its_first_copy(language: str) -> None:
    world = World()
    syllables = [chr(code) for code in range(0xAC00, 0xAC00 + 400)]
    dice = random.Random(4)
    korean = "\n".join(" ".join("".join(dice.choices(syllables, k=3)) for _ in range(40)) + "다." for _ in range(6))
    body = prose(8, 400) if language == "en" else korean
    credit = "(Norland News Agency)" if language == "en" else "(노를란드통신)"
    first = world.store(1, body, url="https://a.example/1")
    later = world.store(
        2, f"{credit} {body}\nCopyright {credit}", url="https://b.example/2", title="Quite another title"
    )
    for ref in (first, later):
        assert world.handle(ref).forward == ref
    assert world.verdict(later).near_duplicate_of == first.content_id


def test_copies_are_linked_from_the_limit_on() -> None:
    body = prose(7, 400)
    other = body + " " + prose(8, 50)
    alike = similarity(fingerprint(body).signature, fingerprint(other).signature)
    for limit, is_linked in ((alike, True), (alike + 1e-9, False)):
        world = World(ValidateOptions(near_duplicate_min=limit))
        first, second = world.store(1, body), world.store(2, other)
        world.handle(first)
        world.handle(second)
        assert world.verdict(second).near_duplicate_of == (first.content_id if is_linked else 0)


def test_hardly_any_copy_above_the_limit_escapes_the_bands() -> None:
    dice = random.Random(6)
    found = 0
    for _ in range(100):
        body = " ".join(dice.choices(VOCABULARY, k=400))
        one, other = fingerprint(body), fingerprint(f"{body} {' '.join(dice.choices(VOCABULARY, k=55))}")
        found += bool(set(one.bands) & set(other.bands))
    assert found >= 95


def test_different_texts_are_not_linked() -> None:
    world = World()
    refs = [world.store(number, prose(number)) for number in range(20)]
    for ref in refs:
        world.handle(ref)
    assert all(world.verdict(ref).near_duplicate_of == 0 for ref in refs)


@pytest.mark.parametrize("unit", ["word", "한강 "])
def test_estimated_similarity_follows_the_share_of_common_text(unit: str) -> None:
    generator = random.Random(3)
    syllables = "가나다라마바사아자차카타파하거너더러머버서어저처커터퍼허"
    korean = unit != "word"
    tokens = [
        "".join(generator.choices(syllables, k=3)) if korean else f"{generator.randrange(10**6)}" for _ in range(600)
    ]
    whole = fingerprint(" ".join(tokens))
    almost = fingerprint(" ".join(tokens[:570]))
    half = fingerprint(" ".join(tokens[:300]))
    assert similarity(whole.signature, almost.signature) > 0.85
    assert 0.35 < similarity(whole.signature, half.signature) < 0.65
    assert len(whole.bands) == BANDS
    assert set(whole.bands) & set(almost.bands)


def test_a_very_long_text_is_fingerprinted_in_bounded_memory() -> None:
    generator = random.Random(5)
    text = "".join(chr(generator.randrange(0xAC00, 0xD7A4)) for _ in range(60_000))
    fingerprint("warm")
    tracemalloc.start()
    try:
        fingerprint(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 25_000_000


@settings(max_examples=50)
@given(st.text(max_size=200))
def test_case_and_punctuation_do_not_change_the_hash(text: str) -> None:
    assert normal_text(normal_text(text)) == normal_text(text)
    assert fingerprint(f" {text} !?").text_hash == fingerprint(text).text_hash


def test_stored_signatures_stay_comparable() -> None:
    # A change of library or constants that alters signatures would silently end the linking of older contents.
    mark = fingerprint("the river rose by two metres overnight and the old bridge was closed")
    assert mark.signature[:16].hex() == "5c02df06e4946e0a8e93de39073fd033"


def test_the_share_of_real_articles_that_pass(shared_data: Path) -> None:
    gold = json.loads((shared_data / "articles" / "fundus" / "gold.json").read_text())
    world = World()
    refused: Counter[str] = Counter()
    for number, article in enumerate(gold):
        published = article["date"] or ""
        ref = world.store(
            number,
            article["body"],
            url=article["url"],
            title=article["title"] or "",
            author=", ".join(article["authors"] or ()),
            tags=tuple(article["topics"] or ()),
            published_ms=int(datetime.fromisoformat(published).timestamp() * 1000) if published else 0,
            fetched_ms=NOW_MS + 365 * 24 * HOUR_MS,
        )
        outcome = world.handle(ref)
        if outcome.forward is None:
            refused[f"{world.verdict(ref).code} {world.verdict(ref).reason}"] += 1
    accepted = len(gold) - refused.total()
    print(f"accepted {accepted} of {len(gold)} real articles; refused: {dict(refused)}")
    assert accepted / len(gold) > 0.85
