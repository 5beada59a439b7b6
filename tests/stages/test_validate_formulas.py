"""The formulas of validate, figure by figure."""

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.records import Content, Verdict
from issuetracker_dagster.stages.validate.community import body_score, judge_community
from issuetracker_dagster.stages.validate.handler import judge
from issuetracker_dagster.stages.validate.measure import count_words, flood_share, symbol_share, upper_share
from issuetracker_dagster.stages.validate.news import judge_news, word_score
from issuetracker_dagster.stages.validate.options import ValidateOptions

OPTIONS = ValidateOptions()


def words(count: int) -> str:
    return " ".join(["river"] * count)


def news(**changes: object) -> Content:
    whole = Content(
        url="https://news.example.com/1",
        title="A river rises in the north",
        author="Ann Lee",
        category="world",
        tags=("flood",),
        summary="The river rose.",
        body=words(100) + "\n" + words(100),
        published_ms=1,
        fetched_ms=2,
        date_required=True,
    )
    return msgspec.structs.replace(whole, **changes)


def post(body: str, **changes: object) -> Verdict:
    content = Content(url="https://talk.example.com/1", kind="community", title="Hi", body=body, published_ms=1)
    return judge_community(msgspec.structs.replace(content, **changes), OPTIONS)


def test_whole_news_has_quality_one() -> None:
    verdict = judge_news(news(), OPTIONS)
    assert verdict.accepted
    assert verdict.code == ""
    assert verdict.quality == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"title": "  "}, "VAL_001"),
        ({"title": "t" * 9}, "VAL_003"),
        ({"title": "t" * 10}, ""),
        ({"title": "t" * 500}, ""),
        ({"title": "t" * 501}, "VAL_004"),
        ({"body": ""}, "VAL_001"),
        ({"body": "b" * 99}, "VAL_003"),
        ({"body": "river " * 16 + "rive"}, ""),
        ({"body": "river " * 8333 + "ri"}, ""),
        ({"body": "river " * 8333 + "riv"}, "VAL_004"),
        ({"published_ms": 0}, "VAL_001"),
        ({"published_ms": 0, "date_required": False}, ""),
        ({"body": words(300).upper()}, "VAL_006"),
        ({"body": words(200) + "!" * 200}, "VAL_006"),
        ({"body": words(40), "author": "", "category": "", "tags": (), "summary": ""}, "VAL_005"),
    ],
)
def test_each_limit_of_news_has_its_code(changes: dict[str, object], code: str) -> None:
    verdict = judge_news(news(**changes), OPTIONS)
    assert (verdict.code, verdict.accepted) == (code, code == "")


def test_title_is_judged_before_body_before_date_before_spam_before_quality() -> None:
    faults: list[tuple[str, dict[str, object]]] = [
        ("title", {"title": "short"}),
        ("body", {"body": "short"}),
        ("date", {"published_ms": 0}),
    ]
    for position, (word, _) in enumerate(faults):
        changes = {name: value for _, change in faults[position:] for name, value in change.items()}
        assert word in judge_news(news(**changes), OPTIONS).reason
    loud_and_poor = news(body=words(20).upper(), author="", category="", tags=(), summary="")
    assert judge_news(loud_and_poor, OPTIONS).code == "VAL_006"
    undated_and_loud = news(body=words(200).upper(), published_ms=0)
    assert judge_news(undated_and_loud, OPTIONS).code == "VAL_001"


def test_quality_is_the_weighted_sum_of_its_parts() -> None:
    verdict = judge_news(news(body=words(125), author="", summary=""), OPTIONS)
    assert verdict.scores["words"] == pytest.approx(0.75)
    assert verdict.scores["meta"] == pytest.approx(0.6)
    assert verdict.scores["structure"] == pytest.approx(0.3)
    assert verdict.quality == pytest.approx(0.4 * 0.75 + 0.3 * 0.6 + 0.3 * 0.3)


def test_a_quality_that_meets_the_limit_on_paper_passes() -> None:
    # 0.4 x 1 + 0.3 x 0 + 0.3 x (0.3 + 0.4) = 0.61, and exactly 0.5 with a words part of 0.725.
    at_limit = news(body=words(100) + "\n" + words(100), author="", category="", tags=(), summary="")
    options = ValidateOptions(news_quality_min=0.61)
    assert judge_news(at_limit, options).accepted


@pytest.mark.parametrize(("count", "score"), [(0, 0.5), (25, 0.25), (50, 0.5), (125, 0.75), (200, 1.0), (900, 1.0)])
def test_word_score_at_its_corners(count: int, score: float) -> None:
    assert word_score(count) == pytest.approx(score)


@given(st.floats(0.01, 1e5), st.floats(0.01, 1e5))
def test_more_words_never_score_less(one: float, two: float) -> None:
    fewer, more = sorted((one, two))
    assert 0.0 <= word_score(fewer) <= word_score(more) <= 1.0


@pytest.mark.parametrize(("length", "score"), [(0, 0.0), (49, 0.0), (50, 0.25), (100, 0.5), (200, 1.0), (5_000, 1.0)])
def test_body_score_of_posts_at_its_corners(length: int, score: float) -> None:
    assert body_score(length) == pytest.approx(score)


@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_a_longer_post_never_scores_less(one: int, two: int) -> None:
    shorter, longer = sorted((one, two))
    assert 0.0 <= body_score(shorter) <= body_score(longer) <= 1.0


