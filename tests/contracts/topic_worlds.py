"""The brokers that the topic contract runs against: memory, Apache Kafka and the fall-back broker."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPartition

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.adapters.kafka.lag import KafkaLag
from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.adapters.kafka.topics import ensure_topics
from issuetracker_dagster.adapters.memory.readers import (
    MemoryGroupReader,
    MemoryIntakeReader,
    MemoryLag,
    MemoryProducer,
)
from issuetracker_dagster.adapters.memory.topics import MemoryBroker
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.topics import GroupReader, IntakeReader, Lag, Producer


class World(Protocol):
    """A broker with topics of its own, and what reads and writes it."""

    def make(self, partitions: Mapping[Topic, int]) -> None: ...
    def producer(self) -> Producer: ...
    def intake(self, topic: str, group: str) -> IntakeReader: ...
    def member(self, topics: Sequence[str], group: str, *, keeps_notes: bool = False) -> GroupReader: ...
    def lag(self) -> Lag: ...
    def trim(self, topic: str, partition: int, before: int) -> None: ...
    def add_partitions(self, topic: str, count: int) -> None: ...
    def close(self) -> None: ...


class MemoryWorld:
    def __init__(self) -> None:
        self.broker = MemoryBroker({}, SystemClock())

    def make(self, partitions: Mapping[Topic, int]) -> None:
        for topic, count in partitions.items():
            self.broker.add_partitions(topic, count)

    def producer(self) -> Producer:
        return MemoryProducer(self.broker)

    def intake(self, topic: str, group: str) -> IntakeReader:
        return MemoryIntakeReader(self.broker, topic, group)

    def member(self, topics: Sequence[str], group: str, *, keeps_notes: bool = False) -> GroupReader:
        return MemoryGroupReader(self.broker, topics, group, keeps_notes=keeps_notes)

    def lag(self) -> Lag:
        return MemoryLag(self.broker)

    def trim(self, topic: str, partition: int, before: int) -> None:
        self.broker.trim(topic, partition, before)

    def add_partitions(self, topic: str, count: int) -> None:
        self.broker.add_partitions(topic, count)

    def close(self) -> None:
        pass


class KafkaWorld:
    """`options` go to every client."""

    def __init__(self, bootstrap: str, **options: Any) -> None:
        tuned = {"metadata_max_age_ms": 500, "request_timeout_ms": 5_000, **options}
        self.connection = KafkaConnection(bootstrap, f"t{uuid.uuid4().hex[:10]}.", tuned)
        self._closing: list[Callable[[], None]] = []

    def make(self, partitions: Mapping[Topic, int]) -> None:
        ensure_topics(self.connection, partitions, retention_ms=3_600_000)

    def producer(self) -> Producer:
        producer = KafkaTopicProducer(self.connection, timeout_ms=5_000)
        self._closing.append(producer.close)
        return producer

    def intake(self, topic: str, group: str) -> IntakeReader:
        reader = KafkaIntakeReader(self.connection, topic, self.connection.topic_prefix + group)
        self._closing.append(reader.close)
        return reader

    def member(self, topics: Sequence[str], group: str, *, keeps_notes: bool = False) -> GroupReader:
        group = self.connection.topic_prefix + group
        reader = KafkaGroupReader(
            self.connection, topics, group, commit_interval_ms=100, session_timeout_ms=6_000, keeps_notes=keeps_notes
        )
        self._closing.append(reader.close)
        return reader

    def lag(self) -> Lag:
        lag = KafkaLag(self.connection)
        self._closing.append(lag.close)
        return _PrefixedGroups(lag, self.connection.topic_prefix)

    def trim(self, topic: str, partition: int, before: int) -> None:
        with_admin(
            self.connection,
            lambda admin: admin.delete_records(
                {KafkaPartition(self.connection.topic_name(topic), partition): before}, timeout_ms=5_000
            ),
        )

    def add_partitions(self, topic: str, count: int) -> None:
        with_admin(self.connection, lambda admin: admin.create_partitions({self.connection.topic_name(topic): count}))

    def close(self) -> None:
        for close in reversed(self._closing):
            close()


class _PrefixedGroups:
    """Groups of one world only: the broker is shared by the session."""

    def __init__(self, lag: Lag, prefix: str) -> None:
        self._lag = lag
        self._prefix = prefix

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[tuple[str, int], int]:
        return self._lag.lag(self._prefix + group, topics)


def with_admin(connection: KafkaConnection, ask: Callable[[Any], Any]) -> Any:
    """Ask the cluster something that the adapters never need."""
    admin = KafkaAdminClient(**connection.client_options())
    try:
        return ask(admin)
    finally:
        admin.close()
