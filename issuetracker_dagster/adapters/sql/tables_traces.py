"""Tables about messages: the index of the DLQ, and the capped traces behind `trace` and `rules preview`."""

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from issuetracker_dagster.adapters.sql.schema import (
    KEEP_IDS,
    Big,
    Id,
    Ref,
    Sha256,
    Small,
    Table,
    UnixMs,
    Word,
    between,
    one_of,
)
from issuetracker_dagster.model.letters import STAGES, LetterState


class DeadLetterRow(Table):
    """A letter on the DLQ; `raw_id` (0 = none) keeps its page from being purged until the letter is."""

    __tablename__ = "dead_letters"
    __table_args__ = (
        UniqueConstraint("name"),
        one_of("stage", STAGES),
        one_of("state", LetterState),
        between("priority", 1, 3),
        Index(None, "stage", "at_ms"),
        Index(None, "reason", "at_ms"),
        Index(None, "host", "at_ms"),
        Index(None, "state", "letter_id"),
        KEEP_IDS,
    )

    letter_id: Mapped[Id]
    name: Mapped[Sha256]
    identity: Mapped[str] = mapped_column(index=True)
    stage: Mapped[Word]
    reason: Mapped[str]
    error: Mapped[str]
    priority: Mapped[Small]
    target_type: Mapped[str]
    host: Mapped[str]
    url: Mapped[str]
    raw_id: Mapped[Ref] = mapped_column(index=True)
    key: Mapped[str]
    value_bytes: Mapped[Big]
    source_topic: Mapped[str]
    source_partition: Mapped[int]
    source_offset: Mapped[Big]
    dlq_partition: Mapped[int]
    dlq_offset: Mapped[Big]
    logged_ms: Mapped[UnixMs]
    redrive_count: Mapped[int]
    state: Mapped[Word]
    state_ms: Mapped[UnixMs]
    at_ms: Mapped[UnixMs] = mapped_column(index=True)
    record: Mapped[bytes]


class MessageTraceRow(Table):
    """What happened to a message, one line a step. Without an index, which each line would write to (decision 0225)."""

    __tablename__ = "message_trace"
    __table_args__ = (KEEP_IDS,)

    trace_row_id: Mapped[Id]
    root_id: Mapped[str]
    generation: Mapped[int]
    trace_id: Mapped[str]
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
    host: Mapped[str]
    source: Mapped[str]
    target_type: Mapped[str]
    priority: Mapped[Small]
    decided_by: Mapped[str]
    at_ms: Mapped[UnixMs]
