"""First publishes of normal and low jobs wait in the buffer; all else, and everything without Redis, goes to Kafka.

Only the publisher uses this producer. Retries, recrawls, redrives and what stages forward take the raw one: a job that
came out of the buffer never goes back in.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from issuetracker_dagster.errors import Malformed, RecordsRefused, Unavailable
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import Buffer
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import IngestionLock, Mark
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)

TELL_EVERY_S = 10.0
"""How often at most a buffer that overflows is told about."""


class BufferingProducer:
    """`Producer` in front of the raw one. `buffers` by the short name of their topic. Thread-safe.

    `is_on` is asked once a publish; while it can't tell, buffering counts as off. `buffered` is told what was put
    aside. Order is kept inside a call and a topic. Jobs that go straight to Kafka because Redis fails overtake those in
    the buffer.
    """

    def __init__(
        self,
        *,
        raw: Producer,
        buffers: Mapping[str, Buffer],
        is_on: Callable[[], bool],
        clock: Clock,
        buffered: Callable[[Sequence[Outgoing]], None],
    ) -> None:
        self._raw = raw
        self._buffers = dict(buffers)
        self._is_on = is_on
        self._outages = _Outages(clock)
        self._clock = clock
        self._buffered = buffered

    def publish(self, records: Sequence[Outgoing]) -> None:
        """As the port says: a job in the buffer counts as published.

        What goes straight to Kafka goes first: when the broker refuses it, nothing has been put aside that would be
        published again with the rest.
        """
        if not records:
            return
        aside = self._put_aside_by_topic(records)
        straight = [record for record in records if record.topic not in aside]
        errors = [self._send(straight)]
        # A record that its topic never takes mustn't keep the others of its batch from going on.
        errors += [self._store(self._buffers[topic], waiting) for topic, waiting in aside.items()]
        refusals = [error for error in errors if error is not None]
        if refusals:
            refused = [record for error in refusals for record in error.refused]
            raise RecordsRefused(str(refusals[0]), refused=refused)

    def close(self) -> None:
        """Close the raw producer."""
        self._raw.close()

    def _put_aside_by_topic(self, records: Sequence[Outgoing]) -> dict[str, list[Outgoing]]:
        aside: dict[str, list[Outgoing]] = {}
        for record in records:
            if record.topic in self._buffers:
                aside.setdefault(record.topic, []).append(record)
        if not aside:
            return aside
        try:
            is_on = self._is_on()
        except Unavailable as error:
            self._outages.failed(sum(map(len, aside.values())), error)
            return {}
        if not is_on:
            self._outages.worked()
            return {}
        return aside

    def _store(self, buffer: Buffer, records: Sequence[Outgoing]) -> RecordsRefused | None:
        now_ms = self._clock.now_ms()
        try:
            fell_out = buffer.push([encode_buffered(BufferedJob(now_ms, record)) for record in records])
        except Unavailable as error:
            # Its reply may only have been lost: then the copy in the buffer is told by its identity.
            self._outages.failed(len(records), error)
            return self._send(records)
        self._outages.worked()
        self._buffered(records)
        logger.debug("buffered", extra=action("buffer.stored", buffer=buffer.name, count=len(records)))
        if fell_out:
            self._outages.overflowed(buffer.name, fell_out)
        return None

    def _send(self, records: Sequence[Outgoing]) -> RecordsRefused | None:
        """Publish past the buffer. Returns what the broker refuses for ever; the others were acknowledged then."""
        if not records:
            return None
        try:
            self._raw.publish(records)
        except RecordsRefused as error:
            return error
        return None


def release_marks(ingestion: IngestionLock, records: Sequence[Outgoing]) -> None:
    """Let the URLs of these first publishes be published again, since they never reached Kafka; raises `Unavailable`.

    Records without an identity or a URL have no marker that could be found.
    """
    marks: list[Mark] = []
    for record in records:
        try:
            marks.append(Mark(decode_payload(CrawlJob, record.value).url, headers_from_raw(record.headers).root_id))
        except Malformed:
            continue
    if marks:
        ingestion.release(marks)


class _Outages:
    """Tells about an outage when it begins and when it is over, and about overflow every few seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._passed: int | None = None
        self._fallen: dict[str, int] = {}
        self._told: dict[str, float] = {}

    def failed(self, jobs: int, error: Unavailable) -> None:
        with self._lock:
            first, self._passed = self._passed is None, (self._passed or 0) + jobs
        if first:
            logger.warning(
                "crawl jobs go straight to Kafka, %d so far: %s",
                jobs,
                error,
                extra=action("publish.fallback", count=jobs),
            )

    def worked(self) -> None:
        with self._lock:
            passed, self._passed = self._passed, None
        if passed is not None:
            logger.warning(
                "Redis is back; %d crawl jobs went straight to Kafka meanwhile",
                passed,
                extra=action("publish.fallback", count=passed),
            )

    def overflowed(self, name: str, jobs: int) -> None:
        with self._lock:
            count = self._fallen[name] = self._fallen.get(name, 0) + jobs
            now = self._clock.monotonic()
            if now - self._told.get(name, -TELL_EVERY_S) < TELL_EVERY_S:
                return
            self._told[name], self._fallen[name] = now, 0
        logger.warning(
            "%s is full; %d of its oldest jobs are on their way to the DLQ",
            name,
            count,
            extra=action("buffer.trimmed", buffer=name, count=count),
        )
