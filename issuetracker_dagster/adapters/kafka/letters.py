"""Single records of the DLQ by their place: for letters that are too large to be kept in the index."""

import threading

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import OffsetOutOfRangeError

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import (
    CLOSE_TIMEOUT_MS,
    KafkaConnection,
    failure_text,
    reaching,
)
from issuetracker_dagster.adapters.kafka.records import in_partition_order
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.letters import Letter
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.stage import Topic


class KafkaLetterReader:
    """`LetterReader` by a consumer without a group. Thread-safe; connects at the first call."""

    def __init__(self, connection: KafkaConnection, *, timeout_ms: int = 10_000) -> None:
        self._connection = connection
        self._timeout_ms = timeout_ms
        self._lock = threading.Lock()
        self._consumer: KafkaConsumer | None = None

    def read(self, letter: Letter) -> Record | None:
        doing = f"reading letter {letter.dlq_partition}:{letter.dlq_offset} of the DLQ"
        with self._lock, reaching(self._connection, doing):
            if self._consumer is None:
                self._consumer = opened(KafkaConsumer, self._connection.consumer_options())
            record = self._at(self._consumer, letter, doing)
        # A topic that was made anew has other records at the same places.
        return record if record is not None and record.origin.timestamp_ms == letter.logged_ms else None

    def close(self) -> None:
        with self._lock:
            if self._consumer is not None:
                self._consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)
                self._consumer = None

    def _at(self, consumer: KafkaConsumer, letter: Letter, doing: str) -> Record | None:
        partition = KafkaPartition(self._connection.topic_name(Topic.DLQ), letter.dlq_partition)
        consumer.assign([partition])
        first = consumer.beginning_offsets([partition], timeout_ms=self._timeout_ms)[partition]
        end = consumer.end_offsets([partition], timeout_ms=self._timeout_ms)[partition]
        if not first <= letter.dlq_offset < end:
            return None
        consumer.seek(partition, letter.dlq_offset)
        try:
            found = in_partition_order(self._connection, consumer.poll(timeout_ms=self._timeout_ms, max_records=1))
        except OffsetOutOfRangeError:
            return None  # removed since we asked
        if not found:
            raise Unavailable(failure_text(self._connection, doing, TimeoutError("the broker sent nothing")))
        return found[0] if found[0].origin.offset == letter.dlq_offset else None
