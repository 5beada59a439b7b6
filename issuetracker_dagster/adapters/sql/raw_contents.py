"""Fetched pages, compressed, one row a requested URL."""

import zlib
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import CursorResult, Engine, RowMapping, delete, func, select, update
from sqlalchemy.orm import aliased

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_contents import RawContentHistoryRow, RawContentRow
from issuetracker_dagster.adapters.sql.tables_traces import DeadLetterRow
from issuetracker_dagster.adapters.sql.upserts import insert_into, upsert
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.letters import LetterState
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.urls import url_hash

COMPRESSION_LEVEL = 6
_PURGE_BATCH = 500
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

    def purge(self, before_ms: int, keep: Collection[int] = ()) -> int:
        # Chosen and deleted in slices by id: one statement over months of pages would hold up every other writer, and
        # `keep` may name more ids than a statement can bind.
        kept = frozenset(keep)
        purged, after = 0, 0
        # Also what was redriven: the message on its way needs its page.
        lettered = select(DeadLetterRow.raw_id).where(DeadLetterRow.state != LetterState.PURGED)
        while True:
            chosen = (
                select(RawContentRow.raw_id)
                .where(RawContentRow.fetched_ms < before_ms, RawContentRow.raw_id > after)
                .where(RawContentRow.raw_id.not_in(lettered))
                .order_by(RawContentRow.raw_id)
                .limit(_PURGE_BATCH)
            )
            with writing(self._engine) as connection:
                ids = list(connection.execute(chosen).scalars())
                if not ids:
                    break
                after = ids[-1]
                # Asked again for the age: a page fetched anew since it was chosen stays.
                old = [raw_id for raw_id in ids if raw_id not in kept]
                stale = delete(RawContentRow).where(RawContentRow.raw_id.in_(old), RawContentRow.fetched_ms < before_ms)
                result: CursorResult[tuple[()]] = connection.execute(stale)
                purged += result.rowcount
        self._shorten_histories(before_ms)
        return purged

    def _shorten_histories(self, before_ms: int) -> None:
        """A seed's page is fetched for ever and so never purged; its history would only grow."""
        old, newer = RawContentHistoryRow, aliased(RawContentHistoryRow)
        latest = select(func.max(newer.fetched_ms)).where(newer.raw_id == old.raw_id).scalar_subquery()
        outlived = old.fetched_ms < latest
        after = 0
        while True:
            chosen = select(old.raw_id).where(old.raw_id > after, old.fetched_ms < before_ms, outlived)
            with writing(self._engine) as connection:
                ids = list(connection.execute(chosen.distinct().order_by(old.raw_id).limit(_PURGE_BATCH)).scalars())
                if not ids:
                    return
                after = ids[-1]
                connection.execute(delete(old).where(old.raw_id.in_(ids), old.fetched_ms < before_ms, outlived))


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
    )
