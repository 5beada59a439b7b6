"""What reads and writes a `MemoryBroker`: the twins of the Kafka producer, readers and lag."""

import threading
from collections.abc import Callable, Mapping, Sequence

from issuetracker_dagster.adapters.kafka.ledger import OffsetLedger
from issuetracker_dagster.adapters.memory.topics import MemoryBroker
from issuetracker_dagster.errors import LagUnknown, PermanentError, PublishFailed, RecordsRefused, Unavailable
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.ports.topics import OffsetGap, Position, TopicPartition


class MemoryProducer:
    """`Producer` into a `MemoryBroker`."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    def publish(self, records: Sequence[Outgoing]) -> None:
        arrived: list[Outgoing] = []
        refused: list[Outgoing] = []
        words = ""
        with self._broker.reached(PublishFailed):
            for record in records:
                try:
                    self._broker.append(record)
                    arrived.append(record)
                except PermanentError as error:
                    refused.append(record)
                    words = words or str(error)
                except Unavailable as error:
                    raise PublishFailed(str(error), arrived=arrived) from error
        if refused:
            raise RecordsRefused(words, refused=refused)

    def close(self) -> None:
        """Nothing is held back."""


class MemoryIntakeReader:
    """`IntakeReader` over one topic of a `MemoryBroker`. An empty poll lets its whole timeout pass on the clock."""

    def __init__(self, broker: MemoryBroker, topic: str, group: str) -> None:
        self._broker = broker
        self._topic = topic
        self._group = group
        self._positions: dict[TopicPartition, int] = {}
        self._gaps: list[OffsetGap] = []

    def committed(self) -> Mapping[TopicPartition, Position]:
        with self._broker.reached():
            found = self._broker.committed(self._group)
        return {partition: position for partition, position in found.items() if partition[0] == self._topic}

    def has_members(self) -> bool:
        with self._broker.reached():
            return self._broker.has_members(self._group)

    def poll(self, limit: int, timeout_ms: int) -> Sequence[Record]:
        records = self._read(limit)
        if not records and timeout_ms:
            self._broker.clock.sleep(timeout_ms / 1000)
            records = self._read(limit)
        return records

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        with self._broker.reached():
            self._broker.commit(self._group, positions)

    def rewind_to_time(self, timestamp_ms: int) -> Mapping[TopicPartition, int]:
        with self._broker.reached():
            self._resume()
            for partition, position in self._positions.items():
                found = self._broker.log(partition).first_at_or_after(timestamp_ms)
                if found is not None:
                    self._positions[partition] = min(position, found)
            return dict(self._positions)

    def reset(self) -> None:
        self._positions = {}

    def gaps(self) -> Sequence[OffsetGap]:
        found, self._gaps = self._gaps, []
        return found

    def close(self) -> None:
        self.reset()

    def _read(self, limit: int) -> Sequence[Record]:
        records: list[Record] = []
        with self._broker.reached():
            self._resume()
            for partition in sorted(self._positions):
                found = self._broker.log(partition).read(self._positions[partition], limit - len(records))
                self._positions[partition] += len(found)
                records += found
        return records

    def _resume(self) -> None:
        """A position for every partition, none of them before what retention left."""
        committed = self._broker.committed(self._group)
        for partition in self._broker.partitions([self._topic]):
            log = self._broker.log(partition)
            if partition not in self._positions:
                self._positions[partition] = committed[partition].offset if partition in committed else log.beginning
            if self._positions[partition] < log.beginning:
                gap = OffsetGap(*partition, self._positions[partition], log.beginning)
                if gap not in self._gaps:
                    self._gaps.append(gap)
                self._positions[partition] = log.beginning
            if self._positions[partition] > log.end:
                self._positions[partition] = log.beginning


class MemoryGroupReader:
    """`GroupReader`: a member of a group in a `MemoryBroker`. Joins at the first poll.

    An empty poll waits for a record up to its timeout, in real time: other threads may publish meanwhile.
    """

    def __init__(self, broker: MemoryBroker, topics: Sequence[str], group: str, *, keeps_notes: bool = False) -> None:
        self.topics: Sequence[str] = tuple(topics)
        self._keeps_notes = keeps_notes
        self._broker = broker
        self._group = group
        self._lock = threading.Lock()
        self._ledger = OffsetLedger()
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[str] = set()
        self._revoked: Callable[[frozenset[TopicPartition]], None] | None = None
        self._joined = False

    def poll(self, limit: int, timeout_ms: int) -> Sequence[Record]:
        with self._broker.reached():
            if not self._joined:
                self._joined = True
                self._broker.join(self._group, self)
            self._commit()
            records = self._broker.changed.wait_for(lambda: self._read(limit), timeout_ms / 1000)
            with self._lock:
                for record in records:
                    self._ledger.delivered((record.origin.topic, record.origin.partition), record.origin.offset)
        return records

    def settled(self, records: Sequence[Record]) -> None:
        with self._lock:
            for record in records:
                self._ledger.settle((record.origin.topic, record.origin.partition), record.origin.offset)

    def pause(self, topics: Sequence[str]) -> None:
        self._paused.update(topics)

    def resume(self, topics: Sequence[str]) -> None:
        self._paused.difference_update(topics)

    def commit(self) -> None:
        with self._broker.reached():
            self._commit()

    def on_revoked(self, callback: Callable[[frozenset[TopicPartition]], None]) -> None:
        self._revoked = callback

    def close(self) -> None:
        with self._broker.reached():
            if self._joined:
                self._joined = False
                self._broker.leave(self._group, self)

    def give_up(self, partitions: frozenset[TopicPartition]) -> None:
        """The broker takes these away: commit their settled prefix, forget them, tell."""
        self._commit(partitions)
        with self._lock:
            self._ledger.forget(partitions)
        for partition in partitions:
            self._positions.pop(partition, None)
        if self._revoked is not None:
            self._revoked(partitions)

    def _commit(self, partitions: frozenset[TopicPartition] | None = None) -> None:
        with self._lock:
            due = self._ledger.due(partitions)
            self._ledger.confirm(due)
        found = self._broker.committed(self._group) if self._keeps_notes else {}
        notes = {partition: position.metadata for partition, position in found.items()}
        positions = {partition: Position(at, notes.get(partition, "")) for partition, at in due.items()}
        self._broker.commit(self._group, positions, self)

    def _read(self, limit: int) -> list[Record]:
        records: list[Record] = []
        committed = self._broker.committed(self._group)
        for partition in self._broker.owned(self._group, self):
            if partition[0] in self._paused:
                continue
            log = self._broker.log(partition)
            start = committed[partition].offset if partition in committed else log.beginning
            position = max(log.beginning, self._positions.get(partition, start))
            found = log.read(position, limit - len(records))
            self._positions[partition] = position + len(found)
            records += found
        return records


class MemoryLag:
    """`Lag` of groups in a `MemoryBroker`."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        with self._broker.reached(LagUnknown):
            committed = self._broker.committed(group)
            try:
                partitions = self._broker.partitions(topics)
            except Unavailable as error:
                raise LagUnknown(str(error)) from error
            return {partition: self._lag(partition, committed.get(partition)) for partition in partitions}

    def _lag(self, partition: TopicPartition, committed: Position | None) -> int:
        log = self._broker.log(partition)
        return max(0, log.end - (log.beginning if committed is None else max(committed.offset, log.beginning)))
