"""The digest of the last hours, gathered, and as Markdown for the UI. Titles are anybody's text and are escaped."""

import re
from urllib.parse import quote

from issuetracker_dagster.model.digest import HOUR_MS, Digest, DigestContent, DigestIssue, one_line, web_address
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.digests import Digests

HOURS = 24
TOP = 20
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:@])")
_BARS = " ▁▂▃▄▅▆▇█"
_SAMPLES = 3


def gather(digests: Digests, clock: Clock, hours: int = HOURS, top: int = TOP) -> Digest:
    """The top issues of the last hours. Raises `Unavailable`."""
    now_ms = clock.now_ms()
    since_ms = now_ms - hours * HOUR_MS
    return Digest(since_ms=since_ms, until_ms=now_ms, issues=tuple(digests.top(since_ms, top)))


def figures(issue: DigestIssue) -> str:
    """An issue in numbers, as every form of the digest tells them."""
    row = issue.issue
    contents = f"{row.content_count} content{'' if row.content_count == 1 else 's'}"
    sources = f"{row.source_count} source{'' if row.source_count == 1 else 's'}"
    return f"{row.state.value}, {contents}, {sources}, {row.velocity:.1f} an hour, trust {issue.trust:.2f}"


def sparkline(counts: list[int]) -> str:
    """Counts over time in block characters; any count shows."""
    most = max(counts, default=0)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most) if most else 0] for count in counts)


def markdown(digest: Digest) -> str:
    """The digest for the UI: an entry an issue, with its timeline and links to its newest contents."""
    if not digest.issues:
        return "Nothing has joined any issue in this time."
    return "\n".join(_entry(number, issue, digest) for number, issue in enumerate(digest.issues, 1))


def _entry(number: int, issue: DigestIssue, digest: Digest) -> str:
    links = "; ".join(_link(content) for content in issue.samples[:_SAMPLES])
    timeline = sparkline(digest.timeline(issue, 24)).replace(" ", "·")
    return f"{number}. **{plain(issue.issue.title)}**  \n   {figures(issue)}  \n   `{timeline}`  \n   {links}"


def _link(content: DigestContent) -> str:
    address = quote(web_address(content.url), safe=":/?&=%#,;~@!$'*+[]")
    text = plain(content.host)
    return f"[{text}](<{address}>)" if address else text


def plain(text: str) -> str:
    """Text from the web that Markdown shows as it is: no markup, no HTML, no link of its own making."""
    shown = _MARKS.sub(r"\\\1", one_line(text) or "(no title)")
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
