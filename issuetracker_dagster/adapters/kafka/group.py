"""How a shift reads its topics in direct mode: as a member of the stage's group, committing contiguous prefixes."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import (
    KafkaError,
    LogTruncationError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
)
from kafka.structs import ConsumerGroupMetadata, MemberState

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import (
    CLOSE_TIMEOUT_MS,
    KafkaConnection,
    failure_text,
    reaching,
)
from issuetracker_dagster.adapters.kafka.offsets import GroupOffsets
from issuetracker_dagster.adapters.kafka.parked import free_exhausted_slot
from issuetracker_dagster.adapters.kafka.rebalance import Holdings, Rebalance
from issuetracker_dagster.adapters.kafka.records import in_partition_order
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.topics import TopicPartition

logger = logging.getLogger(__name__)

_SILENCE_BEFORE_ASKING_S = 5.0
"""How long a reader finds nothing before it asks whether the broker is still there."""

_JOIN_WITHIN_MS = 3_000
"""How long a poll lasts at most while the group is being joined: longer than a heartbeat, by which members learn of it.

A join that is completed between two polls is thrown away by the client and begun anew; when the leader does that, the
whole group rebalances again, so that short polls could keep a group from ever settling.
"""
_REJOINS = 2
"""How often a commit that a rebalance refuses lets the group settle before it gives up."""


class KafkaGroupReader:
    """`GroupReader` over some topics. Joins the group at the first `poll`.

    A poll that joins the group, or rejoins it in a rebalance, may last three seconds whatever its timeout.
    Rebalances are cooperative: partitions that stay with this member keep their records in hand. The callback of
    `on_revoked` runs on the client's own thread while `poll` waits for it: it has to be quick and may call `settled`
    only. `timeout_ms` bounds each commit. With `keeps_notes` each commit carries the metadata that its partition's last
    one had when this member joined.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        topics: Sequence[str],
        group: str,
        *,
        clock: Clock | None = None,
        timeout_ms: int = 5_000,
        commit_interval_ms: int = 1_000,
        session_timeout_ms: int = 10_000,
        max_poll_interval_ms: int = 600_000,
        keeps_notes: bool = False,
    ) -> None:
        self._connection = connection
        self._topics = tuple(topics)
        self._group = group
        self._clock = clock or SystemClock()
        self._timeout_ms = timeout_ms
        self._commit_interval_s = commit_interval_ms / 1000
        self._membership: dict[str, Any] = {
            "session_timeout_ms": session_timeout_ms,
            "heartbeat_interval_ms": max(500, session_timeout_ms // 10),
            "max_poll_interval_ms": max_poll_interval_ms,
        }
        self._consumer: KafkaConsumer | None = None
        self._keeps_notes = keeps_notes
        self._holdings = Holdings(connection)
        self._committed_at = self._heard_at = self._clock.monotonic()

    def poll(self, limit: int, timeout_ms: int) -> Sequence[Record]:
        with reaching(self._connection, f"reading topics {', '.join(self._topics)}"):
            consumer = self._consumer or self._open()
            self._commit_at_intervals(consumer)
            batches = {}
            try:
                batches = consumer.poll(timeout_ms=self._patience_ms(consumer, timeout_ms), max_records=limit)
            except NoOffsetForPartitionError as error:
                consumer.seek_to_beginning(*error.args[0])
            except OffsetOutOfRangeError as error:
                self._leave_removed_offsets(consumer, error.args[0])
            except LogTruncationError as error:
                self._leave_removed_offsets(consumer, error.divergent_offsets)
            if batches:
                self._heard_at = self._clock.monotonic()
            else:
                self._ask_whether_broker_is_there(consumer)
        records = in_partition_order(self._connection, batches)
        self._holdings.delivered(records)
        return records

    def settled(self, records: Sequence[Record]) -> None:
        self._holdings.settle(records)

    def pause(self, topics: Sequence[str]) -> None:
        self._holdings.pause(topics)
        if self._consumer is not None:
            self._holdings.apply(self._consumer, self._consumer.assignment())

    def resume(self, topics: Sequence[str]) -> None:
        self._holdings.resume(topics)
        if self._consumer is not None:
            self._holdings.apply(self._consumer, self._consumer.assignment())

    def commit(self) -> None:
        if self._consumer is not None:
            with reaching(self._connection, f"committing for group {self._group}"):
                self._commit_through_rebalance(self._consumer)

    def on_revoked(self, callback: Callable[[frozenset[TopicPartition]], None]) -> None:
        self._holdings.revoked = callback

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is None:
            return
        try:
            self._commit_through_rebalance(consumer)
        except KafkaError as error:
            # What can't be committed is delivered again; leaving the group matters more.
            self._warn_of_commit(error)
        with reaching(self._connection, f"leaving group {self._group}"):
            consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)

    def _open(self) -> KafkaConsumer:
        if self._keeps_notes:
            self._holdings.notes = self._found_notes()
        assignor = CooperativeStickyAssignor()
        options: dict[str, Any] = {
            **self._membership,
            **self._connection.consumer_options(),
            "group_id": self._group,
            "partition_assignment_strategy": [assignor],
        }
        consumer = opened(KafkaConsumer, options)
        try:
            self._subscribe(consumer, assignor)
        except BaseException:
            consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)
            raise
        self._consumer = consumer
        return consumer

    def _subscribe(self, consumer: KafkaConsumer, assignor: CooperativeStickyAssignor) -> None:
        free_exhausted_slot(consumer)
        names = [self._connection.topic_name(topic) for topic in self._topics]
        # Known before the group is joined: a leader without metadata hands out nothing, and the group joins twice.
        missing = [name for name in names if not consumer.partitions_for_topic(name)]
        if missing:
            failed = LookupError(f"{', '.join(missing)} doesn't exist")
            raise Unavailable(failure_text(self._connection, f"joining group {self._group}", failed))
        listener = Rebalance(self._connection, consumer, self._group, self._holdings, assignor)
        consumer.subscribe(names, listener=listener)

    def _found_notes(self) -> Mapping[TopicPartition, str]:
        """Whoever else commits with metadata is kept out while the group has members, so once is enough."""
        offsets = GroupOffsets(self._connection, timeout_ms=self._timeout_ms)
        try:
            return {partition: at.metadata for partition, at in offsets.committed(self._group).items()}
        finally:
            offsets.close()

    def _commit_at_intervals(self, consumer: KafkaConsumer) -> None:
        if self._clock.monotonic() - self._committed_at >= self._commit_interval_s and _is_member(consumer):
            try:
                self._commit_due(consumer)
            except RebalanceInProgressError:
                logger.debug("group %s is rebalancing, the commit goes out with the next interval", self._group)
            except KafkaError as error:
                self._warn_of_commit(error)

    def _commit_through_rebalance(self, consumer: KafkaConsumer) -> None:
        """Commit; a rebalance under way refuses that, and only poll() brings it to its end."""
        for _ in range(_REJOINS):
            try:
                return self._commit_due(consumer)
            except RebalanceInProgressError:
                with self._holdings.silenced(consumer):
                    consumer.poll(timeout_ms=_JOIN_WITHIN_MS)
        return self._commit_due(consumer)

    def _warn_of_commit(self, error: KafkaError) -> None:
        logger.warning(
            "%s",
            failure_text(self._connection, f"a commit of group {self._group}", error),
            extra=action("kafka.commit_refused", group=self._group),
        )

    def _commit_due(self, consumer: KafkaConsumer) -> None:
        self._committed_at = self._clock.monotonic()
        due = self._holdings.due()
        if due:
            consumer.commit(self._holdings.as_offsets(due), timeout_ms=self._timeout_ms)
            self._holdings.confirm(due)

    def _patience_ms(self, consumer: KafkaConsumer, timeout_ms: int) -> int:
        return timeout_ms if _is_member(consumer) else max(timeout_ms, _JOIN_WITHIN_MS)

    def _leave_removed_offsets(self, consumer: KafkaConsumer, lost: Mapping[KafkaPartition, object]) -> None:
        for partition, offset in lost.items():
            logger.error(
                "offset %s of %s/%d can't be read any more, going on at the earliest",
                offset,
                self._connection.short_name(partition.topic),
                partition.partition,
                extra=action("intake.offsets_lost", partition=partition.partition, first=offset),
            )
            consumer.seek_to_beginning(partition)

    def _ask_whether_broker_is_there(self, consumer: KafkaConsumer) -> None:
        """poll() says nothing when the broker is gone, which would pass for empty topics."""
        now = self._clock.monotonic()
        if now - self._heard_at >= _SILENCE_BEFORE_ASKING_S:
            first = KafkaPartition(self._connection.topic_name(self._topics[0]), 0)
            consumer.end_offsets([first], timeout_ms=self._timeout_ms)
            self._heard_at = now


def _is_member(consumer: KafkaConsumer) -> bool:
    metadata: ConsumerGroupMetadata = consumer.group_metadata()  # type: ignore[no-untyped-call]
    return metadata.state == MemberState.STABLE
