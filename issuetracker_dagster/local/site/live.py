"""Live tickers: pages that a script draws in the browser, so that whoever only fetches them finds a title and no text.

A host that has many of them is switched to rendering. Nothing links here but the section itself: the demo shows the
upgrade to those who ask for it.
"""

import re

from issuetracker_dagster.local.site.hosts import Host
from issuetracker_dagster.local.site.pages import page

SECTION = "/live/"
TICKERS = 5
"""So many that crawling the section once is enough for the upgrade of its host."""

_TICKER = re.compile(r"^/live/(\d{6,15})/$")


def live_page(host: Host, path: str, now_ms: int) -> str | None:
    """The section, whose tickers are other ones each second, or a ticker; None when the path is neither."""
    if path == SECTION:
        return _section(host, now_ms)
    found = _TICKER.search(path)
    return _ticker(int(found[1])) if found else None


def _section(host: Host, now_ms: int) -> str:
    first = now_ms // 1_000 * 10
    items = "\n".join(
        f'<li><a href="{SECTION}{number}/">Ticker {number}</a></li>' for number in range(first, first + TICKERS)
    )
    return page(host, "Live", f"<h1>Live</h1>\n<ul>\n{items}\n</ul>", now_ms)


def _ticker(number: int) -> str:
    return f"""<!DOCTYPE html>
<html><head><title>Ticker {number}</title></head>
<body><div id="root"></div>
<script>document.getElementById("root").textContent = "Drawn in the browser. ".repeat(40)</script>
</body></html>
"""
