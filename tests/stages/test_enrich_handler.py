"""The enrich stage as a whole over the memory stores."""

import logging
from collections.abc import Collection, Sequence

import msgspec
import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryContents, MemoryIssues
from issuetracker_dagster.errors import PermanentError, Unavailable
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.records import Content, ContentClaim, ContentStatus, Enrichment, Issue, IssueState
from issuetracker_dagster.ports.stores import ClusterLock, MemberView
from issuetracker_dagster.stages.enrich.cluster import NearestIssueClusterer
from issuetracker_dagster.stages.enrich.extract import LocalExtractor
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.score import FormulaScorer
from issuetracker_dagster.stages.enrich.steps import Extraction, Score
from issuetracker_dagster.stages.enrich.verify import OverlapVerifier
from tests.stages.enrich_stories import ALDER_1, ALDER_2, ALDER_3, NOW_MS, STORIES, Report


class World:
    """An enrich stage with its stores."""

    def __init__(self, issues: MemoryIssues | None = None) -> None:
        self.contents = MemoryContents()
        self.issues = issues or MemoryIssues(self.contents)
        self.clock = FakeClock(NOW_MS)
        self.handler = EnrichHandler(self.contents, self.issues, self.clock)

    def ref(self, report: Report) -> ContentRef:
        return ContentRef(content_id=self.contents.save(report.content()), url=report.url)

    def enrich(self, report: Report, attempt: int = 1) -> Outcome:
        headers = Headers(root_id=report.url, attempt=attempt)
        return self.handler.handle(self.ref(report), HandlerContext(headers))

    def found(self, report: Report) -> Enrichment:
        enrichment = self.issues.enrichment(self.ref(report).content_id)
        assert enrichment is not None
        return enrichment


def test_enrichment_is_kept_and_the_content_goes_on() -> None:
    world = World()
    assert world.enrich(ALDER_1).forward == world.ref(ALDER_1)
    found = world.found(ALDER_1)
    assert found.language == "en"
    assert "Port Alder" in found.entities
    assert found.claims
    assert found.issue_id > 0
    assert found.failed_steps == ()
    assert found.enriched_ms == NOW_MS
    content = world.contents.get(found.content_id)
    assert content is not None
    assert content.status is ContentStatus.ENRICHED


def test_a_content_that_is_not_stored_is_a_permanent_error() -> None:
    with pytest.raises(PermanentError) as caught:
        World().handler.handle(ContentRef(content_id=9, url="u"), HandlerContext(Headers(root_id="r")))
    assert caught.value.code == "content_missing"


def test_enriching_again_changes_nothing_but_times() -> None:
    world = World()
    for story in STORIES:
        world.enrich(story)
    for story in STORIES:
        # Once more for members that were rescored when later sources joined.
        world.enrich(story)
    before = {story.url: world.found(story) for story in STORIES}
    issues = dict(world.issues.rows)
    world.clock.advance(60_000)
    for story in reversed(STORIES):
        world.enrich(story)
    for story in STORIES:
        assert msgspec.structs.replace(world.found(story), enriched_ms=0) == msgspec.structs.replace(
            before[story.url], enriched_ms=0
        )
    assert {key: msgspec.structs.replace(issue, velocity=0.0) for key, issue in world.issues.rows.items()} == {
        key: msgspec.structs.replace(issue, velocity=0.0) for key, issue in issues.items()
    }


def test_the_first_run_already_says_what_a_second_one_would() -> None:
    world = World()
    for story in STORIES:
        world.enrich(story)
    first = {story.url: world.found(story) for story in STORIES}
    for story in STORIES:
        world.enrich(story)
    assert {story.url: world.found(story) for story in STORIES} == first


def test_a_new_source_changes_the_scores_of_the_members() -> None:
    world = World()
    world.enrich(ALDER_1)
    alone = world.found(ALDER_1)
    assert alone.factors["source_diversity"] == 0.0
    assert {claim.status for claim in alone.claims} == {"unverified"}
    world.enrich(ALDER_2)
    joined = world.found(ALDER_1)
    assert joined.factors["source_diversity"] == pytest.approx(0.5)
    assert joined.trust > alone.trust
    injured = next(claim for claim in joined.claims if "injuring 12" in claim.text)
    assert injured.status == "supported"


def test_another_figure_for_the_same_thing_contradicts() -> None:
    world = World()
    world.enrich(ALDER_1)
    world.enrich(ALDER_3)
    claim = next(claim for claim in world.found(ALDER_3).claims if "19 people" in claim.text)
    assert claim.status == "contradicted"
    assert "1 contradicted" in world.found(ALDER_3).rationale


def test_a_second_report_of_the_same_site_is_no_other_source() -> None:
    world = World()
    world.enrich(ALDER_1)
    world.enrich(msgspec.structs.replace(ALDER_2, url="http://news-a.localhost:8080/again"))
    assert world.found(ALDER_1).factors["source_diversity"] == 0.0
    assert {claim.status for claim in world.found(ALDER_1).claims} == {"unverified"}


