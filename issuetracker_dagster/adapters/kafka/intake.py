"""How an intake reads its stage's topic: every partition by assignment, from where the group left off.

The consumer is kept across ticks, since opening one costs more than reading a tick's worth of messages.
"""

import logging
from collections.abc import Mapping, Sequence

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.errors import (
    CommitFailedError,
    IllegalGenerationError,
    LogTruncationError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.structs import OffsetAndMetadata

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import (
    CLOSE_TIMEOUT_MS,
    KafkaConnection,
    failure_text,
    reaching,
)
from issuetracker_dagster.adapters.kafka.offsets import GroupOffsets
from issuetracker_dagster.adapters.kafka.records import in_partition_order
from issuetracker_dagster.errors import CommitRefused, Unavailable
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.topics import OffsetGap, Position, TopicPartition

logger = logging.getLogger(__name__)

_LONGEST_FETCH_MS = 200
"""A broker answers one connection's requests in their order: each question about offsets waits for the fetch before it,
so that with the client's own 500 ms an idle tick would take half a second. Each fetch that finds nothing costs both
sides half a millisecond of processor, so that shorter ones are no bargain; one that finds something ends at once."""
_LIVE_MEMBERS = (CommitFailedError, UnknownMemberIdError, IllegalGenerationError, RebalanceInProgressError)


class KafkaIntakeReader:
    """`IntakeReader` over one topic. Connects at the first call; one thread at a time.

    `timeout_ms` bounds each question to the broker. A committed position that retention removed, or that lies beyond
    the end of a topic made anew, continues at the earliest record.
    """

    def __init__(self, connection: KafkaConnection, topic: str, group: str, *, timeout_ms: int = 2_000) -> None:
        self._connection = connection
        self._topic = topic
        self._group = group
        self._timeout_ms = timeout_ms
        self._offsets = GroupOffsets(connection, timeout_ms=timeout_ms)
        self._consumer: KafkaConsumer | None = None
        self._assigned: tuple[KafkaPartition, ...] = ()
        self._gaps: list[OffsetGap] = []

    def committed(self) -> Mapping[TopicPartition, Position]:
        with reaching(self._connection, f"reading the offsets of group {self._group}"):
            found = self._offsets.committed(self._group)
        return {partition: position for partition, position in found.items() if partition[0] == self._topic}

    def has_members(self) -> bool:
        with reaching(self._connection, f"looking at group {self._group}"):
            return self._offsets.has_members(self._group)

    def poll(self, limit: int, timeout_ms: int) -> Sequence[Record]:
        with reaching(self._connection, f"reading topic {self._topic}"):
            consumer = self._ready()
            try:
                batches = consumer.poll(timeout_ms=timeout_ms, max_records=limit)
            except (OffsetOutOfRangeError, LogTruncationError):
                self._leave_removed_offsets(consumer)
                batches = consumer.poll(timeout_ms=timeout_ms, max_records=limit)
            if not batches and timeout_ms:
                # poll() says nothing when the broker is gone, which would pass for an empty topic.
                consumer.end_offsets(self._assigned, timeout_ms=self._timeout_ms)
        return in_partition_order(self._connection, batches)

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        if not positions:
            return
        offsets = {
            KafkaPartition(self._connection.topic_name(topic), partition): OffsetAndMetadata(at.offset, at.metadata, -1)
            for (topic, partition), at in positions.items()
        }
        doing = f"committing for group {self._group}"
        with reaching(self._connection, doing):
            consumer = self._consumer or self._open()
            try:
                consumer.commit(offsets, timeout_ms=self._timeout_ms)
            except _LIVE_MEMBERS as error:
                raise CommitRefused(
                    f"{doing} was refused: the group still has live members, which hold its partitions "
                    f"({type(error).__name__} at {self._connection.bootstrap})"
                ) from error

    def rewind_to_time(self, timestamp_ms: int) -> Mapping[TopicPartition, int]:
        with reaching(self._connection, f"looking up a time in topic {self._topic}"):
            consumer = self._ready()
            wanted = dict.fromkeys(self._assigned, max(0, timestamp_ms))
            found = consumer.offsets_for_times(wanted, timeout_ms=self._timeout_ms)
            positions = {}
            for partition in self._assigned:
                position = self._position(consumer, partition)
                hit = found.get(partition)
                # No record at or after that time, or one not read yet: what lies between must still be read.
                if hit is not None and hit.offset < position:
                    position = hit.offset
                    consumer.seek(partition, position)
                positions[(self._topic, partition.partition)] = position
        return positions

    def reset(self) -> None:
        self._assigned = ()

    def gaps(self) -> Sequence[OffsetGap]:
        found, self._gaps = self._gaps, []
        return found

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)
            self._consumer = None
            self._assigned = ()
        self._offsets.close()

    def _open(self) -> KafkaConsumer:
        options = {"fetch_max_wait_ms": _LONGEST_FETCH_MS, **self._connection.consumer_options()}
        self._consumer = opened(KafkaConsumer, {**options, "group_id": self._group})
        return self._consumer

    def _ready(self) -> KafkaConsumer:
        """The consumer with all present partitions assigned; a lookup in memory unless partitions were added."""
        consumer = self._consumer or self._open()
        name = self._connection.topic_name(self._topic)
        present = tuple(KafkaPartition(name, number) for number in sorted(consumer.partitions_for_topic(name)))
        if not present:
            raise Unavailable(
                failure_text(self._connection, f"reading topic {self._topic}", LookupError(f"{name} doesn't exist"))
            )
        if present != self._assigned:
            added = [partition for partition in present if partition not in self._assigned]
            consumer.assign(present)
            self._seek_to_committed(consumer, added)
            self._assigned = present
        return consumer

    def _seek_to_committed(self, consumer: KafkaConsumer, partitions: Sequence[KafkaPartition]) -> None:
        committed = self._offsets.committed(self._group)
        earliest = consumer.beginning_offsets(partitions, timeout_ms=self._timeout_ms)
        end = consumer.end_offsets(partitions, timeout_ms=self._timeout_ms)
        for partition in partitions:
            position = committed.get((self._topic, partition.partition))
            start = earliest[partition] if position is None else position.offset
            consumer.seek(partition, self._readable(partition, start, earliest[partition], end[partition]))

    def _leave_removed_offsets(self, consumer: KafkaConsumer) -> None:
        earliest = consumer.beginning_offsets(self._assigned, timeout_ms=self._timeout_ms)
        end = consumer.end_offsets(self._assigned, timeout_ms=self._timeout_ms)
        for partition in self._assigned:
            position = self._position(consumer, partition)
            consumer.seek(partition, self._readable(partition, position, earliest[partition], end[partition]))

    def _position(self, consumer: KafkaConsumer, partition: KafkaPartition) -> int:
        position = consumer.position(partition, timeout_ms=self._timeout_ms)
        if position is None:
            raise Unavailable(
                failure_text(
                    self._connection, f"reading topic {self._topic}", LookupError(f"{partition} has no position")
                )
            )
        return position

    def _readable(self, partition: KafkaPartition, offset: int, earliest: int, end: int) -> int:
        """`offset`, or the earliest one when it can't be read, with a record of what is lost."""
        if earliest <= offset <= end:
            return offset
        if offset < earliest:
            gap = OffsetGap(self._topic, partition.partition, offset, earliest)
            if gap not in self._gaps:
                self._gaps.append(gap)
        logger.error(
            "offset %d of %s/%d can't be read any more, going on at %d",
            offset,
            self._topic,
            partition.partition,
            earliest,
            extra=action("intake.offsets_lost", topic=self._topic, partition=partition.partition, first=offset),
        )
        return earliest
