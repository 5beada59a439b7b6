"""Finds messages among those of a topic that its group hasn't read. Commits nothing and joins no group."""

import time
from collections.abc import Callable, Collection, Sequence

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import OffsetOutOfRangeError

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import CLOSE_TIMEOUT_MS, KafkaConnection, reaching
from issuetracker_dagster.adapters.kafka.offsets import GroupOffsets
from issuetracker_dagster.adapters.kafka.records import in_partition_order
from issuetracker_dagster.model.message import Record

_POLL_MS = 500


class KafkaUnread:
    """One search over several topics; not thread-safe. Connects at the first topic. Raises `Unavailable`."""

    def __init__(self, connection: Callable[[], KafkaConnection], *, timeout_ms: int = 5_000) -> None:
        self._connect = connection
        self._timeout_ms = timeout_ms
        self._clients: tuple[KafkaConsumer, GroupOffsets] | None = None

    def find(
        self, group: str, topic: str, root_ids: Collection[str], *, limit: int, within_s: float
    ) -> tuple[Sequence[Record], bool]:
        """Unread records of those roots, and whether all unread ones were looked at: at most `limit` of them, the
        oldest first, for so long. Without the topic nothing is there."""
        connection = self._connect()
        wanted = {root_id.encode() for root_id in root_ids}
        with reaching(connection, f"looking through topic {topic}"):
            if self._clients is None:
                consumer = opened(KafkaConsumer, connection.consumer_options())
                self._clients = consumer, GroupOffsets(connection, timeout_ms=self._timeout_ms)
            consumer, offsets = self._clients
            left = stand_at_unread(connection, consumer, offsets, group, topic, timeout_ms=self._timeout_ms)
            return _search(connection, consumer, left, wanted, limit, time.monotonic() + within_s)

    def close(self) -> None:
        """Let go of the clients."""
        if self._clients is not None:
            consumer, offsets = self._clients
            offsets.close()
            consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)
            self._clients = None


def stand_at_unread(
    connection: KafkaConnection,
    consumer: KafkaConsumer,
    offsets: GroupOffsets,
    group: str,
    topic: str,
    *,
    timeout_ms: int,
) -> dict[KafkaPartition, int]:
    """Have `consumer` read on from the first unread record of each partition that has one; returns where each ends.

    Without the topic there is none. Raises `KafkaError`.
    """
    name = connection.topic_name(topic)
    partitions = [KafkaPartition(name, number) for number in sorted(consumer.partitions_for_topic(name) or ())]
    if not partitions:
        return {}
    committed = offsets.committed(group)
    beginning = consumer.beginning_offsets(partitions, timeout_ms=timeout_ms)
    end = consumer.end_offsets(partitions, timeout_ms=timeout_ms)
    starts = {}
    for partition in partitions:
        at = committed.get((topic, partition.partition))
        starts[partition] = max(beginning[partition], at.offset if at else 0)
    unread = {partition: end[partition] for partition in partitions if starts[partition] < end[partition]}
    consumer.assign(list(unread))
    for partition in unread:
        consumer.seek(partition, starts[partition])
    return unread


def _search(
    connection: KafkaConnection,
    consumer: KafkaConsumer,
    left: dict[KafkaPartition, int],
    wanted: Collection[bytes],
    limit: int,
    until: float,
) -> tuple[Sequence[Record], bool]:
    found: list[Record] = []
    seen = 0
    while left and seen < limit and time.monotonic() < until:
        try:
            batches = consumer.poll(timeout_ms=_POLL_MS, max_records=min(2_000, limit - seen))
        except OffsetOutOfRangeError:
            return tuple(found), False  # retention was here meanwhile
        for record in in_partition_order(connection, batches):
            seen += 1
            if dict(record.headers).get("root_id") in wanted:
                found.append(record)
        # What is written during the search isn't waited for.
        read_up = [each for each, end in left.items() if (consumer.position(each) or 0) >= end]
        for partition in read_up:
            del left[partition]
    return tuple(found), not left