class BrokenCandidates(MemoryIssues):
    """Issues whose candidates can't be read."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def open_members(
        self, language: str, since_ms: int, limit: int, *, with_texts: bool = True
    ) -> Sequence[MemberView]:
        raise self.error


def test_a_failed_step_is_recorded_and_the_content_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    world = World(BrokenCandidates(ValueError("odd row")))
    with caplog.at_level(logging.WARNING):
        assert world.enrich(ALDER_1).forward is not None
    found = world.found(ALDER_1)
    assert found.failed_steps == ("cluster",)
    assert found.issue_id == 0
    assert found.claims
    assert found.trust > 0
    assert [getattr(record, "action", "") for record in caplog.records] == ["enrich.step_failed"]


def test_a_store_out_of_reach_gets_a_second_attempt_before_the_step_is_given_up() -> None:
    world = World(BrokenCandidates(Unavailable("the database is away")))
    with pytest.raises(Unavailable):
        world.enrich(ALDER_1)
    assert world.enrich(ALDER_1, attempt=2).forward is not None
    assert world.found(ALDER_1).failed_steps == ("cluster",)


class UnreadableMembers(MemoryIssues):
    """Issues whose members can't be read with their texts once the content is among them."""

    is_broken = False

    def assign(self, view: MemberView, issue_id: int | None) -> int:
        found = super().assign(view, issue_id)
        self.is_broken = True
        return found

    def views(self, content_ids: Collection[int]) -> Sequence[MemberView]:
        if self.is_broken:
            raise ValueError("odd row")
        return super().views(content_ids)


def test_a_content_goes_on_when_the_other_members_can_not_be_read() -> None:
    world = World(UnreadableMembers())
    assert world.enrich(ALDER_1).forward is not None
    assert world.found(ALDER_1).failed_steps[0] == "members"
    assert {claim.status for claim in world.found(ALDER_1).claims} == {"unverified"}


class Falls:
    """Any of the steps, with a bug in it."""

    def extract(self, content: Content) -> Extraction:
        raise ValueError(content.url)

    def verify(self, claims: Sequence[str], others: Sequence[MemberView]) -> tuple[ContentClaim, ...]:
        raise ValueError(str(claims))

    def score(self, claims: Sequence[ContentClaim], source_count: int, context_completeness: float) -> Score:
        raise ValueError(str(source_count))


@pytest.mark.parametrize(
    ("step", "part"), [("extract", LocalExtractor), ("verify", OverlapVerifier), ("score", FormulaScorer)]
)
def test_each_step_that_falls_over_is_named_and_the_content_goes_on(
    step: str, part: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, step, getattr(Falls, step))
    world = World()
    assert world.enrich(ALDER_1).forward is not None
    assert step in world.found(ALDER_1).failed_steps


def test_an_issue_whose_members_went_elsewhere_is_left_as_it_is() -> None:
    world = World()
    NearestIssueClusterer(world.issues, world.clock, EnrichOptions())._describe(99, NOW_MS)
    assert world.issues.rows == {}


class OddRows(MemoryIssues):
    """Issues of which the silent ones can't be read."""

    def quiet(self, states: Collection[IssueState], seen_before_ms: int, limit: int) -> Sequence[Issue]:
        raise ValueError("odd row")


def test_a_content_goes_on_when_old_issues_can_not_be_aged(caplog: pytest.LogCaptureFixture) -> None:
    world = World(OddRows())
    with caplog.at_level(logging.WARNING):
        assert world.enrich(ALDER_1).forward is not None
    assert world.found(ALDER_1).failed_steps == ()
    assert [record.exc_info is not None for record in caplog.records] == [True]


class LockGoesAway(MemoryIssues):
    """Issues whose lock can be had once and not again."""

    entered = 0

    def lock_candidates(self, language: str) -> ClusterLock:
        self.entered += 1
        if self.entered == 2:
            raise Unavailable("another worker holds the lock")
        return super().lock_candidates(language)


def test_scores_are_kept_even_when_the_members_can_not_be_rescored() -> None:
    world = World(LockGoesAway())
    assert world.enrich(ALDER_1, attempt=2).forward is not None
    found = world.found(ALDER_1)
    assert found.failed_steps == ("rescore",)
    assert found.trust > 0


class MergedMeanwhile(MemoryIssues):
    """Issues in which another worker merges the content's issue away right after it was placed."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = 0

    def lock_candidates(self, language: str) -> ClusterLock:
        self.entered += 1
        if self.entered == 2:
            only = next(iter(self.rows.values()))
            other = MemberView(99, 0, "z.example", "T", "B", language, NOW_MS, NOW_MS, (), ())
            self.merge(self.assign(other, None), only.issue_id)
        return super().lock_candidates(language)

    def views(self, content_ids: Collection[int]) -> Sequence[MemberView]:
        return super().views(content_ids)


def test_an_issue_merged_away_meanwhile_is_followed() -> None:
    issues = MergedMeanwhile()
    world = World(issues)
    world.enrich(ALDER_1)
    assert world.found(ALDER_1).issue_id == issues.views([world.ref(ALDER_1).content_id])[0].issue_id
    assert world.found(ALDER_1).factors["source_diversity"] == pytest.approx(0.5)
