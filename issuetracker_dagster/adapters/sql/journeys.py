"""What the database knows of a message or a URL, for `issuetracker trace`: contents, their issues, who published."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Engine, func, or_, select

from issuetracker_dagster.adapters.sql.engine import reading
from issuetracker_dagster.adapters.sql.tables_contents import ContentMetaRow, ContentRow, RawContentRow
from issuetracker_dagster.adapters.sql.tables_issues import IssueContentRow, IssueRow
from issuetracker_dagster.adapters.sql.tables_traces import MessageTraceRow
from issuetracker_dagster.model.urls import identity_of, url_hash

_PUBLISHED = "message.published"


class ContentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A content: the root that it came of, how far it is, why it was rejected (`code`), and its issue (0: none)."""

    content_id: int
    root_id: str
    url: str
    title: str
    status: str
    code: str
    issue_id: int
    issue_title: str


class SqlJourneys:
    """Read-only. All raise `Unavailable`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def contents(self, root_ids: Sequence[str], url: str = "") -> Sequence[ContentPlace]:
        """The contents that came of those roots, and the one at that URL."""
        at_url = url_hash(identity_of(url)) if url else ""
        query = (
            select(
                ContentRow.content_id,
                ContentRow.root_id,
                ContentRow.url,
                ContentRow.title,
                ContentRow.status,
                ContentMetaRow.code,
                func.coalesce(IssueRow.issue_id, 0).label("issue_id"),
                func.coalesce(IssueRow.title, "").label("issue_title"),
            )
            .join(ContentMetaRow, ContentMetaRow.content_id == ContentRow.content_id)
            .outerjoin(IssueContentRow, IssueContentRow.content_id == ContentRow.content_id)
            .outerjoin(IssueRow, IssueRow.issue_id == IssueContentRow.issue_id)
            .where(or_(ContentRow.root_id.in_(root_ids), ContentRow.url_hash == at_url))
            .order_by(ContentRow.content_id)
        )
        with reading(self._engine) as connection:
            rows = connection.execute(query).mappings().all()
        return [ContentPlace(**row) for row in rows]

    def roots_of(self, url: str, limit: int) -> Sequence[str]:
        """Roots under which a URL was published or its page stored, the latest first, as far as that is remembered."""
        published = (
            select(MessageTraceRow.root_id)
            .where(MessageTraceRow.action == _PUBLISHED, MessageTraceRow.detail.endswith(f": {url}", autoescape=True))
            .order_by(MessageTraceRow.trace_row_id.desc())
            .limit(limit)
        )
        stored = select(RawContentRow.stored_by).where(RawContentRow.url_hash == url_hash(url))
        with reading(self._engine) as connection:
            roots = list(connection.execute(published).scalars())
            roots += [identity.rpartition(":")[0] for identity in connection.execute(stored).scalars() if identity]
        return list(dict.fromkeys(roots))[:limit]
