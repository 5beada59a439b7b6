"""The read side: what came of it all, for the CLI, checks and analysts."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Engine, RowMapping, func, select

from issuetracker_dagster.adapters.sql.engine import reading
from issuetracker_dagster.adapters.sql.issues import issue_of
from issuetracker_dagster.adapters.sql.schema import Table
from issuetracker_dagster.adapters.sql.tables_contents import ContentMetaRow, ContentRow, RawContentRow
from issuetracker_dagster.adapters.sql.tables_issues import EnrichedContentRow, IssueContentRow, IssueRow
from issuetracker_dagster.adapters.sql.tables_rules import FetcherRuleRow, SchedulerEntryRow
from issuetracker_dagster.adapters.sql.tables_traces import DeadLetterRow
from issuetracker_dagster.model.letters import LetterState
from issuetracker_dagster.model.records import ContentStatus, IssueState
from issuetracker_dagster.ports.reports import ContentView, DeadLetterView, IssueView

_COUNTED: Mapping[str, type[Table]] = {
    "raw_contents": RawContentRow,
    "enriched_contents": EnrichedContentRow,
    "seeds": SchedulerEntryRow,
}


class SqlReports:
    """The port `Reports`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def counts(self) -> Mapping[str, int]:
        by_status = select(ContentRow.status, func.count()).group_by(ContentRow.status)
        dead = select(func.count()).where(DeadLetterRow.state == LetterState.OPEN)
        by_state = select(IssueRow.state, func.count()).group_by(IssueRow.state)
        with reading(self._engine) as connection:
            counts: dict[str, int] = {
                name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for name, table in _COUNTED.items()
            }
            counts["dead_letters"] = connection.execute(dead).scalar_one()
            statuses = {row[0]: row[1] for row in connection.execute(by_status)}
            states = {row[0]: row[1] for row in connection.execute(by_state)}
        counts["contents"] = sum(statuses.values())
        counts["issues"] = sum(states.values())
        counts.update({f"contents.{status}": statuses.get(status.value, 0) for status in ContentStatus})
        counts.update({f"issues.{state}": states.get(state.value, 0) for state in IssueState})
        return counts

    def contents(self, limit: int) -> Sequence[ContentView]:
        query = (
            select(
                *ContentRow.__table__.columns,
                ContentMetaRow.code,
                ContentMetaRow.quality,
                EnrichedContentRow.language.label("found_language"),
                EnrichedContentRow.trust,
                EnrichedContentRow.factors,
                EnrichedContentRow.rationale,
                IssueContentRow.issue_id,
            )
            .join(ContentMetaRow, ContentMetaRow.content_id == ContentRow.content_id)
            .outerjoin(EnrichedContentRow, EnrichedContentRow.content_id == ContentRow.content_id)
            .outerjoin(IssueContentRow, IssueContentRow.content_id == ContentRow.content_id)
            .order_by(ContentRow.content_id.desc())
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return [_content_view(row) for row in connection.execute(query).mappings()]

    def issues(self, limit: int) -> Sequence[IssueView]:
        latest = select(IssueRow.__table__).order_by(IssueRow.last_seen_ms.desc(), IssueRow.issue_id.desc())
        with reading(self._engine) as connection:
            issues = [issue_of(row) for row in connection.execute(latest.limit(limit)).mappings()]
            members = (
                select(IssueContentRow.issue_id, IssueContentRow.host, IssueContentRow.content_id)
                .where(IssueContentRow.issue_id.in_([issue.issue_id for issue in issues]))
                .order_by(IssueContentRow.seen_ms, IssueContentRow.content_id)
            )
            hosts: dict[int, set[str]] = {issue.issue_id: set() for issue in issues}
            contents: dict[int, list[int]] = {issue.issue_id: [] for issue in issues}
            for issue_id, host, content_id in connection.execute(members):
                hosts[issue_id].add(host)
                contents[issue_id].append(content_id)
        return [
            IssueView(
                issue=issue, hosts=tuple(sorted(hosts[issue.issue_id])), content_ids=tuple(contents[issue.issue_id])
            )
            for issue in issues
        ]

    def dead_letters(self, limit: int) -> Sequence[DeadLetterView]:
        query = select(DeadLetterRow.__table__).order_by(DeadLetterRow.at_ms.desc(), DeadLetterRow.letter_id.desc())
        with reading(self._engine) as connection:
            return [
                DeadLetterView(**{name: row[name] for name in DeadLetterView.__struct_fields__})
                for row in connection.execute(query.limit(limit)).mappings()
            ]

    def rendered_hosts(self) -> Sequence[str]:
        query = select(FetcherRuleRow.host_pattern).where(FetcherRuleRow.rendering)
        with reading(self._engine) as connection:
            return sorted(connection.execute(query).scalars())


def _content_view(row: RowMapping) -> ContentView:
    return ContentView(
        content_id=row["content_id"],
        url=row["url"],
        host=row["host"],
        title=row["title"],
        language=row["found_language"] or row["language"],
        status=row["status"],
        code=row["code"],
        quality=row["quality"],
        published_ms=row["published_ms"],
        fetched_ms=row["fetched_ms"],
        issue_id=row["issue_id"] or 0,
        trust=row["trust"] or 0.0,
        factors=row["factors"] or {},
        rationale=row["rationale"] or "",
    )
