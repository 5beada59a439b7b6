"""Asking only for what changed, and telling a page that didn't change from one whose message was delivered again."""

from collections.abc import Mapping

from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.stages.fetch.answers import http_date_ms

_CLOCK_SKEW_MS = 1_000


def conditional_headers(stored: RawContent, now_ms: int) -> Mapping[str, str]:
    """The validators of the stored page, for a request of the URL where it was found.

    A Last-Modified in the future would make every later version look old, so it isn't used.
    """
    headers: dict[str, str] = {}
    if stored.etag:
        headers["If-None-Match"] = stored.etag
    modified_ms = http_date_ms(stored.last_modified) if stored.last_modified else None
    if modified_ms is not None and modified_ms <= now_ms + _CLOCK_SKEW_MS:
        headers["If-Modified-Since"] = stored.last_modified
    return headers


def is_news(stored: RawContent, page: RawContent) -> bool:
    """Whether a page with the same bytes must be passed on all the same.

    So it is when this very root stored it: the worker died between storing and forwarding, and nobody else will pass it
    on. And so it is when the page was read as something else, as when a path became a category.
    """
    return _root(stored.stored_by) == _root(page.stored_by) or stored.target_type is not page.target_type


def _root(identity: str) -> str:
    return identity.rpartition(":")[0]
