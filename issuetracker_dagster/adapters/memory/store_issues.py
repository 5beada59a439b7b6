"""Issues, their members and enrichments in memory."""

import itertools
import threading
from collections.abc import Collection, Sequence

import msgspec

from issuetracker_dagster.adapters.memory.store_contents import MemoryContents
from issuetracker_dagster.errors import PermanentError, Unavailable
from issuetracker_dagster.model.records import ContentStatus, Enrichment, Issue, IssueState
from issuetracker_dagster.ports.stores import ClusterLock, MemberView

LOCK_TIMEOUT_S = 30.0


class MemoryIssues:
    """The port `Issues`. With `contents`, saving an enrichment also marks the content there."""

    def __init__(self, contents: MemoryContents | None = None) -> None:
        self._contents = contents
        self._lock = threading.RLock()
        self._candidate_locks: dict[str, threading.Lock] = {}
        self.rows: dict[int, Issue] = {}
        self._views: dict[int, MemberView] = {}
        self._next_id = itertools.count(1)
        self.enriched: dict[int, Enrichment] = {}

    def open_members(
        self, language: str, since_ms: int, limit: int, *, with_texts: bool = True
    ) -> Sequence[MemberView]:
        with self._lock:
            views = self._views.values()
            recent = [view for view in views if view.language == language and view.seen_ms >= since_ms]
            issues = (self.rows[issue_id] for issue_id in {view.issue_id for view in recent})
            open_issues = {
                issue.issue_id
                for issue in issues
                if issue.language == language and issue.state is not IssueState.CLOSED
            }
            older = [view for view in views if view.seen_ms < since_ms]
            found = [view for view in (*recent, *older) if view.issue_id in open_issues]
        newest = sorted(found, key=lambda view: (-view.seen_ms, -view.content_id))[:limit]
        return newest if with_texts else _without_texts(newest)

    def members(self, issue_id: int, *, with_texts: bool = True) -> Sequence[MemberView]:
        with self._lock:
            found = [view for view in self._views.values() if view.issue_id == issue_id]
        oldest = sorted(found, key=lambda view: (view.seen_ms, view.content_id))
        return oldest if with_texts else _without_texts(oldest)

    def views(self, content_ids: Collection[int]) -> Sequence[MemberView]:
        return [self._views[content_id] for content_id in sorted(set(content_ids)) if content_id in self._views]

    def merge(self, into: int, absorbed: int) -> None:
        with self._lock:
            gone = self.rows.get(absorbed)
            if gone is None or into == absorbed:
                return
            self._require(into)
            del self.rows[absorbed]
            for view in self.members(absorbed):
                self._views[view.content_id] = msgspec.structs.replace(view, issue_id=into)
            for content_id, enrichment in self.enriched.items():
                if enrichment.issue_id == absorbed:
                    self.enriched[content_id] = msgspec.structs.replace(enrichment, issue_id=into)
            self._saw(into, gone.first_seen_ms, gone.last_seen_ms)

    def quiet(self, states: Collection[IssueState], seen_before_ms: int, limit: int) -> Sequence[Issue]:
        with self._lock:
            found = [row for row in self.rows.values() if row.state in states and row.last_seen_ms < seen_before_ms]
        return sorted(found, key=lambda issue: (issue.last_seen_ms, issue.issue_id))[:limit]

    def assign(self, view: MemberView, issue_id: int | None) -> int:
        with self._lock:
            known = self._views.get(view.content_id)
            target = known.issue_id if known is not None else issue_id
            if target is None:
                target = next(self._next_id)
                self.rows[target] = Issue(
                    issue_id=target,
                    title=view.title,
                    language=view.language,
                    first_seen_ms=view.seen_ms,
                    last_seen_ms=view.seen_ms,
                    source_count=1,
                )
            self._require(target)
            self._views[view.content_id] = msgspec.structs.replace(view, issue_id=target)
            self._saw(target, view.seen_ms, view.seen_ms)
            return target

    def leave(self, content_id: int) -> int:
        with self._lock:
            view = self._views.pop(content_id, None)
            if view is None:
                return 0
            left = len(self.members(view.issue_id, with_texts=False))
            if left:
                issue = self.rows[view.issue_id]
                self.rows[view.issue_id] = msgspec.structs.replace(issue, content_count=left)
            else:
                del self.rows[view.issue_id]
            return view.issue_id

    def _require(self, issue_id: int) -> None:
        if issue_id not in self.rows:
            raise PermanentError(f"there is no issue {issue_id}", code="unknown_issue")

    def _saw(self, issue_id: int, first_ms: int, last_ms: int) -> None:
        issue = self.rows[issue_id]
        self.rows[issue_id] = msgspec.structs.replace(
            issue,
            first_seen_ms=min(issue.first_seen_ms, first_ms),
            last_seen_ms=max(issue.last_seen_ms, last_ms),
            content_count=len(self.members(issue_id)),
        )

    def get(self, issue_id: int) -> Issue | None:
        return self.rows.get(issue_id)

    def update_issue(self, issue: Issue) -> None:
        with self._lock:
            if issue.issue_id in self.rows:
                self.rows[issue.issue_id] = issue

    def save_enrichment(self, *enrichments: Enrichment) -> None:
        for enrichment in enrichments:
            with self._lock:
                self.enriched[enrichment.content_id] = enrichment
            content = None if self._contents is None else self._contents.get(enrichment.content_id)
            if self._contents is not None and content is not None and content.status is not ContentStatus.REJECTED:
                self._contents.set_status(enrichment.content_id, ContentStatus.ENRICHED)

    def enrichment(self, content_id: int) -> Enrichment | None:
        return self.enriched.get(content_id)

    def enrichments(self, content_ids: Collection[int]) -> Sequence[Enrichment]:
        known = self.enriched
        return [known[content_id] for content_id in sorted(set(content_ids)) if content_id in known]

    def lock_candidates(self, language: str) -> ClusterLock:
        with self._lock:
            lock = self._candidate_locks.setdefault(language, threading.Lock())
        return _CandidateLock(lock, language)


def _without_texts(views: Sequence[MemberView]) -> Sequence[MemberView]:
    return [msgspec.structs.replace(view, body="", keywords=(), entities=()) for view in views]


class _CandidateLock:
    def __init__(self, lock: threading.Lock, language: str) -> None:
        self._lock = lock
        self._language = language

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=LOCK_TIMEOUT_S):
            raise Unavailable(f"another worker has clustered {self._language!r} for more than {LOCK_TIMEOUT_S:.0f} s")

    def __exit__(self, *exc: object) -> None:
        self._lock.release()
