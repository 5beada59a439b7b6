"""What is kept in SQL. Each write is idempotent by the identity it names. Without a database all raise Unavailable."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.history import StoredPage
from issuetracker_dagster.model.records import Content, Enrichment, Issue, IssueState, MadeFrom, RawContent, Verdict

NOWHERE = MadeFrom()
NEAR_CANDIDATES = 500
"""How many possible copies are compared: thousands of pages with one and the same notice would otherwise be read again
for each that comes."""


class RawContents(Protocol):
    """Fetched pages, one row a requested URL, with the history of their hashes."""

    def latest(self, requested_url: str) -> RawContent | None:
        """The stored page of that URL without its body, for conditional requests and change detection."""

    def seen(self, requested_urls: Collection[str]) -> Mapping[str, tuple[str, int]]:
        """Of the URLs that were fetched: hash of the page's body, and when it was last fetched or confirmed."""

    def save(self, raw: RawContent) -> int:
        """Insert or replace the page of `requested_url`, append (hash, date) to its history; returns the row's id."""

    def touch(self, raw_id: int, fetched_ms: int, etag: str, last_modified: str) -> None:
        """The page was confirmed unchanged: note when, and the validators of that answer."""

    def get(self, raw_id: int) -> RawContent | None:
        """The page with its body."""

    def history(self, raw_id: int) -> Sequence[tuple[str, int]]:
        """(body hash, fetched ms) of every save, oldest first; the same pair once."""

    def old(self, before_ms: int, after_id: int, limit: int) -> Sequence[StoredPage]:
        """Pages last fetched before then that no dead letter names (purged letters don't count), in order of id."""

    def remove(self, raw_ids: Collection[int], before_ms: int) -> Sequence[int]:
        """Delete those of these pages that `old` would still name; returns the ids of the deleted."""

    def old_history(self, before_ms: int) -> int:
        """How many entries `shorten_history` would delete in all."""

    def shorten_history(self, before_ms: int, limit: int) -> int:
        """Delete up to `limit` entries older than that, but the latest of no page; returns how many."""


class Contents(Protocol):
    """Parsed contents with bodies, verdicts and duplicates."""

    def save(self, content: Content, made_from: MadeFrom = NOWHERE, *, unless_newer: bool = False) -> int:
        """Insert or replace by normalised URL; returns the content's id, which stays for ever.

        With `unless_newer` a content that was made from a page fetched later stays as it is.

        The same text and fields again change neither status nor verdict nor a cleared date, so that a redelivered
        parse can't undo what later stages found; changed ones start over with the status given.
        """

    def get(self, content_id: int) -> Content | None: ...

    def made_from(self, content_id: int) -> MadeFrom | None:
        """What its present row was parsed from."""

    def record_verdict(self, content_id: int, verdict: Verdict) -> None:
        """Keep the verdict; status becomes `validated` (or stays `enriched`) or `rejected`."""

    def verdict(self, content_id: int) -> Verdict | None: ...

    def clear_date(self, content_id: int, note: str) -> None:
        """The date was an error of extraction."""

    def first_with_hash(self, text_hash: str, before_id: int) -> int | None:
        """The first content before this one with the same normalised text; remembers `text_hash` for `before_id`."""

    def near_candidates(
        self, content_id: int, bands: Sequence[str], limit: int = NEAR_CANDIDATES
    ) -> Sequence[tuple[int, bytes]]:
        """(id, MinHash signature) of other contents that share an LSH band key, in order of id.

        At most `limit` of those before the content and as many of those after it, the lowest ids of each.
        """

    def save_signature(self, content_id: int, bands: Sequence[str], signature: bytes) -> None: ...

    def link_copy(self, content_id: int, *, duplicate_of: int = 0, near_duplicate_of: int = 0) -> None:
        """Point a content that has a verdict already at a first copy judged after it; 0 leaves that link alone.

        A link only ever moves to a lower id, so that the order in which copies are judged doesn't matter.
        """


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

    def open_members(
        self, language: str, since_ms: int, limit: int, *, with_texts: bool = True
    ) -> Sequence[MemberView]:
        """At most `limit` members of issues that aren't closed and have one seen since, newest first by `seen_ms`.

        Without texts `body`, `keywords` and `entities` are empty and nothing of them is read: thousands of members then
        cost little. How long it takes goes by `limit`, not by how many members there are.
        """

    def members(self, issue_id: int, *, with_texts: bool = True) -> Sequence[MemberView]:
        """All members, oldest first by `seen_ms`."""

    def views(self, content_ids: Collection[int]) -> Sequence[MemberView]:
        """The members among these contents, with bodies, in order of id."""

    def merge(self, into: int, absorbed: int) -> None:
        """Move every member of `absorbed` into the other issue and delete it; nothing when it is gone already.

        Their enrichments name the new issue from then on.
        """

    def leave(self, content_id: int) -> int:
        """Take the content out of its issue, whose counts follow; an issue without members is gone.

        Returns the issue that it was in, 0 when in none.
        """

    def quiet(self, states: Collection[IssueState], seen_before_ms: int, limit: int) -> Sequence[Issue]:
        """Issues in one of these states that nothing joined since then, longest silent first."""

    def assign(self, view: MemberView, issue_id: int | None) -> int:
        """Make the content a member of that issue (None: of a new one); returns the issue's id.

        Idempotent by content: one that is a member already stays in its issue, and its view is refreshed.
        """

    def get(self, issue_id: int) -> Issue | None: ...

    def update_issue(self, issue: Issue) -> None: ...

    def save_enrichment(self, *enrichments: Enrichment) -> None:
        """Insert or replace, by content and all or none; their status becomes `enriched` unless they were rejected."""

    def enrichment(self, content_id: int) -> Enrichment | None: ...

    def enrichments(self, content_ids: Collection[int]) -> Sequence[Enrichment]:
        """Those of the contents that have one, in order of id."""

    def lock_candidates(self, language: str) -> "ClusterLock":
        """Context manager: only one worker at a time looks for an issue and opens one.

        Writes inside commit one by one and are seen by whoever enters next. Not re-entrant. Raises `Unavailable` when
        the lock isn't had within 30 s.
        """


class ClusterLock(Protocol):
    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None: ...
