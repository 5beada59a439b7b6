"""The frame of every page, front pages and sections."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape

from issuetracker_dagster.local.site.hosts import ODD, Host
from issuetracker_dagster.local.site.newsroom import sections
from issuetracker_dagster.local.site.stories import Story, section_path

_STYLE = (
    "body{font:16px/1.5 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem}nav a{margin-right:1rem}"
    "footer{margin-top:3rem;color:#666}"
)

_LABELS = {"en": {}, "ko": {"breaking": "속보", "archive": "지난 기사"}}


def page(host: Host, title: str, body: str, now_ms: int, *, head: str = "") -> str:
    """A whole page in the host's frame."""
    links = "".join(
        f'<a href="{section_path(one)}">{escape(_LABELS[host.language].get(one, one.capitalize()))}</a>'
        for one in (*sections(host), "archive")
    )
    if host is ODD:
        links += '<a href="/odd/">Odd pages</a>'
    year = datetime.fromtimestamp(now_ms / 1000, UTC).year
    return f"""<!DOCTYPE html>
<html lang="{host.language}">
<head>
<meta http-equiv="Content-Type" content="text/html; charset={host.charset}">
<title>{escape(title)} - {escape(host.title)}</title>
{head}
<link rel="alternate" type="application/{host.feed}+xml" href="{host.feed_path}">
<style>{_STYLE}</style>
</head>
<body>
<header><a href="/">{escape(host.title)}</a><nav>{links}</nav></header>
<main>
{body}
</main>
<footer>{escape(host.title)} {year}. Every story here is invented.</footer>
</body>
</html>
"""


def list_page(host: Host, heading: str, stories: Sequence[Story], base_url: str, now_ms: int) -> str:
    """A front page or section: links to its stories, newest first. One host hangs relative links on a `<base>`."""
    relative = host.key == "daily"
    items = "\n".join(
        f'<li><a href="{escape(story.path.lstrip("/") if relative else story.path)}">{escape(story.title)}</a></li>'
        for story in stories
    )
    base = f'<base href="{escape(base_url)}/">' if relative else ""
    return page(host, heading, f"<h1>{escape(heading)}</h1>\n<ul>\n{items}\n</ul>", now_ms, head=base)
