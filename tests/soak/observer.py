"""Reads every topic from its beginning, straight from the broker, past faults and past the product's own readers."""

import threading

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.adapters.kafka.header_names import accept_any_header_names
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import payload_facts
from issuetracker_dagster.model.stage import Topic
from tests.soak.ledger import Ledger, Seen

POLL_MS = 500


class Observer:
    """A reader of its own on all partitions. It survives the broker, and reads on from where it was."""

    def __init__(self, connection: KafkaConnection, ledger: Ledger) -> None:
        self._connection = connection
        self._ledger = ledger
        self._topics = {connection.topic_name(topic.value): topic.value for topic in Topic}
        self._next: dict[TopicPartition, int] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop reading."""
        self._ending.set()
        self._thread.join(30)

    def is_level(self) -> bool:
        """Whether it has read everything that lies in the topics at this moment. Raises KafkaError."""
        consumer = self._consumer()
        try:
            ends = consumer.end_offsets(list(self._next))
            return all(self._next[partition] >= end for partition, end in ends.items())
        finally:
            consumer.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._read()
            except (KafkaError, OSError, AssertionError):
                self._ending.wait(1.0)  # the broker is one of those that are killed

    def _read(self) -> None:
        consumer = self._consumer()
        try:
            partitions = [
                TopicPartition(name, number)
                for name in self._topics
                for number in consumer.partitions_for_topic(name) or ()
            ]
            consumer.assign(partitions)
            for partition in partitions:
                consumer.seek(partition, self._next.setdefault(partition, 0))
            while not self._ending.is_set():
                for partition, records in consumer.poll(timeout_ms=POLL_MS).items():
                    for record in records:
                        self._ledger.note(self._seen(record))
                        self._next[partition] = record.offset + 1
        finally:
            consumer.close()

    def _consumer(self) -> KafkaConsumer:
        accept_any_header_names()
        return KafkaConsumer(**self._connection.consumer_options())

    def _seen(self, record: "object") -> Seen:
        headers = {name: value or b"" for name, value in record.headers}  # type: ignore[attr-defined]
        facts = payload_facts(record.value)  # type: ignore[attr-defined]
        topic = self._topics[record.topic]  # type: ignore[attr-defined]
        return Seen(
            topic=topic,
            place=f"{topic}-{record.partition}@{record.offset}",  # type: ignore[attr-defined]
            root_id=headers.get("root_id", b"").decode("utf-8", "replace"),
            generation=int(headers.get("generation", b"0") or b"0"),
            at_ms=record.timestamp,  # type: ignore[attr-defined]
            target_type=headers.get("target_type", b"").decode() or TargetType.ARTICLE.value,
            url=facts.url,
            content_id=facts.content_id,
            reason=headers.get("dlq_reason", b"").decode("utf-8", "replace"),
        )
