"""The contracts of `Issues` and `Reports`."""

import threading
from collections.abc import Callable

import msgspec
import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.records import (
    ContentClaim,
    ContentStatus,
    Enrichment,
    Issue,
    IssueState,
    RawContent,
    Verdict,
)
from tests.contracts.store_worlds import Stores, article, member, page


@pytest.fixture
def ids(stores: Stores) -> list[int]:
    """Contents 1 to 5, saved."""
    return [stores.contents.save(article(number)) for number in range(1, 6)]


def test_a_first_member_opens_an_issue(stores: Stores, ids: list[int]) -> None:
    issue_id = stores.issues.assign(member(ids[0], seen_ms=700), None)
    assert stores.issues.get(issue_id) == Issue(
        issue_id=issue_id,
        title=f"Title {ids[0]}",
        language="en",
        first_seen_ms=700,
        last_seen_ms=700,
        content_count=1,
        source_count=1,
    )
    assert list(stores.issues.members(issue_id)) == [member(ids[0], seen_ms=700, issue_id=issue_id)]
    assert stores.issues.get(issue_id + 1) is None


def test_a_content_stays_in_its_issue_and_its_view_is_refreshed(stores: Stores, ids: list[int]) -> None:
    first = stores.issues.assign(member(ids[0]), None)
    other = stores.issues.assign(member(ids[1]), None)
    assert stores.issues.assign(member(ids[0]), None) == first
    assert stores.issues.assign(member(ids[0], keywords=("new",)), other) == first
    (view,) = stores.issues.members(first)
    assert view.keywords == ("new",)
    assert [view.content_id for view in stores.issues.members(other)] == [ids[1]]


def test_joining_widens_the_time_in_which_an_issue_was_seen(stores: Stores, ids: list[int]) -> None:
    issue_id = stores.issues.assign(member(ids[0], seen_ms=500), None)
    stores.issues.assign(member(ids[1], seen_ms=900), issue_id)
    stores.issues.assign(member(ids[2], seen_ms=300), issue_id)
    issue = stores.issues.get(issue_id)
    assert issue is not None
    assert (issue.first_seen_ms, issue.last_seen_ms, issue.content_count) == (300, 900, 3)
    assert [view.content_id for view in stores.issues.members(issue_id)] == [ids[2], ids[0], ids[1]]


def test_an_issue_that_is_none_takes_no_member(stores: Stores, ids: list[int]) -> None:
    with pytest.raises(PermanentError, match="no issue 77"):
        stores.issues.assign(member(ids[0]), 77)
    assert list(stores.issues.views(ids)) == []


def test_open_members_are_of_open_issues_seen_since_newest_first(stores: Stores, ids: list[int]) -> None:
    active = stores.issues.assign(member(ids[0], seen_ms=100), None)
    stores.issues.assign(member(ids[1], seen_ms=800), active)
    closed = stores.issues.assign(member(ids[2], seen_ms=900), None)
    stores.issues.assign(member(ids[3], seen_ms=200), None)
    stores.issues.assign(member(ids[4], seen_ms=900, language="ko"), None)
    issue = stores.issues.get(closed)
    assert issue is not None
    stores.issues.update_issue(msgspec.structs.replace(issue, state=IssueState.CLOSED))
    assert [view.content_id for view in stores.issues.open_members("en", 700, 10)] == [ids[1], ids[0]]
    assert [view.content_id for view in stores.issues.open_members("en", 0, 2)] == [ids[1], ids[3]]
    assert [view.body for view in stores.issues.open_members("en", 700, 1)] == [f"Body of article {ids[1]}."]
    assert {view.body for view in stores.issues.open_members("en", 0, 10, with_texts=False)} == {""}


def test_views_are_of_members_only_in_order(stores: Stores, ids: list[int]) -> None:
    issue_id = stores.issues.assign(member(ids[2]), None)
    stores.issues.assign(member(ids[0]), issue_id)
    found = stores.issues.views([ids[2], ids[1], ids[0], 4_711])
    assert [(view.content_id, view.body) for view in found] == [
        (ids[0], f"Body of article {ids[0]}."),
        (ids[2], f"Body of article {ids[2]}."),
    ]
    assert {view.body for view in stores.issues.members(issue_id, with_texts=False)} == {""}


