"""Which URLs are new: the markers of a publish, for how long they last, and what holds when Redis is out.

Publishing goes on without Redis, since a URL fetched twice is better than a story missed. So nothing here raises
`Unavailable`.
"""

import logging
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.locks import IngestionLock, Mark

logger = logging.getLogger(__name__)


class DedupeTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long a published URL counts as known, in milliseconds; feeds and sitemaps count half their interval."""

    article_ms: int = 86_400_000
    category_ms: int = 60_000

    def ttl_ms(self, job: CrawlJob) -> int:
        """Time of the full marker of that job. What is crawled at an interval is free again when it falls due."""
        if job.target_type is TargetType.ARTICLE:
            return self.article_ms
        if not job.interval_ms:
            return self.category_ms
        half_ms = max(1, job.interval_ms // 2)
        return min(self.category_ms, half_ms) if job.target_type is TargetType.CATEGORY else half_ms


class Dedupe:
    """The dedupe markers of a batch: `begin`, publish what is new, then `confirm`, or `abandon` what didn't go out."""

    def __init__(self, ingestion: IngestionLock, times: DedupeTimes) -> None:
        self._ingestion = ingestion
        self._times = times

    def begin(self, marks: Sequence[Mark]) -> Sequence[bool]:
        """Which of these may be published; one round trip."""
        if not marks:
            return ()
        try:
            return self._ingestion.begin(marks)
        except Unavailable as error:
            logger.warning("publishing without dedupe: %s", error, extra=action("publish.fallback", count=len(marks)))
            return [True] * len(marks)

    def confirm(self, published: Sequence[tuple[Mark, CrawlJob]]) -> None:
        """These are out; one round trip."""
        if not published:
            return
        try:
            self._ingestion.confirm([(mark, self._times.ttl_ms(job)) for mark, job in published])
        except Unavailable as error:
            logger.warning("dedupe markers stay short: %s", error, extra=action("publish.fallback"))

    def abandon(self, marks: Sequence[Mark]) -> None:
        """These didn't go out: whoever asks next may publish them."""
        if not marks:
            return
        try:
            self._ingestion.abandon(marks)
        except Unavailable:
            # A pending marker ends by itself after a minute, and its owner may take it again before.
            logger.warning("pending dedupe markers stay for a minute", extra=action("publish.fallback"))
