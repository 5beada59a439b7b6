"""The issues of a digest as the database gives them."""

import msgspec
from sqlalchemy import Engine

from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.model.records import Enrichment
from tests.contracts.store_worlds import article, member


def test_the_fastest_issues_come_first_with_all_their_contents(sql_engine: Engine) -> None:
    stores = SqlStores(sql_engine)
    issues: list[int] = []
    for number, (velocity, seen_ms) in enumerate([(1.0, 9_000), (3.0, 9_000), (9.0, 1_000), (1.0, 9_500)]):
        first = stores.contents.save(article(10 * number, url=f"https://a.com/{number}", host="a.com"))
        second = stores.contents.save(article(10 * number + 1, url=f"https://b.com/{number}", host="b.com"))
        issue_id = stores.issues.assign(member(first, seen_ms, host="a.com", published_ms=0), None)
        stores.issues.assign(member(second, seen_ms, host="b.com", published_ms=seen_ms - 500), issue_id)
        stores.issues.save_enrichment(Enrichment(content_id=second, issue_id=issue_id, trust=0.5))
        row = stores.issues.get(issue_id)
        assert row is not None
        stores.issues.update_issue(msgspec.structs.replace(row, velocity=velocity, source_count=2))
        issues.append(issue_id)
    found = stores.digests.top(since_ms=5_000, limit=2)
    assert [each.issue.issue_id for each in found] == [issues[1], issues[3]]
    told = [(content.host, content.url, content.out_ms, content.trust) for content in found[0].contents]
    assert told == [("a.com", "https://a.com/1", 9_000, 0.0), ("b.com", "https://b.com/1", 8_500, 0.5)]
    assert found[0].trust == 0.25
    assert stores.digests.top(since_ms=99_000, limit=2) == []
