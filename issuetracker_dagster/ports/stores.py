"""What is kept in SQL. Each write is idempotent by the identity it names. All raise `Unavailable` without a database."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.records import (
    BlacklistEntry,
    Content,
    Enrichment,
    FetcherRule,
    Issue,
    ParserRule,
    RawContent,
    Seed,
    Verdict,
)
from issuetracker_dagster.model.rules import PriorityRule
from issuetracker_dagster.model.stage import Stage


class RawContents(Protocol):
    """Fetched pages, one row a requested URL, with the history of their hashes."""

    def latest(self, requested_url: str) -> RawContent | None:
        """The stored page of that URL without its body, for conditional requests and change detection."""

    def save(self, raw: RawContent) -> int:
        """Insert or replace the page of `requested_url`, append (hash, date) to its history; returns the row's id."""

    def touch(self, raw_id: int, fetched_ms: int, etag: str, last_modified: str) -> None:
        """The page was confirmed unchanged: note when, and the validators of that answer."""

    def get(self, raw_id: int) -> RawContent | None:
        """The page with its body."""


class Contents(Protocol):
    """Parsed contents with bodies, verdicts and duplicates."""

    def save(self, content: Content) -> int:
        """Insert or replace by normalised URL; returns the content's id, which stays for ever."""

    def get(self, content_id: int) -> Content | None: ...

    def record_verdict(self, content_id: int, verdict: Verdict) -> None: ...

    def clear_date(self, content_id: int, note: str) -> None:
        """The date was an error of extraction."""

    def first_with_hash(self, text_hash: str, before_id: int) -> int | None:
        """The earliest other content with the same normalised text; also remembers `text_hash` for `before_id`."""

    def near_candidates(self, content_id: int, bands: Sequence[str]) -> Sequence[tuple[int, bytes]]:
        """(id, MinHash signature) of contents that share an LSH band key."""

    def save_signature(self, content_id: int, bands: Sequence[str], signature: bytes) -> None: ...


class ParserRules(Protocol):
    """Rules by which pages are read and links are judged."""

    def for_host(self, host: str, target_type: TargetType) -> Sequence[ParserRule]:
        """Enabled rules of that host (exact or wildcard) and type."""

    def priority_rules(self, limit: int) -> Sequence[PriorityRule]:
        """(host, path, priority) of all enabled rules, newest version of each, in saved order."""

    def blacklist(self) -> Sequence[BlacklistEntry]: ...

    def add_to_blacklist(self, entry: BlacklistEntry) -> None:
        """Add unless the same host and path is there."""

    def fetcher_rule(self, host: str) -> FetcherRule | None: ...


class MemberView(msgspec.Struct, frozen=True):
    """A content as clustering and verification need it."""

    content_id: int
    issue_id: int
    host: str
    title: str
    body: str
    language: str
    published_ms: int
    seen_ms: int
    keywords: tuple[str, ...]
    entities: tuple[str, ...]


class Issues(Protocol):
    """Issues, their members and what enrich found."""

    def open_members(self, language: str, since_ms: int, limit: int) -> Sequence[MemberView]:
        """Members of issues that aren't closed and were seen since, newest first."""

    def members(self, issue_id: int) -> Sequence[MemberView]: ...

    def assign(self, view: MemberView, issue_id: int | None) -> int:
        """Make the content a member of that issue (None: a new one); idempotent by content; returns the issue's id."""

    def update_issue(self, issue: Issue) -> None: ...

    def save_enrichment(self, enrichment: Enrichment) -> None: ...

    def enrichment(self, content_id: int) -> Enrichment | None: ...

    def lock_candidates(self, language: str) -> "ClusterLock":
        """Context manager: only one worker at a time looks for an issue and opens one."""


class ClusterLock(Protocol):
    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...


class Seeds(Protocol):
    """Scheduled entry URLs."""

    def due(self, now_ms: int, limit: int) -> Sequence[Seed]: ...

    def scheduled(self, seed_id: int, next_due_ms: int) -> None:
        """The seed was published; look at it again then."""

    def add(self, seeds: Sequence[Seed]) -> int:
        """Insert those whose URL isn't there yet; returns how many were new."""

    def all(self) -> Sequence[Seed]: ...


class DeadLetterIndex(Protocol):
    """A searchable index of the DLQ."""

    def record(self, message: Message, stage: Stage, reason: str, error: str, at_ms: int) -> None: ...

    def count(self) -> int: ...
