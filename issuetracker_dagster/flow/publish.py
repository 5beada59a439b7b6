"""Where URLs enter: dedupe, blacklist, priority, topic. Seeds, chained links and `issuetracker publish` come by here.

Retries, recrawls and redrives don't: they keep their priority and pass dedupe by.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence

import msgspec

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.resolve import CompositePriorityResolver
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import CrawlJob, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistMode
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl, host_of, normalise
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import IngestionLock
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A job to publish. `parent` names who asks (a page's root id, a seed and its due time): the same parent asking
    again gets the same root id, so that a repeated publish is recognised. `dedupe` False for jobs that must pass by.
    """

    job: CrawlJob
    parent: str
    priority: Priority | None = None
    trace_id: str = ""
    dedupe: bool = True


class Report(msgspec.Struct, frozen=True):
    """What became of a publish, by count, and the messages that are in Kafka now."""

    published: tuple[Message, ...] = ()
    known: int = 0
    blacklisted: int = 0
    malformed: int = 0


class DedupeTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long a published URL counts as known, in milliseconds; feeds and sitemaps count half their interval."""

    article_ms: int = 86_400_000
    category_ms: int = 60_000

    def ttl_ms(self, job: CrawlJob) -> int:
        if job.target_type is TargetType.ARTICLE:
            return self.article_ms
        if job.target_type is TargetType.CATEGORY or not job.interval_ms:
            return self.category_ms
        return job.interval_ms // 2


class Publisher:
    """Publishes crawl jobs. `blacklist` gives the table of the moment."""

    def __init__(
        self,
        *,
        producer: Producer,
        ingestion: IngestionLock,
        blacklist: Callable[[], HostTable[BlacklistMode]],
        resolver: CompositePriorityResolver,
        clock: Clock,
        times: DedupeTimes,
    ) -> None:
        self._producer = producer
        self._ingestion = ingestion
        self._blacklist = blacklist
        self._resolver = resolver
        self._clock = clock
        self._times = times

    def publish(self, requests: Iterable[Request]) -> Report:
        """Publish what is new and allowed. Raises `PublishFailed` when the broker doesn't acknowledge.

        Order of effects for each URL: pending marker, publish, full marker; after a failure the pending markers go, so
        that the URL isn't locked out.
        """
        begun: dict[tuple[str, str], Request] = {}
        try:
            return self._publish(requests, begun)
        except BaseException:
            self._abandon(begun.values())
            raise

    def _publish(self, requests: Iterable[Request], begun: dict[tuple[str, str], Request]) -> Report:
        known = blacklisted = malformed = 0
        fresh: list[tuple[Request, Message]] = []
        for request in requests:
            try:
                request = _normalised(request)
                # A marker may be taken again by its parent, so it doesn't tell a URL that is twice in this batch.
                named = request.parent, request.job.url
                if request.dedupe and (named in begun or not self._begin(request)):
                    known += 1
                    continue
                begun[named] = request
                judged = self._judge(request)
            except BadUrl as error:
                malformed += 1
                logger.info("a URL was dropped: %s", error, extra=action("message.dropped", reason="bad_url"))
                continue
            if judged is None:
                blacklisted += 1
                self._abandon([request])
                continue
            fresh.append((judged, self._message(judged)))
        self._send(fresh)
        return Report(tuple(message for _, message in fresh), known, blacklisted, malformed)

    def _judge(self, request: Request) -> Request | None:
        mode = self._blacklist().find(request.job.url)
        if mode is BlacklistMode.DROP:
            return None
        if mode is BlacklistMode.EXTRACT_LINKS_ONLY and request.job.target_type is TargetType.ARTICLE:
            job = msgspec.structs.replace(request.job, target_type=TargetType.CATEGORY)
            return msgspec.structs.replace(request, job=job)
        return request

    def _message(self, request: Request) -> Message:
        job = request.job
        root_id = root_id_of(request.parent, job.url)
        headers = Headers(
            root_id=root_id,
            priority=self._resolver.resolve(job, request.priority),
            crawler=job.crawler,
            target_type=job.target_type,
            timeout_ms=job.timeout_ms,
            trace_id=request.trace_id or root_id,
            first_published_ms=self._clock.now_ms(),
        )
        return Message(headers, host_of(job.url).encode(), encode_payload(job))

    def _send(self, fresh: Sequence[tuple[Request, Message]]) -> None:
        if not fresh:
            return
        self._producer.publish([Outgoing.of(CRAWL_TOPICS[m.headers.priority], m) for _, m in fresh])
        for request, message in fresh:
            self._confirm(request)
            logger.debug("published", extra=action("message.published", root_id=message.headers.root_id))

    def _begin(self, request: Request) -> bool:
        try:
            return self._ingestion.begin(request.job.url, request.parent)
        except Unavailable as error:
            # Publishing goes on without Redis: a URL fetched twice is better than a story missed.
            logger.warning("publishing without dedupe: %s", error, extra=action("publish.fallback"))
            return True

    def _confirm(self, request: Request) -> None:
        if not request.dedupe:
            return
        try:
            self._ingestion.confirm(request.job.url, request.parent, self._times.ttl_ms(request.job))
        except Unavailable as error:
            logger.warning("the dedupe marker stays short: %s", error, extra=action("publish.fallback"))

    def _abandon(self, requests: Iterable[Request]) -> None:
        for request in requests:
            if not request.dedupe:
                continue
            try:
                self._ingestion.abandon(request.job.url, request.parent)
            except Unavailable:
                # The pending marker ends by itself after a minute, and its parent may take it again before.
                logger.warning("pending dedupe markers stay for a minute", extra=action("publish.fallback"))
                return


def root_id_of(parent: str, url: str) -> str:
    """The root id of a URL found by `parent`: 96 bits of a hash, the same each time it is asked."""
    return hashlib.sha256(f"{parent}\n{url}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _normalised(request: Request) -> Request:
    job = msgspec.structs.replace(request.job, url=normalise(request.job.url))
    return msgspec.structs.replace(request, job=job)
