"""Seeds as values: entry URLs that are looked at again and again, what may be stored of one, and when it is due."""

import msgspec

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.durations import exact_duration
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.urls import BadUrl, spelled

MAX_URL = 2_000
"""Longest URL of a seed in characters; longer ones are nobody's feed."""
MAX_TIMEOUT_MS = 86_400_000
SHORTEN = 0.5
LENGTHEN = 1.2


class Seed(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduled entry URL. `priority` None goes through the resolver chain.

    `interval_ms` is the present interval: with bounds (`min_interval_ms` <= `max_interval_ms`, 0 = none) it adapts to
    how often the page changes, told by `body_sha256`, the page as it was at the last look. A page that wasn't fetched
    for `freshness_ms` (0 = no target) is asked for at high priority; its age counts from `since_ms`, when the seed was
    added or last switched on, at the earliest. `published_ms` is when it was last published, 0 = never.
    """

    seed_id: int = 0
    url: str
    source: str
    target_type: TargetType = TargetType.FEED
    crawler: str = ""
    interval_ms: int = 600_000
    timeout_ms: int = 30_000
    priority: int | None = None
    enabled: bool = True
    next_due_ms: int = 0
    min_interval_ms: int = 0
    max_interval_ms: int = 0
    freshness_ms: int = 0
    body_sha256: str = ""
    since_ms: int = 0
    published_ms: int = 0


def check_seed(seed: Seed) -> None:
    """Raise `PermanentError` (`invalid_seed`) with the first reason when the seed may not be stored."""
    for _, reason in seed_faults(seed):
        raise PermanentError(reason, code="invalid_seed")


def seed_faults(seed: Seed) -> list[tuple[str, str]]:
    """Every reason why the seed may not be stored, as (field, what to write instead); empty for a good one."""
    where = f"of {seed.url[:200]}"
    faults: list[tuple[str, str]] = []
    try:
        normal = spelled(seed.url)
        if normal != seed.url:
            faults.append(("url", f"the URL {where} must be written as {normal[:200]}"))
    except BadUrl as error:
        faults.append(("url", f"{error}; write the whole URL, such as https://news.example.com/rss"))
    if len(seed.url) > MAX_URL:
        faults.append(("url", f"the URL {where} has {len(seed.url)} characters; at most {MAX_URL}"))
    if not seed.source.strip():
        faults.append(("source", f"the source {where} is empty; name who publishes it, such as `example-news`"))
    if seed.priority not in (None, 1, 2, 3):
        faults.append(("priority", f"priority {seed.priority} {where} is none of 1 (high), 2 (normal), 3 (low)"))
    if seed.interval_ms < 1:
        faults.append(("every", f"the interval {where} is {seed.interval_ms} ms; write one such as 10m"))
    if not 1 <= seed.timeout_ms <= MAX_TIMEOUT_MS:
        said = f"the timeout {where} is {seed.timeout_ms} ms; write one such as 30s, at most"
        faults.append(("timeout", f"{said} {exact_duration(MAX_TIMEOUT_MS)}"))
    faults += _bounds_faults(seed, where)
    if seed.freshness_ms < 0:
        faults.append(
            ("freshness", f"the freshness {where} is {seed.freshness_ms} ms; write 0 for none, or such as 6h")
        )
    longest_ms = max(seed.interval_ms, seed.max_interval_ms)
    if 0 < seed.freshness_ms < longest_ms:
        faults.append(
            (
                "freshness",
                f"freshness {exact_duration(seed.freshness_ms)} {where} is shorter than its longest interval "
                f"{exact_duration(longest_ms)}: it would be stale before each look, and always crawled at high "
                f"priority; write a freshness of {exact_duration(2 * longest_ms)}, or shorter intervals",
            )
        )
    return faults


def _bounds_faults(seed: Seed, where: str) -> list[tuple[str, str]]:
    low, high = seed.min_interval_ms, seed.max_interval_ms
    if (low, high) == (0, 0):
        return []
    if low < 1 or high < 1:
        return [("min" if low < 1 else "max", f"bounds {where} come in pairs: write both min and max, or neither")]
    if low <= seed.interval_ms <= high:
        return []
    written = ", ".join(f"{name} {exact_duration(ms)}" for name, ms in (("min", low), ("max", high)))
    every = exact_duration(seed.interval_ms)
    return [("every", f"interval {every} {where} is outside its bounds ({written}); write min <= every <= max")]


def next_interval_ms(seed: Seed, body_sha256: str, fetched_ms: int) -> int:
    """The interval after a look at the stored page (hash and date; empty and 0 when there is none).

    Another hash than at the last look: interval x 0.5. The same hash of a page fetched since it was last asked for:
    interval x 1.2. Otherwise nothing was learned and it stays. Always inside the bounds; without bounds it is fixed.
    Quick to shorten, slow to lengthen, like congestion control the other way round: it settles where
    0.5^p x 1.2^(1-p) = 1, at a page that is changed in a share p = 0.21 of the looks.
    """
    low, high = seed.min_interval_ms, seed.max_interval_ms
    if not high or not body_sha256 or not seed.body_sha256:
        return seed.interval_ms
    if body_sha256 != seed.body_sha256:
        return max(low, int(seed.interval_ms * SHORTEN))
    if fetched_ms >= seed.published_ms:
        return min(high, int(seed.interval_ms * LENGTHEN) + 1)
    return seed.interval_ms


def fresh_until_ms(seed: Seed, fetched_ms: int) -> int | None:
    """When the page becomes stale, given when it was last fetched (0 = never); None without a target."""
    return max(fetched_ms, seed.since_ms) + seed.freshness_ms if seed.freshness_ms else None


def is_stale(seed: Seed, fetched_ms: int, now_ms: int) -> bool:
    """Whether the page of a seed that is switched on is older than its target."""
    until_ms = fresh_until_ms(seed, fetched_ms)
    return seed.enabled and until_ms is not None and until_ms <= now_ms


def may_hurry(seed: Seed, now_ms: int) -> bool:
    """Whether enough time has passed since the last try to ask urgently again, so that a dead site isn't hammered.

    That is half the freshness target, or the lower bound of the interval when that is longer.
    """
    return now_ms - seed.published_ms >= max(seed.freshness_ms // 2, seed.min_interval_ms)
