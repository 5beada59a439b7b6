"""What every message carries from the seed to the score: through Kafka, queues, retries and the DLQ alike."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.priority import Priority, priority_from_headers

RawHeaders = Sequence[tuple[str, bytes]]
"""Headers as Kafka holds them."""

DEFAULT_TIMEOUT_MS = 30_000
REPARSE = "reparse"
"""The header of a message that has its stored page read again: nothing is fetched and no link published for it."""


class TargetType(StrEnum):
    """What a URL is expected to be."""

    ARTICLE = "article"
    CATEGORY = "category"
    FEED = "feed"
    SITEMAP = "sitemap"


class Headers(msgspec.Struct, frozen=True, kw_only=True):
    """The typed form of the journey's headers; `other` keeps what this version doesn't know.

    `generation` counts every re-publication of a root (retry, recrawl, redrive), `attempt` the tries of the present
    stage from 1, `recrawl_count` the fetches that a later stage asked for. Times are Unix milliseconds.
    """

    root_id: str
    generation: int = 0
    priority: Priority = Priority.NORMAL
    crawler: str = ""
    target_type: TargetType = TargetType.ARTICLE
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    trace_id: str = ""
    first_published_ms: int = 0
    attempt: int = 1
    recrawl_count: int = 0
    other: tuple[tuple[str, bytes], ...] = ()

    @property
    def identity(self) -> str:
        """`root_id:generation`, unique for each published message; queue members and retry entries are named by it."""
        return f"{self.root_id}:{self.generation}"

    @property
    def is_reparse(self) -> bool:
        """Whether its page is only read again."""
        return any(name == REPARSE for name, _ in self.other)

    def evolve(self, **changes: object) -> "Headers":
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    def to_raw(self) -> list[tuple[str, bytes]]:
        """The Kafka form, known headers first."""
        known = [
            ("priority", str(int(self.priority))),
            ("root_id", self.root_id),
            ("generation", str(self.generation)),
            ("crawler", self.crawler),
            ("target_type", self.target_type.value),
            ("timeout_ms", str(self.timeout_ms)),
            ("trace_id", self.trace_id),
            ("first_published_ms", str(self.first_published_ms)),
            ("attempt", str(self.attempt)),
            ("recrawl_count", str(self.recrawl_count)),
        ]
        return [(name, value.encode()) for name, value in known] + list(self.other)


_KNOWN = frozenset(Headers.__struct_fields__) - {"other"}
_TARGET_TYPES = {kind.value.encode(): kind for kind in TargetType}
MAX_ROOT_ID = 256
"""Longest root id in characters that is taken from outside."""


def headers_from_raw(raw: Sequence[tuple[str, bytes | None]]) -> Headers:
    """Typed headers; lenient in everything but the identity. The last of a name counts.

    A counter that isn't a number falls back to its default. Raises `Malformed` when the root id is missing, too long or
    not text, since such a message can't be told from another.
    """
    values = dict(raw)
    known = values.get
    return Headers(
        root_id=_root_id(known("root_id")),
        generation=_count(known("generation"), 0),
        priority=priority_from_headers(known("priority")),
        crawler=_text(known("crawler")),
        target_type=_TARGET_TYPES.get(known("target_type") or b"", TargetType.ARTICLE),
        timeout_ms=_count(known("timeout_ms"), DEFAULT_TIMEOUT_MS) or DEFAULT_TIMEOUT_MS,
        trace_id=_text(known("trace_id")),
        first_published_ms=_count(known("first_published_ms"), 0),
        attempt=_count(known("attempt"), 1) or 1,
        recrawl_count=_count(known("recrawl_count"), 0),
        other=() if values.keys() <= _KNOWN else _unknown(raw),
    )


def _unknown(raw: Sequence[tuple[str, bytes | None]]) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, value or b"") for name, value in raw if name not in _KNOWN)


def _root_id(value: bytes | None) -> str:
    if not value:
        raise Malformed("the header root_id is missing")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise Malformed("the header root_id isn't UTF-8") from None
    if len(text) > MAX_ROOT_ID or not text.isprintable():
        raise Malformed(f"the header root_id is longer than {MAX_ROOT_ID} characters or not printable")
    return text


def _text(value: bytes | None) -> str:
    return value.decode("utf-8", "replace") if value else ""


def _count(value: bytes | None, default: int) -> int:
    return int(value) if value and value.isdigit() and len(value) <= 16 else default
