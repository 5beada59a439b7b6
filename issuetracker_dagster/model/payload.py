"""The three payloads. JSON, versioned, unknown fields ignored; only references travel, never a page body."""

from typing import TypeVar

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.headers import DEFAULT_TIMEOUT_MS, TargetType

VERSION = 1


class CrawlJob(msgspec.Struct, frozen=True, kw_only=True):
    """A URL to fetch. Topics `crawl.*`, key = host.

    `source` names who asked (a seed's name, `manual`); links and upgraded pages keep that of the page they come from,
    an upgraded one without any gets `upgrade`. `depth` counts links from the seed. `metadata` of a recrawl names the
    failed stage and the original id, that of an upgraded job what its host was switched to (`upgrade`: `rendering`).
    """

    url: str
    source: str = ""
    target_type: TargetType = TargetType.ARTICLE
    crawler: str = ""
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    depth: int = 0
    interval_ms: int = 0
    unconditional: bool = False
    metadata: dict[str, str] = {}
    v: int = VERSION


class RawContentRef(msgspec.Struct, frozen=True, kw_only=True):
    """A fetched page in `raw_contents`. Topic `fetched`, key = root id. `url` is where redirects ended."""

    raw_id: int
    url: str
    requested_url: str
    target_type: TargetType
    fetched_ms: int
    source: str = ""
    depth: int = 0
    v: int = VERSION


class ContentRef(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed content in `contents`. Topics `normalized`, `validated`, `enriched`, key = root id."""

    content_id: int
    url: str
    source: str = ""
    v: int = VERSION


Payload = CrawlJob | RawContentRef | ContentRef
P = TypeVar("P", CrawlJob, RawContentRef, ContentRef)

_encoder = msgspec.json.Encoder()


def encode_payload(payload: Payload) -> bytes:
    """The payload as JSON bytes."""
    return _encoder.encode(payload)


def decode_payload(kind: type[P], value: bytes) -> P:
    """The payload of JSON bytes; raises `Malformed` with the reason, also for a version this code doesn't know."""
    try:
        payload = msgspec.json.decode(value, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"not a {kind.__name__}: {error}") from None
    if payload.v != VERSION:
        raise Malformed(f"{kind.__name__} of version {payload.v}, this code reads version {VERSION}")
    return payload


class PayloadFacts(msgspec.Struct, frozen=True):
    """What can be said about any payload, even one of a version that this code doesn't know."""

    url: str = ""
    raw_id: int = 0
    content_id: int = 0


def payload_facts(value: bytes) -> PayloadFacts:
    """URL and ids inside the JSON, empty where there are none; never raises, since dead letters hold any bytes."""
    try:
        return msgspec.json.decode(value, type=PayloadFacts)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return PayloadFacts()
