"""How many records a topic got within a while: what dead letters are held against."""

import threading
from collections.abc import Mapping, Sequence

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import CLOSE_TIMEOUT_MS, KafkaConnection, reaching


class KafkaArrivals:
    """Counts by the time of records, with a client that stays open. Thread-safe; connects at the first call."""

    def __init__(self, connection: KafkaConnection, *, timeout_ms: int = 2_000) -> None:
        self._connection = connection
        self._timeout_ms = timeout_ms
        self._lock = threading.Lock()
        self._consumer: KafkaConsumer | None = None

    def since(self, topics: Sequence[str], timestamp_ms: int) -> Mapping[str, int]:
        """Records of each topic from the first one of that time on; raises `Unavailable`."""
        counts = dict.fromkeys(topics, 0)
        with self._lock, reaching(self._connection, "counting what arrived in topics"):
            if self._consumer is None:
                self._consumer = opened(KafkaConsumer, self._connection.consumer_options())
            partitions = [
                KafkaPartition(name, number)
                for name in map(self._connection.topic_name, topics)
                for number in sorted(self._consumer.partitions_for_topic(name) or ())
            ]
            wanted = dict.fromkeys(partitions, max(0, timestamp_ms))
            first = self._consumer.offsets_for_times(wanted, timeout_ms=self._timeout_ms)
            end = self._consumer.end_offsets(partitions, timeout_ms=self._timeout_ms)
        for partition in partitions:
            found = first.get(partition)
            if found is not None:
                counts[self._connection.short_name(partition.topic)] += max(0, end[partition] - found.offset)
        return counts

    def close(self) -> None:
        with self._lock:
            if self._consumer is not None:
                self._consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)
                self._consumer = None
