"""When entries of feeds and sitemaps are from, and the order that follows: the newest first.

An entry's own date counts unless it lies after the fetch, which is a fault of the site that would keep the entry ahead
of all news. Without one, the day in its address does.
"""

import re
from calendar import monthrange
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from math import inf

import msgspec

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.stages.parser.links import Link

_DAY_IN_PATH = re.compile(r"/(20\d\d)(?:([/-])(\d\d)\2(\d\d)|(\d\d)(\d\d))(?=[/_.-]|$)")
_PERIOD_IN_ADDRESS = re.compile(r"(?<!\d)(20\d\d)(?:[/_-]?(0[1-9]|1[0-2])(?:[/_-]?(0[1-9]|[12]\d|3[01]))?)?(?!\d)")
_AHEAD_MS = 86_400_000
"""A day: dates whose zone is missing or wrong are up to 14 hours ahead."""


def newest_first(links: Iterable[Link], fetched_ms: int = 0) -> list[Link]:
    """Links by date, newest first, then those without one in the order given; dates that can't be are put right.

    Sitemaps without one go by the year, month or day in their address, after those without any: of an archive's
    hundreds the last are wanted first, but none is left out for its name. `fetched_ms` 0: not known, every date can be.
    """
    dated = [msgspec.structs.replace(link, published_ms=_moment(link, fetched_ms)) for link in links]
    return sorted(dated, key=lambda link: (-link.published_ms, -_period_ms(link)))


def _moment(link: Link, fetched_ms: int) -> int:
    """A day in the address counts as its end, so that nothing is taken for older than it is, but not for newer than
    the fetch."""
    told_ms = link.published_ms
    if told_ms and not (fetched_ms and told_ms > fetched_ms + _AHEAD_MS):
        return told_ms
    match = _DAY_IN_PATH.search(link.url.partition("?")[0])
    if match is None or link.target_type is not TargetType.ARTICLE:
        return 0
    end_ms = _end_ms(match[1], match[3] or match[5], match[4] or match[6])
    return min(end_ms, fetched_ms) if fetched_ms else end_ms


def _period_ms(link: Link) -> float:
    """The end of the last period that a sitemap's address names; one that names none goes on."""
    if link.target_type is not TargetType.SITEMAP or link.published_ms:
        return 0
    return max((_end_ms(*named) for named in _PERIOD_IN_ADDRESS.findall(link.url)), default=inf)


def _end_ms(year: str, month: str, day: str) -> int:
    """The end of a day, month or year; 0 for none of any calendar."""
    try:
        begin = datetime(int(year), int(month or 12), int(day or 1), tzinfo=UTC)
    except ValueError:
        return 0
    length = timedelta(days=1 if day else monthrange(begin.year, begin.month)[1])
    return int((begin + length).timestamp() * 1000) - 1
