"""Every statement about issues and their members, built once.

Enriching a content takes twenty of them. SQLAlchemy needs longer to build most of them than SQLite to execute them, and
longer still for classes than for tables. Values come by name: `content_id`, `issue_id`, ...
"""

from functools import cache
from typing import cast

from sqlalchemy import Integer, bindparam, case, delete, func, insert, select, update
from sqlalchemy import Table as CoreTable
from sqlalchemy.dialects import postgresql, sqlite

from issuetracker_dagster.adapters.sql.schema import Table
from issuetracker_dagster.adapters.sql.tables_contents import ContentBodyRow, ContentRow
from issuetracker_dagster.adapters.sql.tables_issues import EnrichedContentRow, IssueContentRow, IssueRow
from issuetracker_dagster.adapters.sql.upserts import Insert
from issuetracker_dagster.model.records import ContentStatus, IssueState


def _table(row: type[Table]) -> CoreTable:
    return cast(CoreTable, row.__table__)


_CONTENTS, _BODIES = _table(ContentRow), _table(ContentBodyRow)
_ISSUES, _MEMBERS, _ENRICHED = _table(IssueRow), _table(IssueContentRow), _table(EnrichedContentRow)

_NEWEST_FIRST = (_MEMBERS.c.seen_ms.desc(), _MEMBERS.c.content_id.desc())
_OLDEST_FIRST = (_MEMBERS.c.seen_ms, _MEMBERS.c.content_id)
_WITHOUT_TEXTS = select(
    _MEMBERS.c.content_id,
    _MEMBERS.c.issue_id,
    _MEMBERS.c.host,
    _MEMBERS.c.title,
    _MEMBERS.c.language,
    _MEMBERS.c.published_ms,
    _MEMBERS.c.seen_ms,
)
_WITH_TEXTS = _WITHOUT_TEXTS.add_columns(_MEMBERS.c.keywords, _MEMBERS.c.entities, _BODIES.c.body).join(
    _BODIES, _BODIES.c.content_id == _MEMBERS.c.content_id
)
_BY_TEXTS = {False: _WITHOUT_TEXTS, True: _WITH_TEXTS}
"""The columns of a member, with its texts or without."""

MEMBERS_OF_ISSUE = {
    with_texts: query.where(_MEMBERS.c.issue_id == bindparam("issue_id")).order_by(*_OLDEST_FIRST)
    for with_texts, query in _BY_TEXTS.items()
}
MEMBERS_AMONG = _WITH_TEXTS.where(_MEMBERS.c.content_id.in_(bindparam("content_ids", expanding=True))).order_by(
    _MEMBERS.c.content_id
)
MEMBERS_SEEN_SINCE = {
    with_texts: query.join(_ISSUES, _ISSUES.c.issue_id == _MEMBERS.c.issue_id)
    .where(_MEMBERS.c.language == bindparam("language"), _MEMBERS.c.seen_ms >= bindparam("since_ms"))
    .where(_ISSUES.c.language == bindparam("language"), _ISSUES.c.state != IssueState.CLOSED.value)
    .order_by(*_NEWEST_FIRST)
    .limit(bindparam("limit", type_=Integer))
    for with_texts, query in _BY_TEXTS.items()
}
"""Of open issues."""
MEMBERS_SEEN_BEFORE = {
    with_texts: query.where(_MEMBERS.c.issue_id.in_(bindparam("issue_ids", expanding=True)))
    .where(_MEMBERS.c.seen_ms < bindparam("since_ms"))
    .order_by(*_NEWEST_FIRST)
    .limit(bindparam("limit", type_=Integer))
    for with_texts, query in _BY_TEXTS.items()
}

ISSUE_OF_CONTENT = select(_MEMBERS.c.issue_id).where(_MEMBERS.c.content_id == bindparam("content_id"))
LOCK_CONTENT = (
    select(_CONTENTS.c.content_id)
    .where(_CONTENTS.c.content_id == bindparam("content_id"))
    .with_for_update(key_share=True)
)
LOCK_ISSUE = select(_ISSUES.c.issue_id).where(_ISSUES.c.issue_id == bindparam("issue_id")).with_for_update()

OPEN_ISSUE = insert(_ISSUES).returning(_ISSUES.c.issue_id)
ISSUE = select(_ISSUES).where(_ISSUES.c.issue_id == bindparam("issue_id"))
TIMES_OF_ISSUE = select(_ISSUES.c.first_seen_ms, _ISSUES.c.last_seen_ms).where(
    _ISSUES.c.issue_id == bindparam("issue_id")
)
QUIET_ISSUES = (
    select(_ISSUES)
    .where(_ISSUES.c.state.in_(bindparam("states", expanding=True)), _ISSUES.c.last_seen_ms < bindparam("before_ms"))
    .order_by(_ISSUES.c.last_seen_ms, _ISSUES.c.issue_id)
    .limit(bindparam("limit", type_=Integer))
)
UPDATE_ISSUE = update(_ISSUES).where(_ISSUES.c.issue_id == bindparam("of_issue"))

_COUNTED = select(func.count()).where(_MEMBERS.c.issue_id == bindparam("of_issue")).scalar_subquery()
COUNT_MEMBERS = UPDATE_ISSUE.values(content_count=_COUNTED)
SAW_MEMBER = UPDATE_ISSUE.values(
    content_count=_COUNTED,
    first_seen_ms=case(
        (_ISSUES.c.first_seen_ms > bindparam("first_ms"), bindparam("first_ms")), else_=_ISSUES.c.first_seen_ms
    ),
    last_seen_ms=case(
        (_ISSUES.c.last_seen_ms < bindparam("last_ms"), bindparam("last_ms")), else_=_ISSUES.c.last_seen_ms
    ),
)
"""Its members are counted, and the time in which it was seen reaches from `first_ms` to `last_ms` at least."""
MOVE_MEMBERS = tuple(
    update(table).where(table.c.issue_id == bindparam("absorbed")).values(issue_id=bindparam("kept"))
    for table in (_MEMBERS, _ENRICHED)
)
REMOVE_ISSUE = delete(_ISSUES).where(_ISSUES.c.issue_id == bindparam("issue_id"))
REMOVE_EMPTY_ISSUE = REMOVE_ISSUE.where(_ISSUES.c.content_count == 0)
REMOVE_MEMBER = delete(_MEMBERS).where(_MEMBERS.c.content_id == bindparam("content_id"))

ENRICHMENTS = select(_ENRICHED).where(_ENRICHED.c.content_id.in_(bindparam("content_ids", expanding=True)))
MARK_ENRICHED = (
    update(_CONTENTS)
    .where(_CONTENTS.c.content_id == bindparam("of_content"), _CONTENTS.c.status != ContentStatus.REJECTED.value)
    .values(status=ContentStatus.ENRICHED.value)
)


@cache
def save_member(dialect: str) -> Insert:
    """Insert a member or replace it."""
    return _replacing(_MEMBERS, dialect)


@cache
def save_enrichment(dialect: str) -> Insert:
    """Insert an enrichment or replace it."""
    return _replacing(_ENRICHED, dialect)


def _replacing(table: CoreTable, dialect: str) -> Insert:
    statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    replaced = {column.name: statement.excluded[column.name] for column in table.c if column.name != "content_id"}
    return statement.on_conflict_do_update(index_elements=["content_id"], set_=replaced)
