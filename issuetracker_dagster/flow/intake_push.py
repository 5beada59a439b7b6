"""One batch on its way from an intake's poll into its queue, in a thread of its own: the next is read meanwhile."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.flow.intake_positions import ends
from issuetracker_dagster.flow.intake_report import IntakeReport
from issuetracker_dagster.flow.malformed import MalformedRecords
from issuetracker_dagster.model.message import Record, message_of
from issuetracker_dagster.model.queue import QueueEntry, queue_entry
from issuetracker_dagster.ports.queue import StageQueue
from issuetracker_dagster.ports.topics import TopicPartition


class Pushed(msgspec.Struct, frozen=True):
    """What became of a batch. `upto` is how far each partition may be committed once the queue's disk has it."""

    report: IntakeReport
    upto: Mapping[TopicPartition, int]


class BatchPush:
    """Judges the records and sends the good ones off. Malformed ones are in the DLQ before; raises `PublishFailed`."""

    def __init__(
        self, records: Sequence[Record], queue: StageQueue, malformed: MalformedRecords, threads: Executor
    ) -> None:
        self._records = records
        self._entries: list[tuple[Record, QueueEntry]] = []
        dead: list[tuple[Record, str]] = []
        for record in records:
            try:
                self._entries.append((record, queue_entry(message_of(record))))
            except Malformed as error:
                dead.append((record, str(error)))
        if dead:
            malformed.bury(dead)
        self._dead = len(dead)
        self._answer = threads.submit(queue.push, [entry for _, entry in self._entries])

    def wait(self) -> Pushed:
        """Once the queue has answered; raises what its `push` raises, and then some of the batch may be stored."""
        result = self._answer.result()
        refused = set(result.refused)
        stopped = {id(record) for record, entry in self._entries if entry.member in refused} if refused else set()
        report = IntakeReport(
            stored=result.added,
            known=result.known + result.promoted,
            dead_lettered=self._dead,
            evicted=result.evicted,
            refused=len(result.refused),
        )
        return Pushed(report, ends(self._records, stopped))
