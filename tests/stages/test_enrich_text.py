"""Reading a text: sentences, claims, figures, names, keywords."""

import random
from importlib.machinery import ModuleSpec
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.records import Content
from issuetracker_dagster.stages.enrich import korean
from issuetracker_dagster.stages.enrich.entities import name_words, named_entities
from issuetracker_dagster.stages.enrich.extract import LocalExtractor, keywords
from issuetracker_dagster.stages.enrich.figures import agree, figures
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.sentences import is_claim, sentences
from issuetracker_dagster.stages.enrich.words import features, stem, terms
from tests.stages.enrich_stories import ALDER_1, BUSAN_1, STORIES


def test_sentences_end_at_stops_and_lines_not_at_abbreviations() -> None:
    text = "Mr. Lee met the U.S. envoy at 3.30 p.m. on Monday. It took 2.5 hours!\nNobody spoke"
    assert sentences(text) == [
        "Mr. Lee met the U.S. envoy at 3.30 p.m. on Monday.",
        "It took 2.5 hours!",
        "Nobody spoke",
    ]


def test_korean_and_japanese_sentences_are_told_apart() -> None:
    assert sentences("불이 났다. 12명이 다쳤다.") == ["불이 났다.", "12명이 다쳤다."]
    assert sentences("火事があった。12人がけが。") == ["火事があった。", "12人がけが。"]


@given(st.text(max_size=500))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The fire injured 12 people.", True),
        ("“The roof was burning,” she shouted.", True),
        ("Officials confirmed the closure of the port.", True),
        ("소방 당국은 원인을 조사 중이라고 밝혔다.", True),
        ("The evening was calm and warm.", False),
        ("It's John's dog near the Smiths' house.", False),
        ("12 hurt", False),
    ],
)
def test_claims_carry_a_number_a_quote_or_a_reporting_verb(sentence: str, expected: bool) -> None:
    assert is_claim(sentence) is expected


@pytest.mark.parametrize(
    ("sentence", "value", "unit"),
    [
        ("injuring 12 people", 12, "peopl"),
        ("Twelve people died", 12, "peopl"),
        ("1,200 homes lost power", 1200, "home"),
        ("worth $3.5 million", 3.5e6, "dollar"),
        ("4 million dollars", 4e6, "dollar"),
        ("raised to 4.5%", 4.5, "%"),
        ("4.5 percent", 4.5, "%"),
        ("12명이 다쳤다", 12, "명"),
        ("주민 300여 명이 대피", 300, "명"),
        ("3만5000명", 35_000, "명"),
        ("1억 2000만 원", 120_000_000, "원"),
        ("약 4억 원", 4e8, "원"),
    ],
)
def test_a_figure_is_a_value_and_what_it_counts(sentence: str, value: float, unit: str) -> None:
    (found,) = figures(sentence)
    assert found.value == pytest.approx(value)
    assert unit in found.units


@pytest.mark.parametrize(
    "sentence",
    ["in 2024, he left", "on 12 May", "May 12", "at 4 a.m.", "at 10:30", "17일 새벽", "2시간 만에", "Boeing-737"],
)
def test_dates_times_and_bare_numbers_are_no_figures(sentence: str) -> None:
    assert figures(sentence) == ()


def test_rough_figures_agree_more_easily() -> None:
    (exact,), (near,), (rough,) = (
        figures("80 firefighters"),
        figures("84 firefighters"),
        figures("about 84 firefighters"),
    )
    assert not agree(exact, near)
    assert agree(exact, rough)


def test_names_are_capitalised_spans_not_first_words_of_sentences() -> None:
    body = "Yesterday the mayor spoke. Ann Lee told Mayor Tom Reyes of Port Alder. Lee was calm. Nobody asked the UN."
    found = named_entities("Mayor speaks about the fire in Port Alder", body, 20)
    assert set(found) == {"Port Alder", "Ann Lee", "Tom Reyes", "UN"}
    assert found[0] == "Port Alder"


def test_names_share_words_whatever_the_office() -> None:
    assert name_words(["Mayor Ann Lee", "The Port"]) & name_words(["lee"]) == {"lee"}