def test_a_merge_moves_members_and_enrichments_and_may_be_repeated(stores: Stores, ids: list[int]) -> None:
    into = stores.issues.assign(member(ids[0], seen_ms=500), None)
    absorbed = stores.issues.assign(member(ids[1], seen_ms=100), None)
    stores.issues.save_enrichment(Enrichment(content_id=ids[1], issue_id=absorbed))
    for _ in range(2):
        stores.issues.merge(into, absorbed)
    assert stores.issues.get(absorbed) is None
    issue = stores.issues.get(into)
    assert issue is not None
    assert (issue.first_seen_ms, issue.last_seen_ms, issue.content_count) == (100, 500, 2)
    assert {view.issue_id for view in stores.issues.views(ids)} == {into}
    enrichment = stores.issues.enrichment(ids[1])
    assert enrichment is not None
    assert enrichment.issue_id == into
    stores.issues.merge(into, into)
    assert len(stores.issues.members(into)) == 2


def test_merging_into_an_issue_that_is_none_is_refused(stores: Stores, ids: list[int]) -> None:
    absorbed = stores.issues.assign(member(ids[0]), None)
    with pytest.raises(PermanentError, match="no issue 77"):
        stores.issues.merge(77, absorbed)
    assert len(stores.issues.members(absorbed)) == 1


def test_quiet_issues_are_in_those_states_longest_silent_first(stores: Stores, ids: list[int]) -> None:
    late, early, closed, fresh = (
        stores.issues.assign(member(content_id, seen_ms=seen), None)
        for content_id, seen in zip(ids, (300, 100, 50, 900), strict=False)
    )
    issue = stores.issues.get(closed)
    assert issue is not None
    stores.issues.update_issue(msgspec.structs.replace(issue, state=IssueState.CLOSED))
    opened = [IssueState.EMERGING, IssueState.ACTIVE]
    assert [issue.issue_id for issue in stores.issues.quiet(opened, 900, 10)] == [early, late]
    assert [issue.issue_id for issue in stores.issues.quiet(opened, 900, 1)] == [early]
    assert fresh not in [issue.issue_id for issue in stores.issues.quiet(list(IssueState), 900, 10)]
    assert list(stores.issues.quiet([], 900, 10)) == []


def test_an_issue_is_updated_whole_and_one_that_is_gone_stays_gone(stores: Stores, ids: list[int]) -> None:
    issue_id = stores.issues.assign(member(ids[0]), None)
    changed = Issue(
        issue_id=issue_id, title="Flood", language="en", first_seen_ms=1, last_seen_ms=2, content_count=3,
        source_count=2, velocity=1.5, state=IssueState.ACTIVE,
    )  # fmt: skip
    stores.issues.update_issue(changed)
    assert stores.issues.get(issue_id) == changed
    stores.issues.update_issue(msgspec.structs.replace(changed, issue_id=issue_id + 5))
    assert stores.issues.get(issue_id + 5) is None


def enrichment(content_id: int, trust: float = 0.5) -> Enrichment:
    return Enrichment(
        content_id=content_id,
        language="ko",
        keywords=("홍수",),
        entities=("서울",),
        claims=(ContentClaim(text="3 died", status="supported"),),
        issue_id=1,
        trust=trust,
        factors={"source_diversity": 0.5},
        rationale="two sources agree",
        failed_steps=("verify",),
        enriched_ms=42,
    )


def test_an_enrichment_comes_back_whole_and_is_replaced(stores: Stores, ids: list[int]) -> None:
    assert stores.issues.enrichment(ids[0]) is None
    stores.issues.save_enrichment(enrichment(ids[0], 0.25))
    stores.issues.save_enrichment(enrichment(ids[0]))
    assert stores.issues.enrichment(ids[0]) == enrichment(ids[0])


def test_enriching_marks_the_content_unless_it_was_rejected(stores: Stores, ids: list[int]) -> None:
    accepted, rejected = ids[:2]
    stores.contents.record_verdict(accepted, Verdict(accepted=True))
    stores.contents.record_verdict(rejected, Verdict(accepted=False, code="VAL_006"))
    for content_id in (accepted, rejected):
        stores.issues.save_enrichment(enrichment(content_id))
    statuses = [found.status for found in map(stores.contents.get, (accepted, rejected)) if found is not None]
    assert statuses == [ContentStatus.ENRICHED, ContentStatus.REJECTED]
    stores.contents.record_verdict(accepted, Verdict(accepted=True))
    found = stores.contents.get(accepted)
    assert found is not None
    assert found.status is ContentStatus.ENRICHED


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Run `work(0..count-1)` at once; raise what any of them raised."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            barrier.wait(10)
            work(number)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert failures == []


