"""A real browser as the fetch stage sees it: a page as it came in, the page as its scripts have made it out."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from issuetracker_dagster.ports.http import FetchResponse


class RenderRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The page that was fetched, and what the browser may do with it.

    `timeout_ms` covers everything until the page is given back; `max_bytes` bounds what is given back. `may_ask` is
    asked for every further request of the page. `is_redirect` says of a place to which a script sends the browser
    whether the page is there and not here; otherwise the browser stays. Both are called in the browser's thread, where
    every page waits for them: they ask no server.
    """

    response: FetchResponse
    user_agent: str
    timeout_ms: int
    max_bytes: int
    may_ask: Callable[[str], bool]
    is_redirect: Callable[[str], bool]


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The page as HTML in UTF-8; or, with an empty body, where its script leads (`redirect`)."""

    body: bytes = b""
    redirect: str = ""


class RendererBusy(Exception):
    """No page can be rendered now: all places are taken, or the browser is being started, or doesn't start."""


class Renderer(Protocol):
    """Renders a bounded number of pages at once; called from many threads."""

    def reserve(self, *, is_urgent: bool, wait_ms: int) -> None:
        """Take a place, and have the browser running; waits at most `wait_ms` for both together.

        One place is kept for urgent pages where there are two or more. Raises `RendererBusy`.
        """

    def release(self) -> None:
        """Give the place back."""

    def render(self, request: RenderRequest) -> Rendered:
        """Render in the place that the caller holds.

        Raises `TimedOut` for a page that never lets itself be read, `TransientError` for one whose tab or browser
        died, and `PermanentError` with code `too_large`.
        """

    def close(self) -> None:
        """Break off what is under way and end the browser; a second call does nothing."""
