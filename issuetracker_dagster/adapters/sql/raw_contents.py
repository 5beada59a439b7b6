"""Fetched pages, compressed, one row a requested URL."""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence

from sqlalchemy import ColumnElement, CursorResult, Engine, RowMapping, delete, exists, func, select, tuple_, update
from sqlalchemy.orm import aliased

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_contents import RawContentHistoryRow, RawContentRow
from issuetracker_dagster.adapters.sql.tables_traces import DeadLetterRow
from issuetracker_dagster.adapters.sql.upserts import insert_into, upsert
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.history import StoredPage
from issuetracker_dagster.model.letters import LetterState
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.urls import url_hash

COMPRESSION_LEVEL = 6
_IDS_AT_ONCE = 500
_HASHES_AT_ONCE = 500
_COLUMNS = [column for column in RawContentRow.__table__.columns if column.name not in ("url_hash", "body")]


class SqlRawContents:
    """The port `RawContents`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def latest(self, requested_url: str) -> RawContent | None:
        query = select(*_COLUMNS).where(RawContentRow.url_hash == url_hash(requested_url))
        with reading(self._engine) as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else _raw_content(row, b"")

    def seen(self, requested_urls: Collection[str]) -> Mapping[str, tuple[str, int]]:
        by_hash = {url_hash(url): url for url in requested_urls}
        hashes = list(by_hash)
        found: dict[str, tuple[str, int]] = {}
        with reading(self._engine) as connection:
            for start in range(0, len(hashes), _HASHES_AT_ONCE):
                query = select(RawContentRow.url_hash, RawContentRow.body_sha256, RawContentRow.fetched_ms).where(
                    RawContentRow.url_hash.in_(hashes[start : start + _HASHES_AT_ONCE])
                )
                for hashed, sha256, fetched_ms in connection.execute(query):
                    found[by_hash[hashed]] = sha256, fetched_ms
        return found

    def save(self, raw: RawContent) -> int:
        values = {
            "url_hash": url_hash(raw.requested_url),
            "requested_url": raw.requested_url,
            "url": raw.url,
            "status": raw.status,
            "content_type": raw.content_type,
            "etag": raw.etag,
            "last_modified": raw.last_modified,
            "body": zlib.compress(raw.body, COMPRESSION_LEVEL),
            "body_sha256": raw.body_sha256,
            "fetched_ms": raw.fetched_ms,
            "target_type": raw.target_type.value,
            "stored_by": raw.stored_by,
            "source": raw.source,
            "is_rendered": raw.is_rendered,
        }
        with writing(self._engine) as connection:
            saved = upsert(connection, RawContentRow, values, ["url_hash"]).returning(RawContentRow.raw_id)
            raw_id: int = connection.execute(saved).scalar_one()
            entry = {"raw_id": raw_id, "body_sha256": raw.body_sha256, "fetched_ms": raw.fetched_ms}
            connection.execute(insert_into(connection, RawContentHistoryRow).values(**entry).on_conflict_do_nothing())
        return raw_id

    def touch(self, raw_id: int, fetched_ms: int, etag: str, last_modified: str) -> None:
        seen = {"fetched_ms": fetched_ms, "etag": etag, "last_modified": last_modified}
        with writing(self._engine) as connection:
            connection.execute(update(RawContentRow).where(RawContentRow.raw_id == raw_id).values(**seen))

    def get(self, raw_id: int) -> RawContent | None:
        query = select(*_COLUMNS, RawContentRow.body).where(RawContentRow.raw_id == raw_id)
        with reading(self._engine) as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else _raw_content(row, zlib.decompress(row["body"]))

    def history(self, raw_id: int) -> Sequence[tuple[str, int]]:
        query = (
            select(RawContentHistoryRow.body_sha256, RawContentHistoryRow.fetched_ms)
            .where(RawContentHistoryRow.raw_id == raw_id)
            .order_by(RawContentHistoryRow.fetched_ms, RawContentHistoryRow.body_sha256)
        )
        with reading(self._engine) as connection:
            return [(sha256, fetched_ms) for sha256, fetched_ms in connection.execute(query)]

    def old(self, before_ms: int, after_id: int, limit: int) -> Sequence[StoredPage]:
        query = (
            select(RawContentRow.raw_id, func.length(RawContentRow.body))
            .where(*_purgeable(before_ms), RawContentRow.raw_id > after_id)
            .order_by(RawContentRow.raw_id)
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return [StoredPage(raw_id, size) for raw_id, size in connection.execute(query)]

    def remove(self, raw_ids: Collection[int], before_ms: int) -> Sequence[int]:
        removed: list[int] = []
        wanted = sorted(set(raw_ids))
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            # Asked again for age and letters: a page that was fetched or buried since it was chosen stays.
            some = RawContentRow.raw_id.in_(wanted[start : start + _IDS_AT_ONCE])
            gone = delete(RawContentRow).where(some, *_purgeable(before_ms)).returning(RawContentRow.raw_id)
            with writing(self._engine) as connection:
                removed += connection.execute(gone).scalars()
        return removed

    def old_history(self, before_ms: int) -> int:
        with reading(self._engine) as connection:
            counted = select(func.count()).select_from(RawContentHistoryRow).where(*_outlived(before_ms))
            return connection.execute(counted).scalar_one()

    def shorten_history(self, before_ms: int, limit: int) -> int:
        entry = RawContentHistoryRow.raw_id, RawContentHistoryRow.fetched_ms, RawContentHistoryRow.body_sha256
        # Looked for before anything is locked: the last look of a purge goes through the whole table.
        with reading(self._engine) as connection:
            found = connection.execute(select(*entry).where(*_outlived(before_ms)).limit(limit)).all()
        removed = 0
        for start in range(0, len(found), _IDS_AT_ONCE):
            some = tuple_(*entry).in_([tuple(row) for row in found[start : start + _IDS_AT_ONCE]])
            with writing(self._engine) as connection:
                # An entry that is outlived stays so, unless its page goes, and it with that.
                result: CursorResult[tuple[()]] = connection.execute(delete(RawContentHistoryRow).where(some))
            removed += result.rowcount
        return removed


def _purgeable(before_ms: int) -> Iterator[ColumnElement[bool]]:
    # Also what was redriven: the message on its way needs its page.
    lettered = exists().where(DeadLetterRow.raw_id == RawContentRow.raw_id, DeadLetterRow.state != LetterState.PURGED)
    yield RawContentRow.fetched_ms < before_ms
    yield ~lettered


def _outlived(before_ms: int) -> Iterator[ColumnElement[bool]]:
    """A seed's page is fetched for ever and so never purged; its history would only grow."""
    newer = aliased(RawContentHistoryRow)
    latest = select(func.max(newer.fetched_ms)).where(newer.raw_id == RawContentHistoryRow.raw_id).scalar_subquery()
    yield RawContentHistoryRow.fetched_ms < before_ms
    yield RawContentHistoryRow.fetched_ms < latest


def _raw_content(row: RowMapping, body: bytes) -> RawContent:
    return RawContent(
        raw_id=row["raw_id"],
        url=row["url"],
        requested_url=row["requested_url"],
        status=row["status"],
        content_type=row["content_type"],
        etag=row["etag"],
        last_modified=row["last_modified"],
        body=body,
        body_sha256=row["body_sha256"],
        fetched_ms=row["fetched_ms"],
        target_type=TargetType(row["target_type"]),
        stored_by=row["stored_by"],
        source=row["source"],
        is_rendered=row["is_rendered"],
    )
