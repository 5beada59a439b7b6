"""What parsing yields by host: rules that find nothing any more, fields that got lost, and text that came out garbled.

Pure figures out of parsed pages; `defs.extraction_checks` tells them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from issuetracker_dagster.model.marks import MARKS

WINDOW_MS = 7_200_000
"""Pages fetched within the last two hours are judged."""
BEFORE_MS = 86_400_000
"""Those of the day before show what a host used to have."""
LOST_FOR_MS = 7 * 86_400_000
"""How long a loss is told while the field stays away. What a site gave up for good is then what it has."""
LOST_HOSTS = 500
"""Hosts whose losses are remembered, those noticed last."""
STALE_MISSES, STALE_SHARE = 10, 0.2
"""Pages within the window on which a rule found nothing, and their share of all it was asked for, from which on it
counts as stale. A few pages of another kind are on every site."""
FEW = 10
"""Pages below which nothing is said of a host's fields: three of four pages say nothing."""
USUAL, RARE = 0.8, 0.2
"""A field that was on so large a share of the pages before and is on so small a one now got lost."""
GARBLED = 0.01
"""Mean share of replacement characters above which text counts as garbled: one in a hundred can be seen."""
SAMPLES = 3
_NO_FIELDS = frozenset({"rule", *MARKS})


class ParsedPage(msgspec.Struct, frozen=True, kw_only=True):
    """One parsed page. `sources` is the content's `field_sources`: what produced each field, and whether the rule was
    `used:<id>` or `missed:<id>`."""

    host: str
    url: str
    sources: Mapping[str, str] = {}
    replacement_share: float = 0.0

    @property
    def fields(self) -> Iterable[str]:
        """Fields that were found and kept."""
        return (
            name for name, origin in self.sources.items() if name not in _NO_FIELDS and not origin.startswith("cleared")
        )


class RuleYield(msgspec.Struct, frozen=True, kw_only=True):
    """How often a rule of a host found something within the window, how often nothing, and on which pages that was."""

    host: str
    rule_id: str
    used: int
    missed: int
    samples: tuple[str, ...]

    @property
    def is_stale(self) -> bool:
        return self.missed >= STALE_MISSES and self.missed >= STALE_SHARE * (self.missed + self.used)

    @property
    def misses_some(self) -> bool:
        """Whether it found nothing on many pages, but on a small share of all."""
        return self.missed >= STALE_MISSES and not self.is_stale


class HostYield(msgspec.Struct, frozen=True, kw_only=True):
    """What a host's pages yield: fields that got lost and aren't back, and the mean share of replacement characters."""

    host: str
    pages: int
    lost: tuple[str, ...]
    garbled: float
    samples: tuple[str, ...]

    @property
    def is_garbled(self) -> bool:
        return self.pages >= FEW and self.garbled > GARBLED


def rule_yields(pages: Iterable[ParsedPage]) -> list[RuleYield]:
    """What each rule yields on each host, most misses first."""
    asked: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: {"used": [], "missed": []})
    for page in pages:
        became, _, rule_id = page.sources.get("rule", "").partition(":")
        if became in ("used", "missed"):
            asked[page.host, rule_id][became].append(page.url)
    found = [
        RuleYield(
            host=host, rule_id=rule_id, used=len(urls["used"]), missed=len(urls["missed"]),
            samples=tuple(urls["missed"][:SAMPLES]),
        )
        for (host, rule_id), urls in asked.items()
    ]  # fmt: skip
    return sorted(found, key=lambda rule: (-rule.missed, rule.host, rule.rule_id))


LostFields = Mapping[str, Mapping[str, int]]
"""Fields by host that got lost and aren't back yet, and when (Unix milliseconds) that was noticed."""


def host_yields(
    pages: Iterable[ParsedPage], before: Iterable[ParsedPage], known: LostFields | None = None
) -> list[HostYield]:
    """What each host of `pages` yields, compared with its pages `before`, by host.

    Fields that are `known` to be lost stay so until they are back, however many broken pages `before` holds by now;
    their hosts are among the result without any page, too.
    """
    now, then, known = _by_host(pages), _by_host(before), known or {}
    return [
        HostYield(
            host=host,
            pages=len(found),
            lost=tuple(sorted({*_lost(found, then.get(host, [])), *_still_lost(found, known.get(host, {}))})),
            garbled=sum(page.replacement_share for page in found) / len(found) if found else 0.0,
            samples=tuple(page.url for page in found[:SAMPLES]),
        )
        for host in sorted(now.keys() | known.keys())
        for found in [now.get(host, [])]
    ]


def remember_lost(known: LostFields, hosts: Iterable[HostYield], now_ms: int) -> LostFields:
    """What is lost after a look that found `hosts`, the last `LOST_HOSTS`; each since it was noticed first."""
    lost = {host.host: {name: known.get(host.host, {}).get(name, now_ms) for name in host.lost} for host in hosts}
    latest = sorted((host for host in lost if lost[host]), key=lambda host: max(lost[host].values()), reverse=True)
    return {host: lost[host] for host in latest[:LOST_HOSTS]}


def lately_lost(known: LostFields, now_ms: int) -> LostFields:
    """Without what was noticed longer than `LOST_FOR_MS` ago."""
    kept = {
        host: {name: since_ms for name, since_ms in fields.items() if now_ms - since_ms < LOST_FOR_MS}
        for host, fields in known.items()
    }
    return {host: fields for host, fields in kept.items() if fields}


def _by_host(pages: Iterable[ParsedPage]) -> dict[str, list[ParsedPage]]:
    found: dict[str, list[ParsedPage]] = defaultdict(list)
    for page in pages:
        found[page.host].append(page)
    return found


def _lost(now: Sequence[ParsedPage], before: Sequence[ParsedPage]) -> tuple[str, ...]:
    if min(len(now), len(before)) < FEW:
        return ()
    shares = _shares(now)
    usual = (name for name, share in _shares(before).items() if share >= USUAL)
    return tuple(sorted(name for name in usual if shares.get(name, 0.0) <= RARE))


def _still_lost(now: Sequence[ParsedPage], known: Iterable[str]) -> Iterable[str]:
    shares = _shares(now) if len(now) >= FEW else {}
    return [name for name in known if shares.get(name, 0.0) <= RARE]


def _shares(pages: Sequence[ParsedPage]) -> dict[str, float]:
    counts: dict[str, int] = defaultdict(int)
    for page in pages:
        for name in page.fields:
            counts[name] += 1
    return {name: count / len(pages) for name, count in counts.items()}
