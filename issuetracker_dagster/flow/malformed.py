"""Records that don't decode: told from the others, and buried once each, although they may be met again."""

from collections.abc import Mapping, Sequence

from issuetracker_dagster.errors import PublishFailed
from issuetracker_dagster.flow.dead_letter import bury, dead_letter
from issuetracker_dagster.model.message import Origin, Record
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.topics import Producer, TopicPartition


class MalformedRecords:
    """The dead letters of one reader's malformed records.

    A batch is read again when its push or its commit fails, or when the DLQ took only some of its letters. What nobody
    can give an identity would then lie there twice, as two letters.
    """

    def __init__(self, stage: Stage, producer: Producer, clock: Clock) -> None:
        self._stage = stage
        self._producer = producer
        self._clock = clock
        self._buried: set[Origin] = set()

    def bury(self, found: Sequence[tuple[Record, str]]) -> None:
        """Publish those with their reasons that aren't in the DLQ yet; raises `PublishFailed`."""
        fresh = [(record, reason) for record, reason in found if record.origin not in self._buried]
        now_ms = self._clock.now_ms()
        letters = [dead_letter(record, self._stage, "malformed", reason, now_ms) for record, reason in fresh]
        try:
            bury(self._producer, letters)
        except PublishFailed as error:
            there = set(map(id, error.arrived))
            sent = zip(fresh, letters, strict=True)
            self._buried.update(record.origin for (record, _), letter in sent if id(letter) in there)
            raise
        self._buried.update(record.origin for record, _ in fresh)

    def forget(self, upto: Mapping[TopicPartition, int]) -> None:
        """What lies before these offsets is committed, and not met again."""
        self._buried = {at for at in self._buried if at.offset >= upto.get((at.topic, at.partition), 0)}
