"""Issues, who belongs to them, and what enrich found about contents."""

from collections.abc import Collection, Sequence

import msgspec
from sqlalchemy import Connection, Engine, RowMapping

from issuetracker_dagster.adapters.sql import issue_statements as statements
from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.issue_members import batches, members_among, members_of, members_of_open_issues
from issuetracker_dagster.adapters.sql.locks import ClusterLocks
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.records import Enrichment, Issue, IssueState
from issuetracker_dagster.ports.stores import ClusterLock, MemberView


class SqlIssues:
    """The port `Issues`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._locks = ClusterLocks(engine)

    def open_members(
        self, language: str, since_ms: int, limit: int, *, with_texts: bool = True
    ) -> Sequence[MemberView]:
        with reading(self._engine) as connection:
            return members_of_open_issues(connection, language, since_ms, limit, with_texts=with_texts)

    def members(self, issue_id: int, *, with_texts: bool = True) -> Sequence[MemberView]:
        with reading(self._engine) as connection:
            return members_of(connection, issue_id, with_texts=with_texts)

    def views(self, content_ids: Collection[int]) -> Sequence[MemberView]:
        if not content_ids:
            return []
        with reading(self._engine) as connection:
            return members_among(connection, content_ids)

    def assign(self, view: MemberView, issue_id: int | None) -> int:
        with writing(self._engine) as connection:
            # Content first, issue after it: workers that assign one content at once wait, but never for each other.
            connection.execute(statements.LOCK_CONTENT, {"content_id": view.content_id})
            target = _locked_target(connection, view.content_id, issue_id) or _open_issue(connection, view)
            values = {**_member_values(view), "issue_id": target}
            connection.execute(statements.save_member(connection.dialect.name), values)
            _saw(connection, target, view.seen_ms, view.seen_ms)
        return target

    def merge(self, into: int, absorbed: int) -> None:
        if into == absorbed:
            return
        with writing(self._engine) as connection:
            # In order of id, so that two merges that cross can't each wait for the other.
            present = {issue_id for issue_id in sorted((into, absorbed)) if _lock_issue(connection, issue_id)}
            if absorbed not in present:
                return
            if into not in present:
                raise PermanentError(f"there is no issue {into}", code="unknown_issue")
            first_ms, last_ms = connection.execute(statements.TIMES_OF_ISSUE, {"issue_id": absorbed}).one()
            for moved in statements.MOVE_MEMBERS:
                connection.execute(moved, {"absorbed": absorbed, "kept": into})
            connection.execute(statements.REMOVE_ISSUE, {"issue_id": absorbed})
            _saw(connection, into, first_ms, last_ms)

    def leave(self, content_id: int) -> int:
        content = {"content_id": content_id}
        with writing(self._engine) as connection:
            connection.execute(statements.LOCK_CONTENT, content)  # the order of `assign`
            issue_id: int | None = connection.execute(statements.ISSUE_OF_CONTENT, content).scalar_one_or_none()
            if issue_id is None:
                return 0
            _lock_issue(connection, issue_id)
            connection.execute(statements.REMOVE_MEMBER, content)
            connection.execute(statements.COUNT_MEMBERS, {"of_issue": issue_id})
            connection.execute(statements.REMOVE_EMPTY_ISSUE, {"issue_id": issue_id})
        return issue_id

    def quiet(self, states: Collection[IssueState], seen_before_ms: int, limit: int) -> Sequence[Issue]:
        values = {"states": [state.value for state in states], "before_ms": seen_before_ms, "limit": limit}
        with reading(self._engine) as connection:
            return [issue_of(row) for row in connection.execute(statements.QUIET_ISSUES, values).mappings()]

    def get(self, issue_id: int) -> Issue | None:
        with reading(self._engine) as connection:
            row = connection.execute(statements.ISSUE, {"issue_id": issue_id}).mappings().one_or_none()
        return None if row is None else issue_of(row)

    def update_issue(self, issue: Issue) -> None:
        values = {**msgspec.structs.asdict(issue), "state": issue.state.value, "of_issue": issue.issue_id}
        del values["issue_id"]
        with writing(self._engine) as connection:
            connection.execute(statements.UPDATE_ISSUE, values)

    def save_enrichment(self, *enrichments: Enrichment) -> None:
        if not enrichments:
            return
        rows = [msgspec.to_builtins(enrichment) for enrichment in enrichments]
        with writing(self._engine) as connection:
            connection.execute(statements.MARK_ENRICHED, [{"of_content": row["content_id"]} for row in rows])
            connection.execute(statements.save_enrichment(connection.dialect.name), rows)

    def enrichment(self, content_id: int) -> Enrichment | None:
        found = self.enrichments([content_id])
        return found[0] if found else None

    def enrichments(self, content_ids: Collection[int]) -> Sequence[Enrichment]:
        found: list[Enrichment] = []
        with reading(self._engine) as connection:
            for some in batches(sorted(set(content_ids))):
                rows = connection.execute(statements.ENRICHMENTS, {"content_ids": some})
                found += (msgspec.convert(dict(row), Enrichment) for row in rows.mappings())
        return sorted(found, key=lambda enrichment: enrichment.content_id)

    def lock_candidates(self, language: str) -> ClusterLock:
        return self._locks.lock(language)


def _member_values(view: MemberView) -> dict[str, object]:
    values = msgspec.to_builtins(view)
    del values["body"]
    return dict(values)


def _locked_target(connection: Connection, content_id: int, wanted: int | None) -> int | None:
    """The issue that the content is in or else shall be in, locked; None when one must be opened."""
    before = None
    while True:
        known = connection.execute(statements.ISSUE_OF_CONTENT, {"content_id": content_id})
        current: int | None = known.scalar_one_or_none()
        target = current or wanted
        if target is None or _lock_issue(connection, target):
            return target
        # A merge may have moved the content between the two queries; then it is in another issue now.
        if current is None or current == before:
            raise PermanentError(f"there is no issue {target}", code="unknown_issue")
        before = current


def _open_issue(connection: Connection, view: MemberView) -> int:
    values = {
        "title": view.title,
        "language": view.language,
        "first_seen_ms": view.seen_ms,
        "last_seen_ms": view.seen_ms,
        "content_count": 0,
        "source_count": 1,
        "velocity": 0.0,
        "state": IssueState.EMERGING.value,
    }
    issue_id: int = connection.execute(statements.OPEN_ISSUE, values).scalar_one()
    return issue_id


def _lock_issue(connection: Connection, issue_id: int) -> bool:
    """Whether the issue is there, and nobody else changes or removes it until this transaction ends."""
    return connection.execute(statements.LOCK_ISSUE, {"issue_id": issue_id}).scalar_one_or_none() is not None


def _saw(connection: Connection, issue_id: int, first_ms: int, last_ms: int) -> None:
    connection.execute(statements.SAW_MEMBER, {"of_issue": issue_id, "first_ms": first_ms, "last_ms": last_ms})


def issue_of(row: RowMapping) -> Issue:
    """The value of a row of `issues`."""
    return Issue(**{**{name: row[name] for name in Issue.__struct_fields__}, "state": IssueState(row["state"])})
