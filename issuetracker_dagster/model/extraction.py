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
STALE_MISSES = 10
"""Pages within the window on which a rule found nothing, from which on it counts as stale."""
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
        return self.missed >= STALE_MISSES


class HostYield(msgspec.Struct, frozen=True, kw_only=True):
    """What a host's pages yield: fields that got lost, and the mean share of replacement characters."""

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


def host_yields(pages: Iterable[ParsedPage], before: Iterable[ParsedPage]) -> list[HostYield]:
    """What each host of `pages` yields, compared with its pages `before`, by host."""
    now, then = _by_host(pages), _by_host(before)
    return [
        HostYield(
            host=host,
            pages=len(found),
            lost=_lost(found, then.get(host, [])),
            garbled=sum(page.replacement_share for page in found) / len(found),
            samples=tuple(page.url for page in found[:SAMPLES]),
        )
        for host, found in sorted(now.items())
    ]


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


def _shares(pages: Sequence[ParsedPage]) -> dict[str, float]:
    counts: dict[str, int] = defaultdict(int)
    for page in pages:
        for name in page.fields:
            counts[name] += 1
    return {name: count / len(pages) for name, count in counts.items()}
