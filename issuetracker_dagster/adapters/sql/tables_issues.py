"""Tables of issues, of who belongs to them and of what enrich found."""

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from issuetracker_dagster.adapters.sql.schema import KEEP_IDS, Id, Ref, Table, UnixMs, Word, between, one_of
from issuetracker_dagster.model.records import IssueState


class IssueRow(Table):
    """A cluster of contents about one event."""

    __tablename__ = "issues"
    __table_args__ = (
        one_of("state", IssueState),
        Index(None, "language", "last_seen_ms"),
        Index(None, "state", "last_seen_ms"),
        KEEP_IDS,
    )

    issue_id: Mapped[Id]
    title: Mapped[str]
    language: Mapped[str]
    first_seen_ms: Mapped[UnixMs]
    last_seen_ms: Mapped[UnixMs] = mapped_column(index=True)
    content_count: Mapped[int]
    source_count: Mapped[int]
    velocity: Mapped[float]
    state: Mapped[Word]


class IssueContentRow(Table):
    """A content in its one issue, with what clustering looks at, so that thousands are compared without their texts."""

    __tablename__ = "issue_contents"
    __table_args__ = (Index(None, "issue_id", "seen_ms"), Index(None, "language", "seen_ms", "content_id"))

    content_id: Mapped[Ref] = mapped_column(ForeignKey("contents.content_id", ondelete="CASCADE"), primary_key=True)
    issue_id: Mapped[Ref] = mapped_column(ForeignKey("issues.issue_id"))
    host: Mapped[str]
    title: Mapped[str]
    language: Mapped[str]
    published_ms: Mapped[UnixMs]
    seen_ms: Mapped[UnixMs]
    keywords: Mapped[list[str]]
    entities: Mapped[list[str]]


class EnrichedContentRow(Table):
    """What enrich found about a content. `issue_id` is what it knew then; `issue_contents` is what counts."""

    __tablename__ = "enriched_contents"
    __table_args__ = (between("trust", 0, 1),)

    content_id: Mapped[Ref] = mapped_column(ForeignKey("contents.content_id", ondelete="CASCADE"), primary_key=True)
    language: Mapped[str]
    keywords: Mapped[list[str]]
    entities: Mapped[list[str]]
    claims: Mapped[list[dict[str, object]]]
    issue_id: Mapped[Ref] = mapped_column(index=True)
    trust: Mapped[float]
    factors: Mapped[dict[str, float]]
    rationale: Mapped[str]
    failed_steps: Mapped[list[str]]
    enriched_ms: Mapped[UnixMs]
