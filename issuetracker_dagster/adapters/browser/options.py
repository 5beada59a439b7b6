"""The limits of rendering, with the defaults of the settings."""

import msgspec


class RenderOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`browser` is the path of a Chromium, or the name of a channel that Playwright knows; empty: whatever is found.

    Of one page: `max_traffic` bytes in both directions, `max_requests` requests, `max_connections` at once. When these
    are used up the page gets nothing more and is read as it is. `max_memory` bytes is the most that one process of the
    browser may take. `settle_ms` after its arrival a page is read whether or not it has come to rest; `quiet_ms`
    without a change or an open request is rest. A page with less than `enough_text` characters is waited for.
    """

    pages: int = 3
    browser: str = ""
    sandbox: bool = True
    restart_after: int = 100
    max_traffic: int = 30_000_000
    max_memory: int = 1_000_000_000
    max_requests: int = 300
    max_connections: int = 64
    settle_ms: int = 10_000
    quiet_ms: int = 500
    enough_text: int = 200
