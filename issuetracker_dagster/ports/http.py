"""One HTTP request as the fetch stage sees it: no redirects, no cookies, bounded in time and in decoded bytes."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from issuetracker_dagster.errors import TransientError


class TimedOut(TransientError):
    """The answer wasn't complete within the request's time."""


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A GET. `timeout_ms` covers everything from the name look-up to the last byte.

    More than `max_bytes` decoded is an error, or, with `cut`, the end of the body. The body of a content type that
    starts with one of `skip_types` isn't read at all.
    """

    url: str
    user_agent: str
    timeout_ms: int
    max_bytes: int
    headers: Mapping[str, str] = {}
    skip_types: tuple[str, ...] = ()
    cut: bool = False


class FetchResponse(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of any status. Header names are in lower case, the first of each name counts.

    Bytes of a `location` that aren't UTF-8 are surrogates (PEP 383), in any other header U+FFFD.

    `body` is decoded of its content encoding; it is empty for anything but a 2xx and for skipped types. `is_rendered`:
    it isn't what the server sent, but what a browser made of that.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    is_rendered: bool = False

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Fetcher(Protocol):
    """Asks servers; called from many threads at once."""

    def fetch(self, request: FetchRequest) -> FetchResponse:
        """The answer to one GET; redirects are answers like any other.

        Raises `TimedOut`, `TransientError` for what the network does, and `PermanentError` with code `bad_url`,
        `private_address`, `too_large` or `bad_encoding`.
        """

    def close(self) -> None:
        """Break off what is under way and let go of connections."""
