"""Seeds as values: entry URLs that are looked at again and again, and what may be stored of one."""

import msgspec

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType


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
    """Raise `PermanentError` (`invalid_seed`) with the reason when the seed may not be stored."""
    if seed.priority not in (None, 1, 2, 3):
        reason = f"priority {seed.priority} of {seed.url} is none of 1 (high), 2 (normal), 3 (low)"
        raise PermanentError(reason, code="invalid_seed")
    if seed.interval_ms < 1:
        raise PermanentError(f"the interval of {seed.url} is {seed.interval_ms} ms", code="invalid_seed")
