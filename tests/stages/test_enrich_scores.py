"""Trust, verification and what is known of an issue, figure by figure."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.records import Content, ContentClaim, IssueState
from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich import verify
from issuetracker_dagster.stages.enrich.figures import figures
from issuetracker_dagster.stages.enrich.issue_facts import happened_ms, issue_of, velocity
from issuetracker_dagster.stages.enrich.options import HOUR_MS, EnrichOptions
from issuetracker_dagster.stages.enrich.rescore import evidence_among
from issuetracker_dagster.stages.enrich.score import FormulaScorer, context_completeness
from issuetracker_dagster.stages.enrich.sentences import LONGEST_TEXT
from issuetracker_dagster.stages.enrich.sources import source_of
from issuetracker_dagster.stages.enrich.steps import Extraction
from issuetracker_dagster.stages.enrich.verify import OverlapVerifier

NOW_MS = 1_750_000_000_000
OPTIONS = EnrichOptions()
STATUSES = st.sampled_from(["supported", "contradicted", "unverified"])


def member(content_id: int, host: str = "a.example", body: str = "", **changes: object) -> MemberView:
    view = MemberView(content_id, 1, host, "Title", body, "en", NOW_MS - HOUR_MS, NOW_MS, (), ())
    return msgspec.structs.replace(view, **changes)


def claims(*statuses: str) -> list[ContentClaim]:
    return [ContentClaim(text=str(number), status=status) for number, status in enumerate(statuses)]


def test_trust_is_the_weighted_sum_of_its_factors() -> None:
    judged = claims("supported", "supported", "supported", "contradicted")
    score = FormulaScorer().score(judged, 4, 0.5)
    assert score.factors == {
        "claim_support_ratio": pytest.approx(0.75),
        "source_diversity": pytest.approx(0.75),
        "context_completeness": 0.5,
    }
    assert score.trust == pytest.approx(0.5 * 0.75 + 0.3 * 0.75 + 0.2 * 0.5)
    assert score.rationale == (
        "3 of 4 claims are supported by other sources and 1 contradicted, 4 sources carry the issue, "
        "and 3 of 6 context fields are present."
    )


def test_without_claims_support_counts_half_and_one_source_is_no_diversity() -> None:
    score = FormulaScorer().score([], 1, 1.0)
    assert score.factors["claim_support_ratio"] == 0.5
    assert score.factors["source_diversity"] == 0.0
    assert score.trust == pytest.approx(0.45)


@given(st.lists(STATUSES, max_size=20), st.integers(1, 1_000), st.floats(0, 1))
def test_trust_lies_between_zero_and_one_and_grows_with_sources_and_support(
    statuses: list[str], sources: int, context: float
) -> None:
    score = FormulaScorer().score(claims(*statuses), sources, context)
    assert 0.0 <= score.trust <= 1.0
    assert FormulaScorer().score(claims(*statuses), sources + 1, context).trust >= score.trust
    if statuses:
        better = claims(*["supported"], *statuses[1:])
        assert FormulaScorer().score(better, sources, context).trust >= score.trust


def test_context_is_the_share_of_six_fields() -> None:
    whole = Content(url="u", author="Ann Lee", published_ms=1, summary="It rose.", body="river " * 200)
    found = Extraction(language="en", entities=("a", "b"), keywords=("a", "b", "c"))
    assert context_completeness(whole, found) == 1.0
    assert context_completeness(msgspec.structs.replace(whole, author=" "), found) == pytest.approx(5 / 6)
    assert context_completeness(msgspec.structs.replace(whole, body="river " * 199), found) == pytest.approx(5 / 6)
    assert context_completeness(whole, Extraction(language="en", keywords=("a", "b"))) == pytest.approx(4 / 6)
    assert context_completeness(Content(url="u"), Extraction(language="en")) == 0.0


@pytest.mark.parametrize(
    ("others", "status"),
    [
        (["Officials said 12 people were injured in the warehouse fire."], "supported"),
        (["Officials said 19 people were injured in the warehouse fire."], "contradicted"),
        (["The mayor opened a new library with 12 rooms."], "unverified"),
        (["Officials said the warehouse fire was out by noon."], "unverified"),
        ([], "unverified"),
        (
            [
                "Officials said 12 people were injured in the warehouse fire.",
                "The warehouse fire injured 12 people, officials said.",
                "Officials said 19 people were injured in the warehouse fire.",
            ],
            "supported",
        ),
        (
            [
                "Officials said 12 people were injured in the warehouse fire.",
                "Officials said 19 people were injured in the warehouse fire.",
            ],
            "contradicted",
        ),
    ],
)
def test_a_claim_with_figures_is_judged_by_the_figures_of_others(others: list[str], status: str) -> None:
    views = [member(number, f"{number}.example", body) for number, body in enumerate(others)]
    (judged,) = OverlapVerifier().verify(["The fire in the warehouse injured 12 people, officials said."], views)
    assert judged.status == status


def test_the_dead_are_not_compared_with_the_injured() -> None:
    claim = "Three people died in the warehouse fire in Port Alder."
    other = member(1, body="The warehouse fire in Port Alder injured 12 people.")
    assert OverlapVerifier().verify([claim], [other])[0].status == "unverified"


def test_a_claim_without_figures_is_supported_by_a_sentence_that_repeats_it() -> None:
    claim = "Governor Solheim said the key rate would rise until prices were stable."
    alike = member(1, body="The key rate would rise until prices were stable, Solheim told reporters.")
    unlike = member(2, body="The governor of the bank is a keen sailor.")
    assert OverlapVerifier().verify([claim], [alike])[0].status == "supported"
    assert OverlapVerifier().verify([claim], [unlike])[0].status == "unverified"


def test_korean_figures_are_compared_too() -> None:
    claim = "한빛물류 창고 화재로 12명이 다쳤다."
    same = member(1, body="한빛물류 창고에서 화재가 나 12명이 다쳤다고 밝혔다.")
    other = member(2, body="한빛물류 창고 화재로 19명이 다친 것으로 집계됐다.")
    assert OverlapVerifier().verify([claim], [same])[0].status == "supported"
    assert OverlapVerifier().verify([claim], [other])[0].status == "contradicted"


def test_a_body_of_numbers_without_end_does_not_take_the_word_from_other_sources() -> None:
    claim = "한빛물류 창고 화재로 12명이 다쳤다."
    honest = member(1, "a.example", body="한빛물류 창고에서 화재가 나 12명이 다쳤다고 밝혔다.")
    hostile = member(2, "b.example", body="1만 " * 5_000)
    assert OverlapVerifier().verify([claim], [honest, hostile])[0].status == "supported"


def test_only_what_is_read_of_a_body_is_remembered() -> None:
    verify._statements_of.cache_clear()
    read = "The bridge was closed for 12 days. ".ljust(LONGEST_TEXT)
    for number in range(3):
        OverlapVerifier().verify(["It was closed for 12 days."], [member(1, body=f"{read}{number}")])
    assert verify._statements_of.cache_info().misses == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("1억 2만 3천원", 100_023_000.0), ("3만 5000명", 35_000.0), ("1조 2억 3만 4천 5백원", 1_000_200_034_500.0)],
)
def test_a_korean_number_is_the_sum_of_its_parts(text: str, value: float) -> None:
    assert [figure.value for figure in figures(text)] == [value]


def test_evidence_takes_the_newest_of_each_source_first() -> None:
    views = [member(number, "busy.example", seen_ms=NOW_MS + number) for number in range(10)]
    views.append(member(99, "quiet.example", seen_ms=NOW_MS - 5))
    assert [view.content_id for view in evidence_among(views, 3)] == [9, 99, 8]


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("https://www.bbc.co.uk/news/1", "bbc.co.uk"),
        ("https://news.bbc.co.uk:8443/1", "bbc.co.uk"),
        ("https://sports.chosun.com/1", "chosun.com"),
        ("http://news-a.localhost:8080/1", "news-a.localhost:8080"),
        ("http://127.0.0.1:9001/1", "127.0.0.1:9001"),
        ("http://127.0.0.1:9002/1", "127.0.0.1:9002"),
    ],
)
def test_a_source_is_the_registrable_domain_or_else_the_authority(url: str, source: str) -> None:
    assert source_of(url) == source


def test_velocity_is_contents_an_hour_with_the_old_ones_fading() -> None:
    assert velocity([NOW_MS] * 12, NOW_MS, OPTIONS) == pytest.approx(2.0)
    assert velocity([NOW_MS - 6 * HOUR_MS] * 12, NOW_MS, OPTIONS) == pytest.approx(2.0 / 2.718281828)


@given(st.lists(st.integers(0, 500), min_size=1, max_size=20), st.integers(0, 200))
def test_velocity_only_falls_while_nothing_joins(ages: list[int], later: int) -> None:
    times = [NOW_MS - age * HOUR_MS for age in ages]
    now = velocity(times, NOW_MS, OPTIONS)
    assert 0.0 <= velocity(times, NOW_MS + later * HOUR_MS, OPTIONS) <= now


@pytest.mark.parametrize(
    ("hours_out", "hosts", "hours_later", "state"),
    [
        ([1], ["a"], 0, IssueState.EMERGING),
        ([1, 1, 1], ["a", "b", "c"], 0, IssueState.ACTIVE),
        ([7, 1], ["a", "b"], 0, IssueState.ACTIVE),
        ([7], ["a"], 0, IssueState.FADING),
        ([1, 1, 1], ["a", "b", "c"], 30, IssueState.FADING),
        ([1, 1, 1], ["a", "b", "c"], 73, IssueState.CLOSED),
        ([9_000], ["a"], 0, IssueState.FADING),
    ],
)
def test_states_follow_age_sources_velocity_and_silence(
    hours_out: list[int], hosts: list[str], hours_later: int, state: IssueState
) -> None:
    members = [
        member(number, host, published_ms=NOW_MS - hours * HOUR_MS)
        for number, (hours, host) in enumerate(zip(hours_out, hosts, strict=True))
    ]
    assert issue_of(1, members, "T", NOW_MS + hours_later * HOUR_MS, OPTIONS).state is state


def test_an_undated_content_came_out_when_it_was_seen() -> None:
    assert happened_ms(member(1, published_ms=0)) == NOW_MS
    assert happened_ms(member(1, published_ms=NOW_MS + 5)) == NOW_MS
