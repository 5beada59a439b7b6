"""What messages went through lately: capped tables that are written in batches and read by people."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Engine, delete, func, or_, select

from issuetracker_dagster.adapters.sql.bulk import insert_all
from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_traces import MessageTraceRow, PublishedRecentRow
from issuetracker_dagster.ports.traces import PublishedJob, TraceLine

TRACE_CAP = 200_000
PUBLISHED_CAP = 20_000


class SqlMessageTrace:
    """The port `MessageTrace`. The cap holds up to a batch: writers at once may leave a few lines more."""

    def __init__(self, engine: Engine, cap: int = TRACE_CAP) -> None:
        self._engine = engine
        self._cap = cap

    def write(self, lines: Sequence[TraceLine]) -> None:
        if not lines:
            return
        row = MessageTraceRow.trace_row_id
        with writing(self._engine) as connection:
            insert_all(connection, MessageTraceRow, lines)
            newest = select(func.max(row)).scalar_subquery()
            connection.execute(delete(MessageTraceRow).where(row <= newest - self._cap))

    def of(self, root_or_trace_id: str, limit: int) -> Sequence[TraceLine]:
        named = or_(MessageTraceRow.root_id == root_or_trace_id, MessageTraceRow.trace_id == root_or_trace_id)
        query = select(MessageTraceRow.__table__).where(named).order_by(MessageTraceRow.trace_row_id.desc())
        with reading(self._engine) as connection:
            rows = connection.execute(query.limit(limit)).mappings().all()
        lines = [msgspec.convert(dict(row), TraceLine) for row in reversed(rows)]
        return sorted(lines, key=lambda line: line.at_ms)


class SqlPublishedRecent:
    """The port `PublishedRecent`; its cap as that of the trace."""

    def __init__(self, engine: Engine, cap: int = PUBLISHED_CAP) -> None:
        self._engine = engine
        self._cap = cap

    def write(self, jobs: Sequence[PublishedJob]) -> None:
        if not jobs:
            return
        row = PublishedRecentRow.published_id
        with writing(self._engine) as connection:
            insert_all(connection, PublishedRecentRow, jobs)
            newest = select(func.max(row)).scalar_subquery()
            connection.execute(delete(PublishedRecentRow).where(row <= newest - self._cap))

    def latest(self, limit: int) -> Sequence[PublishedJob]:
        query = select(PublishedRecentRow.__table__).order_by(PublishedRecentRow.published_id.desc()).limit(limit)
        with reading(self._engine) as connection:
            return [msgspec.convert(dict(row), PublishedJob) for row in connection.execute(query).mappings()]
