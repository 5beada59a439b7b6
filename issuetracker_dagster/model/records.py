"""What the database holds, as the stages see it. Times are Unix milliseconds unless a name says otherwise."""

import hashlib
from enum import StrEnum

import msgspec

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import check_host


class RawContent(msgspec.Struct, frozen=True, kw_only=True):
    """A fetched page. `body` is decoded of transfer and content encodings, not of its charset.

    `stored_by` is the identity (`root_id:generation`) of the message that last replaced the body: the same root finding
    its own bytes again is a redelivery that still has to be passed on, not an unchanged page.
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


class SelectorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Where a field is on a page: a CSS selector, an attribute instead of the text, one or all matches."""

    css: str
    attribute: str = ""
    multi: bool = False


class ParserRule(msgspec.Struct, frozen=True, kw_only=True):
    """How pages of a host and path are read. `options` hold the article pattern and excludes of categories."""

    rule_id: int = 0
    host_pattern: str
    path_pattern: str = ""
    target_type: TargetType = TargetType.ARTICLE
    version: int = 1
    enabled: bool = True
    selectors: dict[str, SelectorSpec] = {}
    options: dict[str, str] = {}
    crawl_priority: int = 2


MAX_PATH_PATTERN = 500
"""Longest path pattern of a parser rule in characters."""


def check_rule(rule: ParserRule) -> None:
    """Raise `PermanentError` (`invalid_rule`) with the reason when the rule may not be stored."""
    if rule.crawl_priority not in (1, 2, 3):
        reason = f"crawl_priority {rule.crawl_priority} is none of 1 (high), 2 (normal), 3 (low)"
        raise PermanentError(reason, code="invalid_rule")
    if len(rule.path_pattern) > MAX_PATH_PATTERN:
        raise PermanentError(f"path_pattern is longer than {MAX_PATH_PATTERN} characters", code="invalid_rule")
    try:
        check_host(rule.host_pattern)
    except ValueError as error:
        raise PermanentError(str(error), code="invalid_rule") from None


class BlacklistMode(StrEnum):
    """What happens to a link that the blacklist knows."""

    DROP = "drop"
    EXTRACT_LINKS_ONLY = "extract_links_only"


class BlacklistEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Host exact or `*.`, path an RE2 expression as in priority rules."""

    host_pattern: str
    path_pattern: str = ""
    mode: BlacklistMode = BlacklistMode.DROP
    source: str = "manual"


class FetcherRule(msgspec.Struct, frozen=True, kw_only=True):
    """How politely a host is asked. `requests_per_hour` 0 = no limit beyond concurrency; `burst` in requests."""

    host_pattern: str
    requests_per_hour: int = 3_600
    burst: int = 5
    concurrency: int = 2
    timeout_ms: int = 30_000
    user_agent: str = ""
    rendering: bool = False
    source: str = "default"


def check_fetcher_rule(rule: FetcherRule) -> None:
    """Raise `PermanentError` (`invalid_rule`) with the reason when the rule may not be stored."""
    if rule.requests_per_hour < 0 or min(rule.burst, rule.concurrency, rule.timeout_ms) < 1:
        reason = "burst, concurrency and timeout are at least 1, requests an hour at least 0 (0 = no limit)"
        raise PermanentError(f"fetcher rule for {rule.host_pattern!r}: {reason}", code="invalid_rule")


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduled entry URL. `priority` None goes through the resolver chain."""

    seed_id: int = 0
    url: str
    source: str
    target_type: TargetType = TargetType.FEED
    crawler: str = ""
    interval_ms: int = 600_000
    timeout_ms: int = 30_000
    priority: int | None = None
    enabled: bool = True
    next_due_ms: int = 0


def check_seed(seed: Seed) -> None:
    """Raise `PermanentError` (`invalid_seed`) with the reason when the seed may not be stored."""
    if seed.priority not in (None, 1, 2, 3):
        reason = f"priority {seed.priority} of {seed.url} is none of 1 (high), 2 (normal), 3 (low)"
        raise PermanentError(reason, code="invalid_seed")
    if seed.interval_ms < 1:
        raise PermanentError(f"the interval of {seed.url} is {seed.interval_ms} ms", code="invalid_seed")


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
