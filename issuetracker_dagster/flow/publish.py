"""Where URLs enter: dedupe, blacklist, priority, topic. Seeds, chained links and `issuetracker publish` come by here.

Retries, recrawls and redrives don't: they keep their priority and pass dedupe by.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from issuetracker_dagster.errors import RecordsRefused
from issuetracker_dagster.flow.dedupe import Dedupe, DedupeTimes
from issuetracker_dagster.flow.requests import Asked, Request, identified, name_of, passed_by
from issuetracker_dagster.flow.resolve import CompositePriorityResolver
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistMode
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl, ParameterRule, host_of
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import IngestionLock, Mark
from issuetracker_dagster.ports.topics import Producer
from issuetracker_dagster.ports.traces import PublishedJob

logger = logging.getLogger(__name__)

BATCH = 500
"""Most jobs between a pending marker and its confirmation, which have a minute."""

_Ready = tuple[Message, Outgoing, PublishedJob]


class Published(NamedTuple):
    """A crawl job that is out, as a message and as what is remembered of it."""

    message: Message
    job: PublishedJob


class Report(msgspec.Struct, frozen=True):
    """What became of a publish, by count, and the messages that are out now (in Kafka, or in the buffer before it)."""

    published: tuple[Message, ...] = ()
    known: int = 0
    blacklisted: int = 0
    malformed: int = 0


def _no_rules() -> HostTable[ParameterRule]:
    return HostTable(())


class Publisher:
    """Publishes crawl jobs through `producer`, which may put first publishes aside into the buffer.

    `blacklist` and `parameters` (what the query parameters of a host mean) give the tables of the moment; `published`
    is told what went out, batch by batch.
    """

    def __init__(
        self,
        *,
        producer: Producer,
        ingestion: IngestionLock,
        blacklist: Callable[[], HostTable[BlacklistMode]],
        resolver: CompositePriorityResolver,
        clock: Clock,
        times: DedupeTimes,
        published: Callable[[Sequence[Published]], None],
        parameters: Callable[[], HostTable[ParameterRule]] = _no_rules,
    ) -> None:
        self._producer = producer
        self._dedupe = Dedupe(ingestion, times)
        self._blacklist = blacklist
        self._resolver = resolver
        self._clock = clock
        self._published = published
        self._parameters = parameters

    def publish(self, requests: Iterable[Request]) -> Report:
        """Publish what is new and allowed, in the order given. Raises `PublishFailed` when it isn't acknowledged.

        Order of effects in each batch: pending markers, publish, full markers, a round trip each. After a failure the
        pending markers of the batch go, so that no URL is locked out; batches before it stay published. Raises
        `RecordsRefused` for jobs that Kafka never takes; the others of their batch are out and known then.
        """
        reports = [self._publish(batch) for batch in _batches(requests)]
        return Report(
            tuple(message for report in reports for message in report.published),
            sum(report.known for report in reports),
            sum(report.blacklisted for report in reports),
            sum(report.malformed for report in reports),
        )

    def priority_of(self, request: Request) -> Priority:
        """The priority with which that request would be published. Raises `BadUrl`."""
        return self._resolver.resolve(identified(request, self._parameters()).job, request.priority).priority

    def name_of(self, url: str) -> str:
        """The URL under which that page is published, known and stored. Raises `BadUrl`."""
        return name_of(url, self._parameters())

    def _publish(self, requests: Sequence[Request]) -> Report:
        parameters = self._parameters()
        asked = [each for request in requests if (each := _readable(request, parameters))]
        fresh = self._fresh(asked)
        try:
            blacklist = self._blacklist()
            judged = [(each, passed_by(each, blacklist)) for each in fresh]
            allowed = [passed for _, passed in judged if passed]
            ready = [self._ready(each) for each in allowed]
            refusal = self._send([record for _, record, _ in ready])
        except BaseException:
            self._dedupe.abandon(_marks(fresh))
            raise
        if refusal is not None:
            pairs = zip(allowed, ready, strict=True)
            out = [(each, sent) for each, sent in pairs if not refusal.includes(sent[1])]
            allowed, ready = [each for each, _ in out], [sent for _, sent in out]
        kept = set(map(id, allowed))
        self._dedupe.abandon(_marks(each for each, passed in judged if id(passed) not in kept))
        self._dedupe.confirm([(each.mark, each.job) for each in allowed if each.request.dedupe])
        self._tell(ready)
        if refusal is not None:
            raise refusal
        messages = tuple(message for message, _, _ in ready)
        return Report(messages, len(asked) - len(fresh), len(fresh) - len(allowed), len(requests) - len(asked))

    def _send(self, records: Sequence[Outgoing]) -> RecordsRefused | None:
        """Publish; returns what names those that Kafka never takes: the others are out then, and count as known."""
        try:
            if records:
                self._producer.publish(records)
        except RecordsRefused as error:
            return error
        return None

    def _fresh(self, asked: Sequence[Asked]) -> list[Asked]:
        """Those that nobody has published lately; a URL asked for twice is there once, with or without Redis."""
        seen: set[str] = set()
        answers = iter(self._dedupe.begin(_marks(asked)))
        fresh = []
        for each in asked:
            if each.request.dedupe:
                if not next(answers) or each.job.url in seen:
                    continue
                seen.add(each.job.url)
            fresh.append(each)
        return fresh

    def _ready(self, asked: Asked) -> _Ready:
        job, root_id = asked.job, asked.root_id
        resolution = self._resolver.resolve(job, asked.request.priority)
        host, now_ms = host_of(job.url), self._clock.now_ms()
        headers = Headers(
            root_id=root_id,
            priority=resolution.priority,
            crawler=job.crawler,
            target_type=job.target_type,
            timeout_ms=job.timeout_ms,
            trace_id=asked.request.trace_id or root_id,
            first_published_ms=now_ms,
        )
        message = Message(headers, host.encode(), encode_payload(job))
        row = PublishedJob(
            url=job.url,
            host=host,
            source=job.source,
            target_type=job.target_type,
            priority=int(resolution.priority),
            decided_by=resolution.decided_by,
            at_ms=now_ms,
        )
        return message, Outgoing.of(CRAWL_TOPICS[resolution.priority], message), row

    def _tell(self, ready: Sequence[_Ready]) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            for message, _, _ in ready:
                logger.debug("published", extra=action("message.published", root_id=message.headers.root_id))
        if ready:
            self._published([Published(message, job) for message, _, job in ready])


def _batches(requests: Iterable[Request]) -> Iterator[list[Request]]:
    remaining = iter(requests)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _readable(request: Request, parameters: HostTable[ParameterRule]) -> Asked | None:
    try:
        return identified(request, parameters)
    except BadUrl as error:
        logger.info("a URL was dropped: %s", error, extra=action("message.dropped", reason="bad_url"))
        return None


def _marks(asked: Iterable[Asked]) -> list[Mark]:
    return [each.mark for each in asked if each.request.dedupe]
