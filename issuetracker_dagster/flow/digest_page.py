"""The digest as one HTML page: nothing is loaded, nothing runs; dark where the system is, narrow on a phone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape

from issuetracker_dagster.flow.digest import figures
from issuetracker_dagster.model.digest import Digest, DigestContent, DigestIssue, one_line, web_address

BUCKETS = 48
_SAMPLES = 5
_HEIGHT, _STEP = 32, 5
# No script may run whatever a title manages to be: titles are escaped, and this would stop one that wasn't.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --dim: #63676d; --ground: #fbfbf9; --line: #dcdcd6; --bar: #2f6fb5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e3; --dim: #9a9ea5; --ground: #17191c; --line: #33363b; --bar: #6aa7e8; } }
body { margin: 0 auto; max-width: 46rem; padding: 1rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
p { margin: .2rem 0; } .dim, time { color: var(--dim); font-size: .875rem; }
ul { margin: .4rem 0 0; padding-left: 1.1rem; } a { color: inherit; }
svg { display: block; width: 100%; height: 2rem; margin: .4rem 0; } rect { fill: var(--bar); }
line { stroke: var(--line); }
""".strip()


def page(digest: Digest) -> str:
    """The whole page."""
    until, count = _moment(digest.until_ms), len(digest.issues)
    issues = "".join(_article(issue, digest) for issue in digest.issues)
    body = issues or "<p>Nothing has joined any issue in this time.</p>"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Issues of {until}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1>{count} issue{'' if count == 1 else 's'}, {until}</h1>\n"
        f'<p class="dim">Since {_moment(digest.since_ms)}; the fastest first.</p>\n{body}</body>\n</html>\n'
    )


def _article(issue: DigestIssue, digest: Digest) -> str:
    title = escape(one_line(issue.issue.title) or "(no title)")
    shown, more = issue.samples[:_SAMPLES], len(issue.hosts) - _SAMPLES
    entries = "".join(f"<li>{_content(content)}</li>\n" for content in shown)
    rest = f'<p class="dim">and {more} more source{"" if more == 1 else "s"}</p>\n' if more > 0 else ""
    return (
        f'<article>\n<h2 dir="auto">{title}</h2>\n<p class="dim">{escape(figures(issue))}</p>\n'
        f"{_timeline(digest.timeline(issue, BUCKETS))}<ul>\n{entries}</ul>\n{rest}</article>\n"
    )


def _content(content: DigestContent) -> str:
    title, host = escape(one_line(content.title) or "(no title)"), escape(one_line(content.host))
    address = escape(web_address(content.url))
    link = f'<a href="{address}" rel="noopener noreferrer nofollow">{title}</a>' if address else title
    return f'<span dir="auto">{link}</span> <span class="dim">{host}, {_moment(content.out_ms)}</span>'


def _timeline(counts: list[int]) -> str:
    width = _STEP * len(counts)
    bars = "".join(_bars(counts))
    return (
        f'<svg viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{sum(counts)} contents over this time">'
        f'{bars}<line x1="0" y1="{_HEIGHT}" x2="{width}" y2="{_HEIGHT}"/></svg>\n'
    )


def _bars(counts: list[int]) -> Iterator[str]:
    most = max(counts, default=0)
    for place, count in enumerate(counts):
        if count:
            height = max(2, round(_HEIGHT * count / most))
            yield f'<rect x="{place * _STEP}" y="{_HEIGHT - height}" width="{_STEP - 1}" height="{height}"/>'


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