def test_workers_at_once_open_one_issue_for_one_story(stores: Stores, ids: list[int]) -> None:
    def cluster(number: int) -> None:
        with stores.issues.lock_candidates("en"):
            candidates = stores.issues.open_members("en", 0, 10)
            target = candidates[0].issue_id if candidates else None
            stores.issues.assign(member(ids[number]), target)

    in_threads(cluster, 5)
    assert len({view.issue_id for view in stores.issues.views(ids)}) == 1
    assert stores.reports.counts()["issues"] == 1


def test_one_content_assigned_by_workers_at_once_is_in_one_issue(stores: Stores, ids: list[int]) -> None:
    in_threads(lambda _: void(stores.issues.assign(member(ids[0]), None)), 5)
    assert len(stores.issues.views(ids)) == 1
    assert stores.reports.counts()["issues"] == 1


def test_the_lock_of_one_language_leaves_another_free_and_frees_itself_after_an_error(stores: Stores) -> None:
    def fail_inside() -> None:
        with stores.issues.lock_candidates("en"), stores.issues.lock_candidates("ko"):
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail_inside()
    with stores.issues.lock_candidates("en"):
        pass


def test_workers_saving_one_page_and_content_at_once_make_one_row(stores: Stores) -> None:
    pages: list[RawContent] = [page(body=b"%d" % number) for number in range(6)]
    found: set[tuple[int, int]] = set()

    def save(number: int) -> None:
        found.add((stores.raw_contents.save(pages[number]), stores.contents.save(article(body=f"Version {number}"))))

    in_threads(save, 6)
    ((raw_id, content_id),) = found
    counts = stores.reports.counts()
    assert (counts["raw_contents"], counts["contents"]) == (1, 1)
    assert len(stores.raw_contents.history(raw_id)) == 6
    content = stores.contents.get(content_id)
    assert content is not None
    assert content.body.startswith("Version ")


def test_counts_say_how_far_everything_has_come(stores: Stores, ids: list[int]) -> None:
    stores.contents.record_verdict(ids[0], Verdict(accepted=True))
    stores.contents.record_verdict(ids[1], Verdict(accepted=False))
    stores.issues.assign(member(ids[0]), None)
    counts = stores.reports.counts()
    assert {name: count for name, count in counts.items() if count} == {
        "contents": 5,
        "contents.parsed": 3,
        "contents.validated": 1,
        "contents.rejected": 1,
        "issues": 1,
        "issues.emerging": 1,
    }
    assert counts["contents.enriched"] == counts["dead_letters"] == counts["raw_contents"] == counts["seeds"] == 0


def test_reports_show_contents_with_scores_and_issues_with_sources(stores: Stores, ids: list[int]) -> None:
    issue_id = stores.issues.assign(member(ids[0], seen_ms=1), None)
    stores.issues.assign(member(ids[1], seen_ms=2, host="other.example.org"), issue_id)
    later = stores.issues.assign(member(ids[2], seen_ms=9), None)
    stores.contents.record_verdict(ids[4], Verdict(accepted=False, code="VAL_003", quality=0.1))
    stores.issues.save_enrichment(enrichment(ids[0]))
    latest, *_, first = stores.reports.contents(10)
    assert (latest.content_id, latest.status, latest.code, latest.quality) == (ids[4], "rejected", "VAL_003", 0.1)
    assert (first.issue_id, first.trust, first.factors, first.language) == (
        issue_id, 0.5, {"source_diversity": 0.5}, "ko",
    )  # fmt: skip
    assert len(stores.reports.contents(2)) == 2
    views = stores.reports.issues(10)
    assert [view.issue.issue_id for view in views] == [later, issue_id]
    assert views[1].hosts == ("news.example.com", "other.example.org")
    assert views[1].content_ids == (ids[0], ids[1])
    assert len(stores.reports.issues(1)) == 1


def void(_: object) -> None:
    """Drop a value where none is wanted."""


def test_an_issue_that_its_last_content_leaves_is_gone(stores: Stores) -> None:
    first, second = (stores.contents.save(article(number)) for number in (1, 2))
    issue_id = stores.issues.assign(member(first), None)
    stores.issues.assign(member(second), issue_id)
    assert stores.issues.leave(first) == issue_id
    row = stores.issues.get(issue_id)
    assert row is not None
    assert row.content_count == 1
    assert stores.issues.leave(first) == 0
    assert stores.issues.leave(second) == issue_id
    assert stores.issues.get(issue_id) is None
