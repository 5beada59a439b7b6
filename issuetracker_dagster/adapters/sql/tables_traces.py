"""Tables about messages: the index of the DLQ, and the capped traces behind `trace` and `rules preview`."""

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from issuetracker_dagster.adapters.sql.schema import KEEP_IDS, Id, Ref, Small, Table, UnixMs, Word, between, one_of
from issuetracker_dagster.model.stage import Stage


class DeadLetterRow(Table):
    """A letter on the DLQ; `raw_id` (0 = none) keeps its page from being purged."""

    __tablename__ = "dead_letters"
    __table_args__ = (
        UniqueConstraint("identity", "stage"),
        one_of("stage", Stage),
        between("priority", 1, 3),
        KEEP_IDS,
    )

    letter_id: Mapped[Id]
    identity: Mapped[str]
    stage: Mapped[Word]
    reason: Mapped[str]
    error: Mapped[str]
    priority: Mapped[Small]
    url: Mapped[str]
    raw_id: Mapped[Ref] = mapped_column(index=True)
    at_ms: Mapped[UnixMs] = mapped_column(index=True)


class MessageTraceRow(Table):
    """What happened to a message, one line a step."""

    __tablename__ = "message_trace"
    __table_args__ = (Index(None, "root_id", "trace_row_id"), KEEP_IDS)

    trace_row_id: Mapped[Id]
    root_id: Mapped[str]
    generation: Mapped[int]
    trace_id: Mapped[str] = mapped_column(index=True)
    stage: Mapped[str]
    action: Mapped[str]
    detail: Mapped[str]
    at_ms: Mapped[UnixMs]


class PublishedRecentRow(Table):
    """The latest published jobs and why they got their priority."""

    __tablename__ = "published_recent"
    __table_args__ = (between("priority", 1, 3), KEEP_IDS)

    published_id: Mapped[Id]
    url: Mapped[str]
    host: Mapped[str] = mapped_column(index=True)
    source: Mapped[str]
    target_type: Mapped[str]
    priority: Mapped[Small]
    decided_by: Mapped[str]
    at_ms: Mapped[UnixMs]