@given(st.text(max_size=400), st.text(max_size=60), st.sampled_from(["news", "community"]), st.booleans())
def test_every_score_lies_between_zero_and_one(body: str, title: str, kind: str, dated: bool) -> None:
    verdict = judge(Content(url="u", kind=kind, title=title, body=body, published_ms=int(dated)), OPTIONS)
    assert all(0.0 <= score <= 1.0 for score in (verdict.quality, *verdict.scores.values()))
    assert verdict.accepted == (verdict.code == "")


@given(st.text(max_size=300), st.lists(st.sampled_from(["author", "category", "summary"]), unique=True))
def test_a_field_more_never_lowers_quality(body: str, fields: list[str]) -> None:
    bare = Content(url="u", title="A river rises", body=body)
    richer = msgspec.structs.replace(bare, **dict.fromkeys(fields, "said"))
    assert judge_news(richer, OPTIONS).quality >= judge_news(bare, OPTIONS).quality


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "VAL_001"),
        ("정말 " * 16, "VAL_003"),
        ("What a match that was, I could not believe my own eyes.", ""),
        ("ㅋ" * 40 + " 오늘 경기 정말 재미있었어요 여러분도 보셨나요 저는 끝까지 봤습니다 그리고 또 봤어요", "VAL_006"),
        ("ㅋㅋㅋ " * 40, ""),
    ],
)
def test_each_limit_of_posts_has_its_code(body: str, code: str) -> None:
    assert post(body).code == code


def test_a_short_post_without_title_and_date_is_too_poor() -> None:
    body = "What a match that was, I could not believe my own eyes."
    assert post(body).quality == pytest.approx(0.6 * len(body) / 200 + 0.4)
    assert post(body, title="", published_ms=0).code == "VAL_005"


def test_an_unknown_kind_is_refused_as_other() -> None:
    assert judge(news(kind="video"), OPTIONS).code == "VAL_002"


def test_lengths_are_code_points_not_bytes() -> None:
    assert judge_news(news(title="한강 수위가 올랐다"), OPTIONS).accepted
    assert judge_news(news(title="\U0001f30a" * 9), OPTIONS).code == "VAL_003"


@pytest.mark.parametrize(
    ("text", "expected", "measure"),
    [
        ("one two three", 3.0, "spaced"),
        ("한강의 수위가 올랐다", 4.5, "hangul"),
        ("河水上涨了吗", 4.0, "chinese"),
        ("川の水位が上がった", 4.5, "japanese"),
        ("น้ำท่วมภาคเหนือ", 3.75, "unspaced"),
        ("サッカーの試合", 3.5, "japanese"),
        ("삼성 Galaxy", 2.0, "spaced+hangul"),
        ("Übergrößenträger überall", 2.0, "spaced"),
        ("", 0.0, "spaced"),
    ],
)
def test_words_are_counted_by_the_measure_of_their_script(text: str, expected: float, measure: str) -> None:
    counted = count_words(text)
    assert (counted.words, counted.measure) == (expected, measure)


def test_decomposed_hangul_counts_as_composed() -> None:
    text = "한강의 수위가 올랐다"
    assert count_words(unicodedata.normalize("NFD", text)) == count_words(text)


@pytest.mark.parametrize(
    ("sentence", "times"), [("한강 수위가 밤새 크게 올랐다. ", 40), ("น้ำในแม่น้ำเพิ่มสูงขึ้น ", 45), ("河水昨夜上涨。", 60)]
)
def test_a_full_report_in_any_script_has_a_full_word_score(sentence: str, times: int) -> None:
    assert judge_news(news(body=sentence * times), OPTIONS).scores["words"] == 1.0


@pytest.mark.parametrize(
    ("capitals", "symbols", "code"), [(20, 0, ""), (21, 0, "VAL_006"), (0, 10, ""), (0, 11, "VAL_006"), (20, 10, "")]
)
def test_spam_is_more_than_a_fifth_of_capitals_or_a_tenth_of_symbols(capitals: int, symbols: int, code: str) -> None:
    title, length = "r" * 10, 190
    body = "A" * (2 * capitals) + "!" * (2 * symbols)
    content = news(title=title, body=body + "r" * (length - len(body)))
    assert judge_news(content, ValidateOptions(news_quality_min=0.0)).code == code


@pytest.mark.parametrize(("flooded", "code"), [(30, ""), (31, "VAL_006")])
def test_flooding_is_more_than_three_tenths_in_runs_of_four(flooded: int, code: str) -> None:
    assert post("ㅋ" * flooded + ("가나다라마바사" * 10)[: 100 - flooded]).code == code


def test_quality_exactly_at_the_limit_passes() -> None:
    body = words(99) + "\n" + words(1)
    news_at_limit = news(body=body, author="", tags=(), summary="", url="")
    quality = judge_news(news_at_limit, OPTIONS).quality
    assert judge_news(news_at_limit, ValidateOptions(news_quality_min=quality)).accepted
    assert judge_news(news_at_limit, ValidateOptions(news_quality_min=quality + 1e-6)).code == "VAL_005"


def test_the_verdict_says_which_measure_counted_the_words() -> None:
    body = "한강 수위가 밤새 크게 올랐다. " * 20
    assert "words_measure:hangul" in judge_news(news(body=body), OPTIONS).notes


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_never_counts_fewer_words_of_its_script(one: str, two: str) -> None:
    # Kana turn Chinese into Japanese, whose Han characters weigh less; a space keeps words apart.
    assert count_words(f"の {one} {two}").words >= count_words(f"の {one}").words


def test_shares_count_all_characters() -> None:
    assert upper_share("ABcd ") == pytest.approx(0.4)
    assert symbol_share("a,b$ ") == pytest.approx(0.4)
    assert flood_share("aaaabbb") == pytest.approx(4 / 7)
    assert upper_share("") == symbol_share("") == flood_share("") == 0.0
