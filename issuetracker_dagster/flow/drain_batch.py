"""One batch out of a buffer into Kafka: what can't be a message, and what Kafka never takes, goes to the DLQ alone."""

import logging
from collections.abc import Callable, Sequence

import msgspec

from issuetracker_dagster.errors import Malformed, PublishFailed, RecordsRefused, Unavailable
from issuetracker_dagster.flow.buffer import release_marks
from issuetracker_dagster.flow.dead_letter import bury, dead_bytes, dead_letter
from issuetracker_dagster.model.buffer import decode_buffered
from issuetracker_dagster.model.drain import DrainTally
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import Buffer
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import IngestionLock
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)


class Job(msgspec.Struct, frozen=True):
    """A buffered job that decodes: the record as it goes to Kafka, and the same as a message."""

    buffered_ms: int
    record: Outgoing
    message: Message


def sort_entries(entries: Sequence[bytes]) -> tuple[list[Job], list[tuple[bytes, str]]]:
    """The jobs of a batch in order, and the entries that are none, each with the reason."""
    jobs: list[Job] = []
    undecodable: list[tuple[bytes, str]] = []
    for entry in entries:
        try:
            buffered = decode_buffered(entry)
            record = buffered.record
            message = Message(headers_from_raw(record.headers), record.key, record.value)
            jobs.append(Job(buffered.buffered_ms, record, message))
        except Malformed as error:
            undecodable.append((entry, str(error)))
    return jobs, undecodable


class NextInLine:
    """What lies next in a buffer, decoded while the batch before it is on its way. It may leave the buffer otherwise
    meanwhile, so what was taken counts, and this is only where it has been decoded already.
    """

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._entries: Sequence[bytes] = ()
        self._sorted = sort_entries(())

    def look(self, limit: int) -> None:
        """Decode up to `limit` entries ahead."""
        try:
            self._entries = self._buffer.peek(limit)
        except Unavailable:
            self._entries = ()  # whoever takes them is told
        self._sorted = sort_entries(self._entries)

    def sort(self, entries: Sequence[bytes]) -> tuple[list[Job], list[tuple[bytes, str]]]:
        """As `sort_entries`."""
        return self._sorted if entries == self._entries else sort_entries(entries)


def by_arrival(jobs: Sequence[Job], error: PublishFailed) -> tuple[list[Job], list[Job]]:
    """Those that the broker acknowledged, as far as is known, and those that it refused."""
    arrived = set(map(id, error.arrived))
    return [job for job in jobs if id(job.record) in arrived], [job for job in jobs if id(job.record) not in arrived]


class BatchPublisher:
    """Publishes the jobs of one band by the raw producer and counts them; `drained` is told what the broker has."""

    def __init__(
        self,
        band: str,
        name: str,
        *,
        producer: Producer,
        ingestion: IngestionLock,
        clock: Clock,
        tally: DrainTally,
        drained: Callable[[Sequence[Job]], None],
    ) -> None:
        self._band = band
        self._name = name
        self._drained = drained
        self._producer = producer
        self._ingestion = ingestion
        self._clock = clock
        self._tally = tally
        self._doubtful = 0

    def doubt(self, jobs: int) -> None:
        """The next so many jobs may be in Kafka already."""
        self._doubtful = max(self._doubtful, jobs)

    def bury(self, undecodable: Sequence[tuple[bytes, str]]) -> None:
        """Dead-letter entries by their bytes; raises `PublishFailed`."""
        if not undecodable:
            return
        now_ms = self._clock.now_ms()
        letters = [dead_bytes(self._name, entry, Stage.FETCH, "malformed", why, now_ms) for entry, why in undecodable]
        bury(self._producer, letters)
        self._dead_lettered(len(letters), undecodable[0][1])

    def publish(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Wait until the broker has acknowledged all; returns those that are to be counted yet.

        Raises `PublishFailed`; then some of them may be there, and those have been counted.
        """
        if not jobs:
            return ()
        try:
            self._producer.publish([job.record for job in jobs])
        except PublishFailed as error:
            self.count(by_arrival(jobs, error)[0])
            raise
        except RecordsRefused as error:
            arrived = [job for job in jobs if not error.includes(job.record)]
            self.count(arrived)
            self._give_up(
                [job.record for job in jobs if error.includes(job.record)], [job.record for job in arrived], error
            )
            return ()
        return jobs

    def count(self, jobs: Sequence[Job]) -> None:
        """The broker has these."""
        if not jobs:
            return
        now_ms = self._clock.now_ms()
        for job in jobs:
            self._tally.dwell.add(now_ms - job.buffered_ms)
        again = min(len(jobs), self._doubtful)
        self._doubtful -= again
        self._tally.repeated += again
        self._tally.published[self._band] += len(jobs)
        self._drained(jobs)
        logger.debug("drained", extra=action("drain.published", band=self._band, count=len(jobs)))

    def _give_up(self, refused: Sequence[Outgoing], arrived: Sequence[Outgoing], error: RecordsRefused) -> None:
        now_ms = self._clock.now_ms()
        letters = [dead_letter(record, Stage.FETCH, error.code, str(error), now_ms) for record in refused]
        try:
            bury(self._producer, letters)
        except PublishFailed as failed:
            # Only these are missing: the others of the batch mustn't wait and come again with them.
            raise PublishFailed(str(failed), arrived=arrived) from failed
        self._dead_lettered(len(refused), str(error))
        try:
            # As after a direct publish that fails: what was never published mustn't count as known.
            release_marks(self._ingestion, refused)
        except Unavailable as failed:
            logger.warning("a dedupe marker stays: %s", failed, extra=action("redis.unavailable"))

    def _dead_lettered(self, count: int, why: str) -> None:
        self._tally.dead_lettered += count
        logger.warning(
            "%d entries of %s went to the DLQ, the first because %s",
            count,
            self._name,
            why,
            extra=action("message.dead_lettered", band=self._band, count=count),
        )
