"""Decisions about an intake's offsets: how far it may commit, and which commits of others came too late to count."""

from collections.abc import Mapping, Sequence

from issuetracker_dagster.model.intake_note import read_note
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.ports.topics import Position, TopicPartition


def ends(records: Sequence[Record], refused: set[int]) -> dict[TopicPartition, int]:
    """The next offset of each partition, never past a record that wasn't stored (`refused` holds their `id()`)."""
    found: dict[TopicPartition, int] = {}
    blocked: set[TopicPartition] = set()
    for record in records:
        partition = (record.origin.topic, record.origin.partition)
        if id(record) in refused:
            blocked.add(partition)
        if partition not in blocked:
            found[partition] = record.origin.offset + 1
    return found


def overtaken(
    committed: Mapping[TopicPartition, Position], mine: Mapping[TopicPartition, int], epoch: str, holder: int
) -> dict[TopicPartition, int]:
    """My own place in partitions where an older holder of the intake lock committed a lower one after me.

    It was stopped in the last moment before its commit and resumed later; Kafka doesn't fence it, and everything since
    would be handled again. A place that people set has no note, and counts.
    """
    return {
        partition: mine[partition]
        for partition, position in committed.items()
        if position.offset < mine.get(partition, 0)
        and (note := read_note(position.metadata))
        and note.epoch == epoch
        and note.holder < holder
    }
