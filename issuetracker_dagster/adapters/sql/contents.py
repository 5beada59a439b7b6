"""Parsed contents with bodies, verdicts, and what tells their copies."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, Engine, RowMapping, bindparam, case, delete, select, update

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_contents import (
    ContentBandRow,
    ContentBodyRow,
    ContentMetaRow,
    ContentRow,
)
from issuetracker_dagster.adapters.sql.upserts import insert_into, upsert
from issuetracker_dagster.model.records import Content, ContentStatus, MadeFrom, Verdict, content_digest
from issuetracker_dagster.model.urls import identity_of, url_hash
from issuetracker_dagster.ports.stores import NEAR_CANDIDATES, NOWHERE

_NO_VERDICT: dict[str, object] = {
    "accepted": None,
    "code": "",
    "reason": "",
    "quality": 0.0,
    "scores": {},
    "notes": [],
    "duplicate_of": 0,
    "near_duplicate_of": 0,
}


class SqlContents:
    """The port `Contents`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save(self, content: Content, made_from: MadeFrom = NOWHERE, *, unless_newer: bool = False) -> int:
        digest = content_digest(content)
        values = {**_content_values(content), "digest": ""}
        with writing(self._engine) as connection:
            # The no-op update locks a row that is there, and RETURNING tells its old digest; a new row has none yet.
            inserted = insert_into(connection, ContentRow).values(**values)
            locked = inserted.on_conflict_do_update(index_elements=["url_hash"], set_={"digest": ContentRow.digest})
            content_id: int
            found = locked.returning(ContentRow.content_id, ContentRow.digest, ContentRow.fetched_ms)
            content_id, known, fetched_ms = connection.execute(found).one()
            if unless_newer and fetched_ms > content.fetched_ms:
                return content_id
            row = update(ContentRow).where(ContentRow.content_id == content_id)
            if known == digest:
                origin = {"raw_id": content.raw_id, "root_id": content.root_id, "fetched_ms": content.fetched_ms}
                connection.execute(row.values(**origin))
            else:
                connection.execute(row.values(**{**values, "digest": digest}))
                _write_text(connection, content_id, content)
            meta = update(ContentMetaRow).where(ContentMetaRow.content_id == content_id)
            connection.execute(meta.values(**msgspec.structs.asdict(made_from)))
        return content_id

    def get(self, content_id: int) -> Content | None:
        with reading(self._engine) as connection:
            row = connection.execute(_CONTENT, {"content_id": content_id}).mappings().one_or_none()
        return None if row is None else _content(row)

    def made_from(self, content_id: int) -> MadeFrom | None:
        columns = [getattr(ContentMetaRow, name) for name in MadeFrom.__struct_fields__]
        with reading(self._engine) as connection:
            row = connection.execute(select(*columns).where(ContentMetaRow.content_id == content_id)).one_or_none()
        return None if row is None else MadeFrom(**row._mapping)

    def record_verdict(self, content_id: int, verdict: Verdict) -> None:
        accepted = case(
            (ContentRow.status == ContentStatus.ENRICHED.value, ContentStatus.ENRICHED.value),
            else_=ContentStatus.VALIDATED.value,
        )
        status = accepted if verdict.accepted else ContentStatus.REJECTED.value
        found = {
            "accepted": verdict.accepted,
            "code": verdict.code,
            "reason": verdict.reason,
            "quality": verdict.quality,
            "scores": dict(verdict.scores),
            "notes": list(verdict.notes),
            "duplicate_of": verdict.duplicate_of,
            "near_duplicate_of": verdict.near_duplicate_of,
        }
        with writing(self._engine) as connection:
            connection.execute(update(ContentRow).where(ContentRow.content_id == content_id).values(status=status))
            connection.execute(update(ContentMetaRow).where(ContentMetaRow.content_id == content_id).values(**found))

    def verdict(self, content_id: int) -> Verdict | None:
        query = select(ContentMetaRow.__table__).where(
            ContentMetaRow.content_id == content_id, ContentMetaRow.accepted.is_not(None)
        )
        with reading(self._engine) as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        found = {name: row[name] for name in _NO_VERDICT}
        return Verdict(**{**found, "notes": tuple(row["notes"])})

    def link_copy(self, content_id: int, *, duplicate_of: int = 0, near_duplicate_of: int = 0) -> None:
        offered = ((ContentMetaRow.duplicate_of, duplicate_of), (ContentMetaRow.near_duplicate_of, near_duplicate_of))
        with writing(self._engine) as connection:
            for column, first in offered:
                if first:
                    higher = (column == 0) | (column > first)
                    judged = (ContentMetaRow.content_id == content_id) & ContentMetaRow.accepted.is_not(None)
                    connection.execute(update(ContentMetaRow).where(judged, higher).values({column: first}))

    def clear_date(self, content_id: int, note: str) -> None:
        sources = select(ContentMetaRow.field_sources).where(ContentMetaRow.content_id == content_id)
        with writing(self._engine) as connection:
            # `contents` first, as in every other write: two orders could wait for each other.
            connection.execute(update(ContentRow).where(ContentRow.content_id == content_id).values(published_ms=0))
            known = connection.execute(sources.with_for_update()).scalar_one_or_none()
            if known is None:
                return
            cleared = {**known, "published_ms": f"cleared: {note}"}
            connection.execute(
                update(ContentMetaRow).where(ContentMetaRow.content_id == content_id).values(field_sources=cleared)
            )

    def first_with_hash(self, text_hash: str, before_id: int) -> int | None:
        remembered = update(ContentBodyRow).where(ContentBodyRow.content_id == before_id).values(text_hash=text_hash)
        first = (
            select(ContentBodyRow.content_id)
            .where(ContentBodyRow.text_hash == text_hash, ContentBodyRow.text_hash != "")
            .where(ContentBodyRow.content_id < before_id)
            .order_by(ContentBodyRow.content_id)
            .limit(1)
        )
        with writing(self._engine) as connection:
            connection.execute(remembered)
            return connection.execute(first).scalar_one_or_none()

    def near_candidates(
        self, content_id: int, bands: Sequence[str], limit: int = NEAR_CANDIDATES
    ) -> Sequence[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        with reading(self._engine) as connection:
            for side in (ContentBandRow.content_id < content_id, ContentBandRow.content_id > content_id):
                sharing = select(ContentBandRow.content_id).where(ContentBandRow.band.in_(bands), side).distinct()
                lowest = sharing.order_by(ContentBandRow.content_id).limit(limit).scalar_subquery()
                query = (
                    select(ContentBodyRow.content_id, ContentBodyRow.signature)
                    .where(ContentBodyRow.content_id.in_(lowest))
                    .order_by(ContentBodyRow.content_id)
                )
                found += [(other, bytes(signature)) for other, signature in connection.execute(query)]
        return found

    def save_signature(self, content_id: int, bands: Sequence[str], signature: bytes) -> None:
        row = update(ContentBodyRow).where(ContentBodyRow.content_id == content_id).values(signature=signature)
        with writing(self._engine) as connection:
            if connection.execute(row).rowcount == 0:
                return
            _forget_bands(connection, content_id)
            rows = [{"band": band, "content_id": content_id} for band in sorted(set(bands))]
            if rows:
                connection.execute(insert_into(connection, ContentBandRow).on_conflict_do_nothing(), rows)


def _write_text(connection: Connection, content_id: int, content: Content) -> None:
    body = {"content_id": content_id, "body": content.body, "text_hash": "", "signature": b""}
    meta = {
        "content_id": content_id,
        "author": content.author,
        "category": content.category,
        "tags": list(content.tags),
        "images": list(content.images),
        "summary": content.summary,
        "field_sources": content.field_sources,
        "replacement_share": content.replacement_share,
        **_NO_VERDICT,
    }
    connection.execute(upsert(connection, ContentBodyRow, body, ["content_id"]))
    connection.execute(upsert(connection, ContentMetaRow, meta, ["content_id"]))
    _forget_bands(connection, content_id)


def _forget_bands(connection: Connection, content_id: int) -> None:
    connection.execute(delete(ContentBandRow).where(ContentBandRow.content_id == content_id))


def _content_values(content: Content) -> dict[str, object]:
    return {
        "url_hash": url_hash(identity_of(content.url)),
        "url": content.url,
        "canonical_url": content.canonical_url,
        "host": content.host,
        "source": content.source,
        "kind": content.kind,
        "title": content.title,
        "language": content.language,
        "published_ms": content.published_ms,
        "fetched_ms": content.fetched_ms,
        "raw_id": content.raw_id,
        "root_id": content.root_id,
        "date_required": content.date_required,
        "status": content.status.value,
    }


_META_COLUMNS = (
    ContentMetaRow.author,
    ContentMetaRow.category,
    ContentMetaRow.tags,
    ContentMetaRow.images,
    ContentMetaRow.summary,
    ContentMetaRow.field_sources,
    ContentMetaRow.replacement_share,
)
_CONTENT = (
    select(*ContentRow.__table__.columns, ContentBodyRow.body, *_META_COLUMNS)
    .join(ContentBodyRow, ContentBodyRow.content_id == ContentRow.content_id)
    .join(ContentMetaRow, ContentMetaRow.content_id == ContentRow.content_id)
    .where(ContentRow.content_id == bindparam("content_id"))
)
"""Built once: with so many columns that takes longer than reading the row."""


def _content(row: RowMapping) -> Content:
    values = {name: row[name] for name in Content.__struct_fields__}
    return Content(
        **{
            **values,
            "tags": tuple(row["tags"]),
            "images": tuple(row["images"]),
            "status": ContentStatus(row["status"]),
        }
    )
