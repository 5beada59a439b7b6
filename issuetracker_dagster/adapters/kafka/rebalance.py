"""What a group member holds, and how it hands partitions over when the group rebalances."""

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from issuetracker_dagster.adapters.kafka.connection import KafkaConnection, failure_text
from issuetracker_dagster.adapters.kafka.ledger import OffsetLedger
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.topics import TopicPartition

logger = logging.getLogger(__name__)


class Holdings:
    """Outstanding offsets and paused topics of one member, shared by the polling, handling and client threads."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._ledger = OffsetLedger()
        self._paused: set[str] = set()
        self._silent = False
        self.notes: Mapping[TopicPartition, str] = {}
        """Metadata that commits carry."""
        self.revoked: Callable[[frozenset[TopicPartition]], None] | None = None

    def delivered(self, records: Sequence[Record]) -> None:
        with self._lock:
            for record in records:
                self._ledger.delivered((record.origin.topic, record.origin.partition), record.origin.offset)

    def settle(self, records: Sequence[Record]) -> None:
        with self._lock:
            for record in records:
                self._ledger.settle((record.origin.topic, record.origin.partition), record.origin.offset)

    def due(self, partitions: Collection[TopicPartition] | None = None) -> dict[TopicPartition, int]:
        with self._lock:
            return self._ledger.due(partitions)

    def confirm(self, positions: Mapping[TopicPartition, int]) -> None:
        with self._lock:
            self._ledger.confirm(positions)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        with self._lock:
            self._ledger.forget(partitions)

    def pause(self, topics: Sequence[str]) -> None:
        with self._lock:
            self._paused.update(topics)

    def resume(self, topics: Sequence[str]) -> None:
        with self._lock:
            self._paused.difference_update(topics)

    def apply(self, consumer: KafkaConsumer, partitions: Collection[KafkaPartition] | None) -> None:
        """Pause or resume each of `partitions` as it is wanted now.

        Decided and done under one lock: the client's thread, which assigns, and the polling one would undo each other
        otherwise, and a partition that stays paused by mistake is read by nobody.
        """
        with self._lock:
            for found in partitions or ():
                is_quiet = self._silent or self._connection.short_name(found.topic) in self._paused
                # It may have gone to another member since it was asked for.
                with suppress(KeyError):
                    (consumer.pause if is_quiet else consumer.resume)(found)

    @contextmanager
    def silenced(self, consumer: KafkaConsumer) -> Iterator[None]:
        """Let `consumer` be polled for the sake of its membership: no partition delivers, not even a new one."""
        self._silent = True
        try:
            self.apply(consumer, consumer.assignment())
            yield
        finally:
            self._silent = False
            self.apply(consumer, consumer.assignment())

    def as_ours(self, partitions: Collection[KafkaPartition]) -> frozenset[TopicPartition]:
        return frozenset((self._connection.short_name(found.topic), found.partition) for found in partitions)

    def as_offsets(self, positions: Mapping[TopicPartition, int]) -> dict[KafkaPartition, OffsetAndMetadata]:
        return {
            KafkaPartition(self._connection.topic_name(topic), partition): OffsetAndMetadata(
                offset, self.notes.get((topic, partition), ""), -1
            )
            for (topic, partition), offset in positions.items()
        }


class Rebalance(ConsumerRebalanceListener):
    """Commits the settled prefix of what goes away, then tells, then forgets.

    Runs on the client's I/O thread, which awaits these coroutines: a blocking call of the consumer would wait for
    itself there.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        consumer: KafkaConsumer,
        group: str,
        holdings: Holdings,
        assignor: CooperativeStickyAssignor,
    ) -> None:
        self._connection = connection
        self._consumer = consumer
        self._group = group
        self._holdings = holdings
        self._assignor = assignor

    async def on_partitions_assigned(self, assigned: Collection[KafkaPartition]) -> None:
        self._holdings.apply(self._consumer, assigned)
        self._log("joined", assigned)

    async def on_partitions_revoked(self, revoked: Collection[KafkaPartition]) -> None:
        going = self._holdings.as_ours(revoked)
        due = self._holdings.due(going)
        if due:
            try:
                await self._consumer.commit_async(self._holdings.as_offsets(due))
            except KafkaError as error:
                # The next owner starts at an older offset: a repetition, not a loss.
                logger.warning(
                    "%s",
                    failure_text(self._connection, f"the commit of revoked partitions of {self._group}", error),
                    extra=action("kafka.commit_refused", group=self._group),
                )
        self._hand_over(revoked, going)

    async def on_partitions_lost(self, lost: Collection[KafkaPartition]) -> None:
        # The assignor goes on claiming them otherwise: the leader then waits for a revocation that never comes, and
        # they are read by nobody.
        self._assignor.member_assignment = None
        # The group has already given them to others, and would refuse a commit.
        self._hand_over(lost, self._holdings.as_ours(lost))

    def _hand_over(self, partitions: Collection[KafkaPartition], going: frozenset[TopicPartition]) -> None:
        self._holdings.forget(going)
        if going and self._holdings.revoked is not None:
            self._holdings.revoked(going)
        self._log("gave up", partitions)

    def _log(self, verb: str, partitions: Collection[KafkaPartition]) -> None:
        if partitions:
            logger.info(
                "group %s %s %d partitions",
                self._group,
                verb,
                len(partitions),
                extra=action("kafka.rebalanced", group=self._group, partitions=len(partitions)),
            )
