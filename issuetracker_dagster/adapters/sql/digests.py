"""The issues of a digest with all their contents, in two queries."""

from collections.abc import Sequence

from sqlalchemy import Engine, RowMapping, func, select

from issuetracker_dagster.adapters.sql.engine import reading
from issuetracker_dagster.adapters.sql.issues import issue_of
from issuetracker_dagster.adapters.sql.tables_contents import ContentRow
from issuetracker_dagster.adapters.sql.tables_issues import EnrichedContentRow, IssueContentRow, IssueRow
from issuetracker_dagster.model.digest import DigestContent, DigestIssue


class SqlDigests:
    """The port `Digests`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def top(self, since_ms: int, limit: int) -> Sequence[DigestIssue]:
        fastest = (
            select(IssueRow.__table__)
            .where(IssueRow.last_seen_ms >= since_ms, IssueRow.content_count > 0)
            .order_by(
                IssueRow.velocity.desc(),
                IssueRow.source_count.desc(),
                IssueRow.last_seen_ms.desc(),
                IssueRow.issue_id.desc(),
            )
            .limit(limit)
        )
        member = IssueContentRow
        contents = (
            select(
                *(member.issue_id, member.title, member.host, member.published_ms, member.seen_ms),
                ContentRow.url,
                func.coalesce(EnrichedContentRow.trust, 0.0).label("trust"),
            )
            .join(ContentRow, ContentRow.content_id == member.content_id)
            .outerjoin(EnrichedContentRow, EnrichedContentRow.content_id == member.content_id)
        )
        with reading(self._engine) as connection:
            issues = [issue_of(row) for row in connection.execute(fastest).mappings()]
            meant = member.issue_id.in_([issue.issue_id for issue in issues])
            found: dict[int, list[DigestContent]] = {issue.issue_id: [] for issue in issues}
            for row in connection.execute(contents.where(meant)).mappings():
                found[row["issue_id"]].append(_content(row))
        return [
            DigestIssue(
                issue=issue,
                contents=tuple(sorted(found[issue.issue_id], key=lambda each: (-each.out_ms, each.url))),
            )
            for issue in issues
        ]


def _content(row: RowMapping) -> DigestContent:
    published_ms, seen_ms = row["published_ms"], row["seen_ms"]
    return DigestContent(
        title=row["title"],
        url=row["url"],
        host=row["host"],
        out_ms=min(published_ms, seen_ms) if published_ms > 0 else seen_ms,
        trust=row["trust"],
    )
