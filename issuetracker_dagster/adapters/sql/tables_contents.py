"""Tables of fetched pages and of the contents parsed from them."""

from sqlalchemy import ForeignKey, Index, LargeBinary, false, text
from sqlalchemy.orm import Mapped, mapped_column

from issuetracker_dagster.adapters.sql.schema import KEEP_IDS, Id, Ref, Sha256, Small, Table, UnixMs, Word, one_of
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.records import ContentStatus


class RawContentRow(Table):
    """The latest page of each requested URL; `body` is zlib-compressed."""

    __tablename__ = "raw_contents"
    __table_args__ = (one_of("target_type", TargetType), KEEP_IDS)

    raw_id: Mapped[Id]
    url_hash: Mapped[Sha256] = mapped_column(unique=True)
    requested_url: Mapped[str]
    url: Mapped[str]
    status: Mapped[Small]
    content_type: Mapped[str]
    etag: Mapped[str]
    last_modified: Mapped[str]
    body: Mapped[bytes] = mapped_column(LargeBinary)
    body_sha256: Mapped[str]
    fetched_ms: Mapped[UnixMs] = mapped_column(index=True)
    target_type: Mapped[Word]
    stored_by: Mapped[str]
    source: Mapped[str] = mapped_column(server_default="")
    is_rendered: Mapped[bool] = mapped_column(server_default=false())


class RawContentHistoryRow(Table):
    """Which bytes a page had, and when."""

    __tablename__ = "raw_content_history"

    raw_id: Mapped[Ref] = mapped_column(ForeignKey("raw_contents.raw_id", ondelete="CASCADE"), primary_key=True)
    fetched_ms: Mapped[UnixMs] = mapped_column(primary_key=True)
    body_sha256: Mapped[Sha256] = mapped_column(primary_key=True)


class ContentRow(Table):
    """A content. `raw_id` is no foreign key, since pages are purged long before contents."""

    __tablename__ = "contents"
    __table_args__ = (one_of("status", ContentStatus), one_of("kind", ("news", "community")), KEEP_IDS)

    content_id: Mapped[Id]
    url_hash: Mapped[Sha256] = mapped_column(unique=True)
    url: Mapped[str]
    canonical_url: Mapped[str]
    host: Mapped[str] = mapped_column(index=True)
    source: Mapped[str]
    kind: Mapped[Word]
    title: Mapped[str]
    language: Mapped[str]
    published_ms: Mapped[UnixMs] = mapped_column(index=True)
    fetched_ms: Mapped[UnixMs]
    raw_id: Mapped[Ref] = mapped_column(index=True)
    root_id: Mapped[str]
    date_required: Mapped[bool]
    status: Mapped[Word] = mapped_column(index=True)
    digest: Mapped[str]
    """`content_digest` of the parse that wrote the row."""


class ContentBodyRow(Table):
    """The text of a content, and what tells copies of it."""

    __tablename__ = "content_bodies"
    __table_args__ = (
        # Most rows wait for validate with an empty hash, and no one looks for that.
        Index(
            None,
            "text_hash",
            "content_id",
            postgresql_where=text("text_hash <> ''"),
            sqlite_where=text("text_hash <> ''"),
        ),
    )

    content_id: Mapped[Ref] = mapped_column(ForeignKey("contents.content_id", ondelete="CASCADE"), primary_key=True)
    body: Mapped[str]
    text_hash: Mapped[str]
    signature: Mapped[bytes] = mapped_column(LargeBinary)


class ContentBandRow(Table):
    """LSH bands of a content's MinHash signature."""

    __tablename__ = "content_bands"

    band: Mapped[str] = mapped_column(primary_key=True)
    content_id: Mapped[Ref] = mapped_column(
        ForeignKey("contents.content_id", ondelete="CASCADE"), primary_key=True, index=True
    )


class ContentMetaRow(Table):
    """What surrounds a content: fields of the page, and the verdict (`accepted` is null before there is one)."""

    __tablename__ = "content_meta"

    content_id: Mapped[Ref] = mapped_column(ForeignKey("contents.content_id", ondelete="CASCADE"), primary_key=True)
    author: Mapped[str]
    category: Mapped[str]
    tags: Mapped[list[str]]
    images: Mapped[list[str]]
    summary: Mapped[str]
    field_sources: Mapped[dict[str, str]]
    replacement_share: Mapped[float]
    accepted: Mapped[bool | None]
    code: Mapped[str]
    reason: Mapped[str]
    quality: Mapped[float]
    scores: Mapped[dict[str, float]]
    notes: Mapped[list[str]]
    duplicate_of: Mapped[Ref]
    near_duplicate_of: Mapped[Ref]
    raw_sha256: Mapped[str] = mapped_column(server_default="")
    rule_id: Mapped[Ref] = mapped_column(server_default="0")
    rule_version: Mapped[int] = mapped_column(server_default="0")
    code_version: Mapped[str] = mapped_column(server_default="")
