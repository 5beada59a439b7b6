"""Issues, who belongs to them, and what enrich found about contents."""

from collections.abc import Collection, Sequence

import msgspec
from sqlalchemy import Connection, Engine, RowMapping, Select, Update, delete, func, select, update

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.locks import ClusterLocks
from issuetracker_dagster.adapters.sql.tables_contents import ContentBodyRow, ContentRow
from issuetracker_dagster.adapters.sql.tables_issues import EnrichedContentRow, IssueContentRow, IssueRow
from issuetracker_dagster.adapters.sql.upserts import insert_into, upsert
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.records import ContentStatus, Enrichment, Issue, IssueState
from issuetracker_dagster.ports.stores import ClusterLock, MemberView

_IDS_AT_ONCE = 500


class SqlIssues:
    """The port `Issues`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._locks = ClusterLocks(engine)

    def open_members(
        self, language: str, since_ms: int, limit: int, *, with_bodies: bool = True
    ) -> Sequence[MemberView]:
        query = (
            _members(with_bodies=with_bodies)
            .join(IssueRow, IssueRow.issue_id == IssueContentRow.issue_id)
            .where(IssueRow.language == language, IssueRow.last_seen_ms >= since_ms)
            .where(IssueRow.state != IssueState.CLOSED.value)
            .order_by(IssueContentRow.seen_ms.desc(), IssueContentRow.content_id.desc())
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return [_view(row) for row in connection.execute(query).mappings()]

    def members(self, issue_id: int, *, with_bodies: bool = True) -> Sequence[MemberView]:
        query = (
            _members(with_bodies=with_bodies)
            .where(IssueContentRow.issue_id == issue_id)
            .order_by(IssueContentRow.seen_ms, IssueContentRow.content_id)
        )
        with reading(self._engine) as connection:
            return [_view(row) for row in connection.execute(query).mappings()]

    def views(self, content_ids: Collection[int]) -> Sequence[MemberView]:
        wanted = sorted(set(content_ids))
        found: list[MemberView] = []
        with reading(self._engine) as connection:
            for start in range(0, len(wanted), _IDS_AT_ONCE):
                some = IssueContentRow.content_id.in_(wanted[start : start + _IDS_AT_ONCE])
                query = _members(with_bodies=True).where(some).order_by(IssueContentRow.content_id)
                found.extend(_view(row) for row in connection.execute(query).mappings())
        return found

    def assign(self, view: MemberView, issue_id: int | None) -> int:
        content = select(ContentRow.content_id).where(ContentRow.content_id == view.content_id)
        with writing(self._engine) as connection:
            # Content first, issue after it: workers that assign one content at once wait, but never for each other.
            connection.execute(content.with_for_update(key_share=True))
            target = _locked_target(connection, view.content_id, issue_id) or _open_issue(connection, view)
            values = {**_member_values(view), "issue_id": target}
            connection.execute(upsert(connection, IssueContentRow, values, ["content_id"]))
            _saw(connection, target, view.seen_ms, view.seen_ms)
        return target

    def merge(self, into: int, absorbed: int) -> None:
        if into == absorbed:
            return
        gone = select(IssueRow.first_seen_ms, IssueRow.last_seen_ms).where(IssueRow.issue_id == absorbed)
        with writing(self._engine) as connection:
            # In order of id, so that two merges that cross can't each wait for the other.
            present = {issue_id for issue_id in sorted((into, absorbed)) if _lock_issue(connection, issue_id)}
            if absorbed not in present:
                return
            if into not in present:
                raise PermanentError(f"there is no issue {into}", code="unknown_issue")
            first_ms, last_ms = connection.execute(gone).one()
            for table in (IssueContentRow, EnrichedContentRow):
                connection.execute(update(table).where(table.issue_id == absorbed).values(issue_id=into))
            connection.execute(delete(IssueRow).where(IssueRow.issue_id == absorbed))
            _saw(connection, into, first_ms, last_ms)

    def leave(self, content_id: int) -> int:
        known = select(IssueContentRow.issue_id).where(IssueContentRow.content_id == content_id)
        content = select(ContentRow.content_id).where(ContentRow.content_id == content_id)
        with writing(self._engine) as connection:
            connection.execute(content.with_for_update(key_share=True))  # the order of `assign`
            issue_id: int | None = connection.execute(known).scalar_one_or_none()
            if issue_id is None:
                return 0
            _lock_issue(connection, issue_id)
            connection.execute(delete(IssueContentRow).where(IssueContentRow.content_id == content_id))
            connection.execute(_counted(issue_id))
            connection.execute(delete(IssueRow).where(IssueRow.issue_id == issue_id, IssueRow.content_count == 0))
        return issue_id

    def quiet(self, states: Collection[IssueState], seen_before_ms: int, limit: int) -> Sequence[Issue]:
        query = (
            select(IssueRow.__table__)
            .where(IssueRow.state.in_([state.value for state in states]), IssueRow.last_seen_ms < seen_before_ms)
            .order_by(IssueRow.last_seen_ms, IssueRow.issue_id)
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return [issue_of(row) for row in connection.execute(query).mappings()]

    def get(self, issue_id: int) -> Issue | None:
        with reading(self._engine) as connection:
            found = connection.execute(select(IssueRow.__table__).where(IssueRow.issue_id == issue_id))
            row = found.mappings().one_or_none()
        return None if row is None else issue_of(row)

    def update_issue(self, issue: Issue) -> None:
        values = {**msgspec.structs.asdict(issue), "state": issue.state.value}
        del values["issue_id"]
        with writing(self._engine) as connection:
            connection.execute(update(IssueRow).where(IssueRow.issue_id == issue.issue_id).values(**values))

    def save_enrichment(self, enrichment: Enrichment) -> None:
        values = msgspec.to_builtins(enrichment)
        status = (
            update(ContentRow)
            .where(ContentRow.content_id == enrichment.content_id)
            .where(ContentRow.status != ContentStatus.REJECTED.value)
            .values(status=ContentStatus.ENRICHED.value)
        )
        with writing(self._engine) as connection:
            connection.execute(status)
            connection.execute(upsert(connection, EnrichedContentRow, values, ["content_id"]))

    def enrichment(self, content_id: int) -> Enrichment | None:
        query = select(EnrichedContentRow.__table__).where(EnrichedContentRow.content_id == content_id)
        with reading(self._engine) as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else msgspec.convert(dict(row), Enrichment)

    def lock_candidates(self, language: str) -> ClusterLock:
        return self._locks.lock(language)


def _members(*, with_bodies: bool) -> Select[tuple[object, ...]]:
    columns = IssueContentRow.__table__.columns
    if not with_bodies:
        return select(*columns)
    joined = ContentBodyRow.content_id == IssueContentRow.content_id
    return select(*columns, ContentBodyRow.body).join(ContentBodyRow, joined)


def _view(row: RowMapping) -> MemberView:
    return MemberView(
        content_id=row["content_id"],
        issue_id=row["issue_id"],
        host=row["host"],
        title=row["title"],
        body=row.get("body", ""),
        language=row["language"],
        published_ms=row["published_ms"],
        seen_ms=row["seen_ms"],
        keywords=tuple(row["keywords"]),
        entities=tuple(row["entities"]),
    )


def _member_values(view: MemberView) -> dict[str, object]:
    values = msgspec.to_builtins(view)
    del values["body"]
    return dict(values)


def _locked_target(connection: Connection, content_id: int, wanted: int | None) -> int | None:
    """The issue that the content is in or else shall be in, locked; None when one must be opened."""
    known = select(IssueContentRow.issue_id).where(IssueContentRow.content_id == content_id)
    before = None
    while True:
        current: int | None = connection.execute(known).scalar_one_or_none()
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
    opened = insert_into(connection, IssueRow).values(**values).returning(IssueRow.issue_id)
    issue_id: int = connection.execute(opened).scalar_one()
    return issue_id


def _lock_issue(connection: Connection, issue_id: int) -> bool:
    """Whether the issue is there, and nobody else changes or removes it until this transaction ends."""
    row = select(IssueRow.issue_id).where(IssueRow.issue_id == issue_id).with_for_update()
    return connection.execute(row).scalar_one_or_none() is not None


def _saw(connection: Connection, issue_id: int, first_ms: int, last_ms: int) -> None:
    row = update(IssueRow).where(IssueRow.issue_id == issue_id)
    connection.execute(_counted(issue_id))
    connection.execute(row.where(IssueRow.first_seen_ms > first_ms).values(first_seen_ms=first_ms))
    connection.execute(row.where(IssueRow.last_seen_ms < last_ms).values(last_seen_ms=last_ms))


def _counted(issue_id: int) -> Update:
    members = select(func.count()).where(IssueContentRow.issue_id == issue_id).scalar_subquery()
    return update(IssueRow).where(IssueRow.issue_id == issue_id).values(content_count=members)


def issue_of(row: RowMapping) -> Issue:
    """The value of a row of `issues`."""
    return Issue(**{**{name: row[name] for name in Issue.__struct_fields__}, "state": IssueState(row["state"])})
