"""How far a group is behind: what the drainer and the seed throttle ask before they send more."""

import threading
from collections.abc import Mapping, Sequence

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import CLOSE_TIMEOUT_MS, KafkaConnection, failure_text, reaching
from issuetracker_dagster.adapters.kafka.offsets import GroupOffsets
from issuetracker_dagster.errors import LagUnknown, TopicMissing
from issuetracker_dagster.ports.topics import TopicPartition


class KafkaLag:
    """`Lag` by two clients that stay open. Thread-safe; connects at the first call.

    `timeout_ms` bounds each of the three questions to the broker; one that hangs without closing its connections costs
    ten seconds when they are made anew.
    """

    def __init__(self, connection: KafkaConnection, *, timeout_ms: int = 2_000) -> None:
        self._connection = connection
        self._timeout_ms = timeout_ms
        self._lock = threading.Lock()
        self._offsets = GroupOffsets(connection, timeout_ms=timeout_ms)
        self._consumer: KafkaConsumer | None = None

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        with self._lock, reaching(self._connection, f"reading the lag of group {group}", LagUnknown):
            if self._consumer is None:
                self._consumer = opened(KafkaConsumer, self._connection.consumer_options())
            partitions = self._partitions(self._consumer, topics)
            committed = self._offsets.committed(group)
            end = self._consumer.end_offsets(partitions, timeout_ms=self._timeout_ms)
            beginning = self._consumer.beginning_offsets(partitions, timeout_ms=self._timeout_ms)
        lags = {}
        for found in partitions:
            ours = self._ours(found)
            # What retention removed is never read: counted, it would leave a drainer without room for ever.
            start = max(committed[ours].offset, beginning[found]) if ours in committed else beginning[found]
            # A commit beyond the end is left over from a topic that was made anew.
            lags[ours] = max(0, end[found] - start)
        return lags

    def close(self) -> None:
        with self._lock:
            self._offsets.close()
            if self._consumer is not None:
                self._consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)
                self._consumer = None

    def _partitions(self, consumer: KafkaConsumer, topics: Sequence[str]) -> list[KafkaPartition]:
        partitions = []
        for topic in topics:
            name = self._connection.topic_name(topic)
            numbers = consumer.partitions_for_topic(name)
            if not numbers:
                missing = LookupError(f"{name} doesn't exist")
                raise TopicMissing(failure_text(self._connection, f"reading the lag of {topic}", missing))
            partitions += [KafkaPartition(name, number) for number in sorted(numbers)]
        return partitions

    def _ours(self, partition: KafkaPartition) -> TopicPartition:
        return self._connection.short_name(partition.topic), partition.partition
