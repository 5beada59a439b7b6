"""The digest: which issues moved in the last hours, as values; and text from the web made fit for showing."""

import re
import unicodedata
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.model.records import Issue

HOUR_MS = 3_600_000
_BLANKS = re.compile(r"\s+")


class DigestContent(msgspec.Struct, frozen=True, kw_only=True):
    """A content of an issue. `out_ms` is when it came out, or was seen for want of a date."""

    title: str
    url: str
    host: str
    out_ms: int
    trust: float


class DigestIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue with its contents, newest first. `trust` is their mean."""

    issue: Issue
    contents: tuple[DigestContent, ...]

    @property
    def trust(self) -> float:
        return sum(content.trust for content in self.contents) / max(1, len(self.contents))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Its sources, the one with most contents first."""
        counts: dict[str, int] = {}
        for content in self.contents:
            counts[content.host] = counts.get(content.host, 0) + 1
        return tuple(sorted(counts, key=lambda host: (-counts[host], host)))

    @property
    def samples(self) -> tuple[DigestContent, ...]:
        """The newest content of each source, newest first."""
        by_host: dict[str, DigestContent] = {}
        for content in self.contents:
            by_host.setdefault(content.host, content)
        return tuple(by_host.values())


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """The top issues between two moments, the fastest first."""

    since_ms: int
    until_ms: int
    issues: tuple[DigestIssue, ...]

    def timeline(self, issue: DigestIssue, buckets: int) -> list[int]:
        """How many contents came out in each of so many equal parts of the time; what is older counts nowhere."""
        return counted_over_time([content.out_ms for content in issue.contents], self.since_ms, self.until_ms, buckets)


def counted_over_time(times_ms: Sequence[int], since_ms: int, until_ms: int, buckets: int) -> list[int]:
    """How many of the times fall into each of so many equal parts, the end included in the last."""
    counts = [0] * buckets
    span_ms = max(1, until_ms - since_ms)
    for at_ms in times_ms:
        if since_ms <= at_ms <= until_ms:
            counts[min(buckets - 1, (at_ms - since_ms) * buckets // span_ms)] += 1
    return counts


def one_line(text: str, longest: int = 300) -> str:
    """Text from the web on one line: without control and direction characters, which could disguise what follows."""
    shown = "".join(
        sign if unicodedata.category(sign) not in ("Cc", "Cf", "Cs") else " " for sign in text[: 4 * longest]
    )
    line = _BLANKS.sub(" ", shown).strip()
    return line if len(line) <= longest else line[: longest - 1] + "…"


def web_address(url: str) -> str:
    """The URL if a browser may be sent there from a report, else nothing: `javascript:` and the like are no pages."""
    return one_line(url, 2_000) if url.startswith(("http://", "https://")) else ""
