"""Fetched pages and parsed contents in memory."""

import itertools
import threading
from collections.abc import Collection, Mapping, Sequence

import msgspec

from issuetracker_dagster.model.history import StoredPage
from issuetracker_dagster.model.records import Content, ContentStatus, MadeFrom, RawContent, Verdict, content_digest
from issuetracker_dagster.model.urls import identity_of
from issuetracker_dagster.ports.stores import NEAR_CANDIDATES, NOWHERE


class MemoryRawContents:
    """The port `RawContents`. `kept_for_dead_letters` holds the ids that dead letters name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[int, RawContent] = {}
        self._ids: dict[str, int] = {}
        self._next_id = itertools.count(1)
        self._history: dict[int, list[tuple[str, int]]] = {}
        self.kept_for_dead_letters: set[int] = set()

    def latest(self, requested_url: str) -> RawContent | None:
        raw_id = self._ids.get(requested_url)
        row = None if raw_id is None else self._rows.get(raw_id)
        return None if row is None else msgspec.structs.replace(row, body=b"")

    def seen(self, requested_urls: Collection[str]) -> Mapping[str, tuple[str, int]]:
        with self._lock:
            found = {url: self._rows[self._ids[url]] for url in requested_urls if url in self._ids}
        return {url: (row.body_sha256, row.fetched_ms) for url, row in found.items()}

    def save(self, raw: RawContent) -> int:
        with self._lock:
            raw_id = self._ids.get(raw.requested_url) or next(self._next_id)
            self._ids[raw.requested_url] = raw_id
            self._rows[raw_id] = msgspec.structs.replace(raw, raw_id=raw_id)
            history = self._history.setdefault(raw_id, [])
            if (raw.body_sha256, raw.fetched_ms) not in history:
                history.append((raw.body_sha256, raw.fetched_ms))
            return raw_id

    def touch(self, raw_id: int, fetched_ms: int, etag: str, last_modified: str) -> None:
        with self._lock:
            if raw_id in self._rows:
                self._rows[raw_id] = msgspec.structs.replace(
                    self._rows[raw_id], fetched_ms=fetched_ms, etag=etag, last_modified=last_modified
                )

    def get(self, raw_id: int) -> RawContent | None:
        return self._rows.get(raw_id)

    def count(self) -> int:
        """How many pages there are."""
        return len(self._rows)

    def history(self, raw_id: int) -> Sequence[tuple[str, int]]:
        return sorted(self._history.get(raw_id, []), key=lambda entry: (entry[1], entry[0]))

    def old(self, before_ms: int, after_id: int, limit: int) -> Sequence[StoredPage]:
        with self._lock:
            found = sorted(raw_id for raw_id in self._rows if raw_id > after_id and self._is_old(raw_id, before_ms))
            return [StoredPage(raw_id, len(self._rows[raw_id].body)) for raw_id in found[:limit]]

    def remove(self, raw_ids: Collection[int], before_ms: int) -> Sequence[int]:
        with self._lock:
            gone = sorted(raw_id for raw_id in set(raw_ids) if self._is_old(raw_id, before_ms))
            for raw_id in gone:
                del self._ids[self._rows.pop(raw_id).requested_url]
                del self._history[raw_id]
            return gone

    def _is_old(self, raw_id: int, before_ms: int) -> bool:
        row = self._rows.get(raw_id)
        return row is not None and row.fetched_ms < before_ms and raw_id not in self.kept_for_dead_letters

    def old_history(self, before_ms: int) -> int:
        with self._lock:
            return sum(len(self._outlived(raw_id, before_ms)) for raw_id in self._history)

    def shorten_history(self, before_ms: int, limit: int) -> int:
        removed = 0
        with self._lock:
            for raw_id, history in self._history.items():
                old = self._outlived(raw_id, before_ms)[: limit - removed]
                removed += len(old)
                self._history[raw_id] = [entry for entry in history if entry not in old]
        return removed

    def _outlived(self, raw_id: int, before_ms: int) -> list[tuple[str, int]]:
        latest = max(fetched_ms for _, fetched_ms in self._history[raw_id])
        return [entry for entry in self._history[raw_id] if entry[1] < min(before_ms, latest)]


class MemoryContents:
    """The port `Contents`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.rows: dict[int, Content] = {}
        self.verdicts: dict[int, Verdict] = {}
        self._ids: dict[str, int] = {}
        self._digests: dict[int, str] = {}
        self._made_from: dict[int, MadeFrom] = {}
        self._hashes: dict[int, str] = {}
        self._signatures: dict[int, tuple[frozenset[str], bytes]] = {}

    def save(self, content: Content, made_from: MadeFrom = NOWHERE, *, unless_newer: bool = False) -> int:
        with self.lock:
            content_id = self._ids.setdefault(identity_of(content.url), len(self._ids) + 1)
            known = self.rows.get(content_id)
            if unless_newer and known is not None and known.fetched_ms > content.fetched_ms:
                return content_id
            digest = content_digest(content)
            self._made_from[content_id] = made_from
            if self._digests.get(content_id) == digest:
                self.rows[content_id] = msgspec.structs.replace(
                    self.rows[content_id], raw_id=content.raw_id, root_id=content.root_id, fetched_ms=content.fetched_ms
                )
                return content_id
            self.rows[content_id] = msgspec.structs.replace(content, content_id=content_id)
            self._digests[content_id] = digest
            for found in (self.verdicts, self._hashes, self._signatures):
                found.pop(content_id, None)
            return content_id

    def get(self, content_id: int) -> Content | None:
        return self.rows.get(content_id)

    def made_from(self, content_id: int) -> MadeFrom | None:
        return self._made_from.get(content_id)

    def record_verdict(self, content_id: int, verdict: Verdict) -> None:
        with self.lock:
            row = self.rows.get(content_id)
            if row is None:
                return
            self.verdicts[content_id] = verdict
            if not verdict.accepted:
                self.set_status(content_id, ContentStatus.REJECTED)
            elif row.status is not ContentStatus.ENRICHED:
                self.set_status(content_id, ContentStatus.VALIDATED)

    def set_status(self, content_id: int, status: ContentStatus) -> None:
        """Not part of the port: how `MemoryIssues` marks a content as enriched."""
        with self.lock:
            if content_id in self.rows:
                self.rows[content_id] = msgspec.structs.replace(self.rows[content_id], status=status)

    def link_copy(self, content_id: int, *, duplicate_of: int = 0, near_duplicate_of: int = 0) -> None:
        with self.lock:
            verdict = self.verdicts.get(content_id)
            if verdict is not None:
                self.verdicts[content_id] = msgspec.structs.replace(
                    verdict,
                    duplicate_of=_lower(verdict.duplicate_of, duplicate_of),
                    near_duplicate_of=_lower(verdict.near_duplicate_of, near_duplicate_of),
                )

    def verdict(self, content_id: int) -> Verdict | None:
        return self.verdicts.get(content_id)

    def clear_date(self, content_id: int, note: str) -> None:
        with self.lock:
            row = self.rows.get(content_id)
            if row is not None:
                sources = {**row.field_sources, "published_ms": f"cleared: {note}"}
                self.rows[content_id] = msgspec.structs.replace(row, published_ms=0, field_sources=sources)

    def first_with_hash(self, text_hash: str, before_id: int) -> int | None:
        with self.lock:
            if before_id in self.rows:
                self._hashes[before_id] = text_hash
            same = (other for other, known in self._hashes.items() if known == text_hash and other < before_id)
            return min(same, default=None)

    def near_candidates(
        self, content_id: int, bands: Sequence[str], limit: int = NEAR_CANDIDATES
    ) -> Sequence[tuple[int, bytes]]:
        with self.lock:
            sharing = [
                (other, signature)
                for other, (keys, signature) in sorted(self._signatures.items())
                if not keys.isdisjoint(bands)
            ]
        before = [one for one in sharing if one[0] < content_id]
        after = [one for one in sharing if one[0] > content_id]
        return [*before[:limit], *after[:limit]]

    def save_signature(self, content_id: int, bands: Sequence[str], signature: bytes) -> None:
        with self.lock:
            if content_id in self.rows:
                self._signatures[content_id] = (frozenset(bands), signature)


def _lower(known: int, offered: int) -> int:
    return min(known or offered, offered or known)
