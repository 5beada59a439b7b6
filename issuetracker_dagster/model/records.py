"""What the database holds, as the stages see it. Times are Unix milliseconds unless a name says otherwise."""

import hashlib
from enum import StrEnum

import msgspec

from issuetracker_dagster.model.headers import TargetType


class RawContent(msgspec.Struct, frozen=True, kw_only=True):
    """A fetched page. `body` is decoded of transfer and content encodings, not of its charset.

    `stored_by` is the identity (`root_id:generation`) of the message that last replaced the body: the same root finding
    its own bytes again is a redelivery that still has to be passed on, not an unchanged page. `is_rendered`: the body
    is what a browser made of the page.
    """

    raw_id: int = 0
    url: str
    requested_url: str
    status: int
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    body: bytes = b""
    body_sha256: str = ""
    fetched_ms: int = 0
    target_type: TargetType = TargetType.ARTICLE
    stored_by: str = ""
    source: str = ""
    is_rendered: bool = False


class ContentStatus(StrEnum):
    """How far a content has come."""

    PARSED = "parsed"
    VALIDATED = "validated"
    REJECTED = "rejected"
    ENRICHED = "enriched"


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed article or post with its body.

    `published_ms` is 0 when the page names none. `kind` is `news` or `community`. `field_sources` maps a field to what
    produced it (`rule`, `json_ld`, `opengraph`, `trafilatura`, ...). `replacement_share` is the share of U+FFFD in the
    decoded page.
    """

    content_id: int = 0
    raw_id: int = 0
    root_id: str = ""
    url: str
    canonical_url: str = ""
    host: str = ""
    source: str = ""
    kind: str = "news"
    title: str = ""
    author: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    summary: str = ""
    body: str = ""
    language: str = ""
    published_ms: int = 0
    fetched_ms: int = 0
    field_sources: dict[str, str] = {}
    replacement_share: float = 0.0
    status: ContentStatus = ContentStatus.PARSED
    date_required: bool = False


class MadeFrom(msgspec.Struct, frozen=True, kw_only=True):
    """What a content was parsed from and by: the hash of the page's bytes, the rule that read it (0: none) in which
    version, and the version of the parser's code. Not part of what was found, hence not of `content_digest`."""

    raw_sha256: str = ""
    rule_id: int = 0
    rule_version: int = 0
    code_version: str = ""


def content_digest(content: Content) -> str:
    """SHA-256 of what a parse found, apart from when and from which copy: tells a repeated parse from a new page."""
    found = msgspec.structs.replace(
        content,
        content_id=0,
        raw_id=0,
        root_id="",
        fetched_ms=0,
        status=ContentStatus.PARSED,
        field_sources=dict(sorted(content.field_sources.items())),
    )
    # repr and not an encoder: pages can hold lone surrogates, which no encoder takes.
    return hashlib.sha256(repr(found).encode("utf-8", "surrogatepass")).hexdigest()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What validate found. `code` is empty when accepted; `scores` is the breakdown, each in [0, 1]."""

    accepted: bool
    code: str = ""
    reason: str = ""
    quality: float = 0.0
    scores: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    duplicate_of: int = 0
    near_duplicate_of: int = 0


class ContentClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A checkable sentence; `status` is `supported`, `contradicted` or `unverified`."""

    text: str
    status: str = "unverified"


class Enrichment(msgspec.Struct, frozen=True, kw_only=True):
    """What enrich found out about one content. `failed_steps` names steps that fell over; `trust` is in [0, 1]."""

    content_id: int
    language: str = ""
    keywords: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    claims: tuple[ContentClaim, ...] = ()
    issue_id: int = 0
    trust: float = 0.0
    factors: dict[str, float] = {}
    rationale: str = ""
    failed_steps: tuple[str, ...] = ()
    enriched_ms: int = 0


class IssueState(StrEnum):
    """The life of an issue."""

    EMERGING = "emerging"
    ACTIVE = "active"
    FADING = "fading"
    CLOSED = "closed"


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster of contents about one event. `velocity` is contents an hour, decayed."""

    issue_id: int = 0
    title: str
    language: str = ""
    first_seen_ms: int = 0
    last_seen_ms: int = 0
    content_count: int = 0
    source_count: int = 0
    velocity: float = 0.0
    state: IssueState = IssueState.EMERGING
