"""What a test sees of crawl jobs from outside: the topics, read without a group, and the writes into the buffers."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

import msgspec
import redis
from kafka import KafkaConsumer, TopicPartition

from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.adapters.kafka.records import in_partition_order
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.waiting import eventually

T = TypeVar("T")
_TOPICS = (*CRAWL_TOPICS.values(), Topic.NORMALIZED)


class Seen(msgspec.Struct, frozen=True):
    """A crawl job as it lies in Kafka."""

    job: CrawlJob
    topic: str
    headers: dict[str, str]

    @property
    def root_id(self) -> str:
        return self.headers["root_id"]

    @property
    def is_upgraded(self) -> bool:
        return self.job.metadata.get("upgrade") == "rendering"


class CrawlWatch:
    """Reads everything that comes from its making on; nothing is committed, and no group knows of it."""

    def __init__(self, connection: KafkaConnection, redis_url: str) -> None:
        self._connection = connection
        self._consumer = KafkaConsumer(**connection.consumer_options())
        partitions = [
            TopicPartition(name, number)
            for name in map(connection.topic_name, _TOPICS)
            for number in sorted(self._consumer.partitions_for_topic(name) or ())
        ]
        self._consumer.assign(partitions)
        for partition, offset in self._consumer.end_offsets(partitions).items():
            self._consumer.seek(partition, offset)
        self._jobs: list[Seen] = []
        self._parsed: set[str] = set()
        self._client = redis.Redis.from_url(redis_url)
        self._pushes: list[str] = []

    def until(self, condition: Callable[[], T], timeout_s: float) -> T:
        """Go on reading until the condition holds."""

        def looked() -> T:
            self._read()
            return condition()

        return eventually(looked, timeout_s)

    def jobs_of(self, trace_id: str) -> list[Seen]:
        """The jobs that a page led to, as they were first published, in the order seen."""
        found = [seen for seen in self._jobs if seen.headers["trace_id"] == trace_id and seen.root_id != trace_id]
        return [seen for seen in found if seen.headers["generation"] == "0"]

    def is_parsed(self, jobs: Sequence[Seen]) -> bool:
        """Whether the pages of all these jobs have left the parser."""
        return {job.root_id for job in jobs} <= self._parsed

    def came_by_buffer(self, job: Seen) -> bool:
        """Whether the job was written into a buffer before."""
        return any(job.root_id in push for push in self._pushes)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Note all pushes into the buffers for the length of the block."""
        with self._client.monitor() as monitor:  # type: ignore[no-untyped-call]
            listener = threading.Thread(target=self._listen, args=(monitor,), daemon=True)
            listener.start()
            try:
                yield
            finally:
                monitor.connection.disconnect()
                listener.join(10)

    def close(self) -> None:
        self._consumer.close(autocommit=False)
        self._client.close()

    def _listen(self, monitor: redis.client.Monitor) -> None:
        with suppress(redis.ConnectionError, ValueError, OSError, AttributeError):  # how a closed connection says so
            for one in monitor.listen():  # type: ignore[no-untyped-call]
                if one["command"].startswith("RPUSH publisher:buffer:"):
                    self._pushes.append(one["command"])

    def _read(self) -> None:
        for record in in_partition_order(self._connection, self._consumer.poll(timeout_ms=200)):
            if record.origin.topic == Topic.NORMALIZED:
                self._parsed.add(_headers(record)["root_id"])
            else:
                job = decode_payload(CrawlJob, record.value)
                self._jobs.append(Seen(job, record.origin.topic, _headers(record)))


@contextmanager
def watching(wiring: Wiring) -> Iterator[CrawlWatch]:
    """A watch over the topics and buffers of these servers."""
    watch = CrawlWatch(wiring.kafka, wiring.endpoints.redis)
    try:
        with watch.listening():
            yield watch
    finally:
        watch.close()


def _headers(record: Record) -> dict[str, str]:
    return {name: value.decode() for name, value in record.headers}
