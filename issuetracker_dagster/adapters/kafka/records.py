"""From the client's records to ours."""

from collections.abc import Mapping, Sequence

from kafka import TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.model.message import Origin, Record


def in_partition_order(
    connection: KafkaConnection, batches: Mapping[TopicPartition, Sequence[ConsumerRecord]]
) -> tuple[Record, ...]:
    """All records of one poll, by topic and partition, each partition in the order of its offsets."""
    return tuple(
        _record(connection.short_name(partition.topic), found)
        for partition in sorted(batches)
        for found in batches[partition]
    )


def _record(topic: str, found: ConsumerRecord) -> Record:
    return Record(
        origin=Origin(topic, found.partition, found.offset, found.timestamp),
        key=found.key,
        # A tombstone has no value; an empty one can't be decoded either and takes the way of every malformed message.
        value=found.value or b"",
        headers=tuple([pair if pair[1] is not None else (pair[0], b"") for pair in found.headers]),
    )
