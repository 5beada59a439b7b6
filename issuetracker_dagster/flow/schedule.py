"""Due seeds become crawl jobs."""

import logging
import random

import msgspec

from issuetracker_dagster.flow.publish import Publisher, Request
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.seeds import Seeds

logger = logging.getLogger(__name__)

JITTER = 0.1
"""Share by which the next due time varies, so that seeds of one interval spread out."""


class ScheduleReport(msgspec.Struct, frozen=True):
    """How many seeds were due and how many of them were published (the rest were known a moment ago)."""

    due: int
    published: int


def publish_due_seeds(seeds: Seeds, publisher: Publisher, clock: Clock, limit: int = 200) -> ScheduleReport:
    """Publish every due seed, then set its next due time.

    Killed in between, a seed is published again under the same root id, which later stages recognise. Raises
    `PublishFailed` or `Unavailable`; seeds not reached stay due.
    """
    now_ms = clock.now_ms()
    due = seeds.due(now_ms, limit)
    published = 0
    for seed in due:
        report = publisher.publish([_request(seed)])
        published += len(report.published)
        seeds.scheduled(seed.seed_id, now_ms + _interval_ms(seed))
        logger.debug("seed %s", seed.url, extra=action("seed.published", source=seed.source))
    return ScheduleReport(len(due), published)


def _request(seed: Seed) -> Request:
    job = CrawlJob(
        url=seed.url,
        source=seed.source,
        target_type=seed.target_type,
        crawler=seed.crawler,
        timeout_ms=seed.timeout_ms,
        interval_ms=seed.interval_ms,
    )
    priority = Priority(seed.priority) if seed.priority is not None else None
    return Request(job=job, parent=f"seed:{seed.seed_id}:{seed.next_due_ms}", priority=priority)


def _interval_ms(seed: Seed) -> int:
    return int(seed.interval_ms * (1 + JITTER * (2 * random.random() - 1)))