def test_korean_names_are_nouns_of_the_title_without_particles() -> None:
    found = named_entities("한빛물류에서 화재, 19명으로 늘어", "한빛물류는 사과했다. 화재는 새벽에 났다.", 20)
    assert found == ("한빛물류", "화재")


def test_a_korean_analyser_replaces_the_guess() -> None:
    found = named_entities("한빛물류에서 화재", "한빛물류는 사과했다.", 20, lambda text: [text[:2]])
    assert found == ("한빛",)


class Kiwi:
    """Answers as the analyser of the extra `korean` does; that one takes 600 MB, and isn't among what tests install."""

    def tokenize(self, text: str) -> list[SimpleNamespace]:
        tags = {"한빛물류": "NNP", "화재": "NNG", "에서": "JKB", "나": "VV", "AI": "SL", "곳": "NNG"}
        return [SimpleNamespace(form=word, tag=tags[word]) for word in text.split()]


def test_with_the_extra_its_analyser_tells_the_nouns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(korean, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setattr(korean, "import_module", lambda name: {"kiwipiepy": SimpleNamespace(Kiwi=Kiwi)}[name])
    nouns = korean.korean_nouns()
    assert nouns is not None
    assert nouns("한빛물류 에서 화재 나 AI 곳") == ["한빛물류", "화재", "AI"]


def test_without_the_extra_nouns_are_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(korean, "find_spec", lambda _: None)
    assert korean.korean_nouns() is None


@pytest.mark.parametrize(
    ("word", "root"),
    [("물류창고에서는", "물류창고"), ("cities", "city"), ("fires", "fire"), ("fire", "fire"), ("창고", "창고")],
)
def test_stems_drop_common_endings(word: str, root: str) -> None:
    assert stem(word) == root


def test_forms_of_a_word_have_one_stem() -> None:
    assert len({stem("injured"), stem("injuring")}) == 1
    assert set(features("물류창고")) & set(features("물류 창고")) == {"물류", "창고"}


def test_japanese_is_cut_where_kinds_of_characters_change() -> None:
    assert terms("イスラエルとハマスの停戦") == ["イスラエル", "ハマス", "停戦"]


def test_keywords_name_what_the_text_is_about() -> None:
    english = keywords(ALDER_1.title, ALDER_1.body, 10)
    assert {"warehouse", "norwick", "alder"} <= set(english)
    found = keywords(BUSAN_1.title, BUSAN_1.body, 10)
    assert {"한빛물류", "창고", "부산", "화재"} <= set(found)


def test_extraction_is_bounded_and_told_by_the_text_alone() -> None:
    options = EnrichOptions(keywords_max=4, entities_max=2, claims_max=3)
    for report in STORIES:
        first = LocalExtractor(options).extract(report.content())
        assert first == LocalExtractor(options).extract(report.content())
        assert len(first.keywords) == 4
        assert len(first.entities) <= 2
        assert 1 <= len(first.claims) <= 3
        assert first.language == ("ko" if "가" <= report.title[-1] <= "힣" else "en")
        assert all(claim in " ".join(report.body.split()) for claim in first.claims)


def test_a_text_without_language_is_undetermined() -> None:
    assert LocalExtractor(EnrichOptions()).extract(Content(url="u", title="123", body="456 789")).language == "und"


@given(st.text(max_size=300), st.text(max_size=60))
def test_any_text_can_be_read(body: str, title: str) -> None:
    extraction = LocalExtractor(EnrichOptions()).extract(Content(url="u", title=title, body=body))
    assert all(figure.value >= 0 for claim in extraction.claims for figure in figures(claim))


@pytest.mark.parametrize(
    "piece", [".", '."', "1,", "9", "A ", "a.b.", "“", "Mr. ", "約1万", "1만", "' ", "$1 million "]
)
def test_hostile_repetition_is_read_in_linear_time(piece: str) -> None:
    body = piece * (200_000 // len(piece))
    LocalExtractor(EnrichOptions()).extract(Content(url="u", title=body[:500], body=body, language="en"))


def test_stems_and_features_take_random_scripts() -> None:
    generator = random.Random(5)
    text = "".join(
        chr(generator.choice((0x61, 0xAC00, 0x4E00, 0x3042, 0x20)) + generator.randrange(20)) for _ in range(2_000)
    )
    assert features(text)
