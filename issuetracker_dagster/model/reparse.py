"""Stored pages that are to be read again, and the message that has it done."""

import msgspec

from issuetracker_dagster.model.headers import REPARSE, Headers, TargetType
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.payload import RawContentRef, encode_payload
from issuetracker_dagster.model.priority import Priority


class PageFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which stored articles are meant; what is empty or 0 admits all.

    `host` is exact or `*.example.com`. `since_ms` inclusive and `before_ms` exclusive bound the time of the fetch.
    `code_version` and `other_than` go by the parser code that made the page's content; neither means a page of which no
    content was ever made. `missed` means those on which their rule found nothing.
    """

    host: str = ""
    sources: tuple[str, ...] = ()
    since_ms: int = 0
    before_ms: int = 0
    code_version: str = ""
    other_than: str = ""
    missed: bool = False


class StoredArticle(msgspec.Struct, frozen=True, kw_only=True):
    """A stored page without its body; `source` as the page's row or its content has it."""

    raw_id: int
    url: str
    requested_url: str
    fetched_ms: int
    stored_by: str
    source: str


def reparsed(page: StoredArticle, generation: int, priority: Priority, now_ms: int) -> Message:
    """The message for `fetched`: the page's own root in a generation of its own, marked as a reparse."""
    root_id = page.stored_by.rpartition(":")[0] or f"raw-{page.raw_id}"
    payload = RawContentRef(
        raw_id=page.raw_id,
        url=page.url,
        requested_url=page.requested_url,
        target_type=TargetType.ARTICLE,
        fetched_ms=page.fetched_ms,
        source=page.source,
    )
    headers = Headers(
        root_id=root_id,
        generation=generation,
        priority=priority,
        target_type=TargetType.ARTICLE,
        trace_id=root_id,
        first_published_ms=now_ms,
        other=((REPARSE, b"1"),),
    )
    return Message(headers, root_id.encode(), encode_payload(payload))
