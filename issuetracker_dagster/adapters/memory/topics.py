"""Topics, groups and their offsets in memory: the twin of a Kafka cluster, shared by what reads and writes it."""

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from issuetracker_dagster.errors import CommitRefused, LagUnknown, PermanentError, PublishFailed, Unavailable
from issuetracker_dagster.model.message import Origin, Outgoing, Record
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.topics import Position, TopicPartition

MAX_MESSAGE_BYTES = 1_048_588
DLQ_MAX_MESSAGE_BYTES = 2 * 1024 * 1024


class Member(Protocol):
    """A live member of a group as the broker sees it."""

    topics: Sequence[str]

    def give_up(self, partitions: frozenset[TopicPartition]) -> None:
        """Commit the settled prefix of these and forget them."""


class PartitionLog:
    """The records of one partition from `beginning` on."""

    def __init__(self) -> None:
        self.beginning = 0
        self.records: list[Record] = []

    @property
    def end(self) -> int:
        return self.beginning + len(self.records)

    def read(self, offset: int, limit: int) -> Sequence[Record]:
        start = max(0, offset - self.beginning)
        return self.records[start : start + limit]

    def first_at_or_after(self, timestamp_ms: int) -> int | None:
        return next((found.origin.offset for found in self.records if found.origin.timestamp_ms >= timestamp_ms), None)


class MemoryBroker:
    """A cluster of the given topics and partition counts. Thread-safe. `stop` makes every call fail until `start`."""

    def __init__(self, partitions: Mapping[str, int], clock: Clock) -> None:
        self.clock = clock
        self.changed = threading.Condition(threading.RLock())
        self._logs = {(topic, number): PartitionLog() for topic, count in partitions.items() for number in range(count)}
        self._committed: dict[str, dict[TopicPartition, Position]] = {}
        self._members: dict[str, list[Member]] = {}
        self._owners: dict[str, dict[TopicPartition, Member]] = {}
        self._unkeyed = 0
        self._running = True

    def stop(self) -> None:
        """Be out of reach from now on."""
        with self.changed:
            self._running = False

    def start(self) -> None:
        """Be back, with everything that was stored."""
        with self.changed:
            self._running = True
            self.changed.notify_all()

    def add_partitions(self, topic: str, count: int) -> None:
        """Let the topic have `count` partitions; groups take up the new ones at their next poll."""
        with self.changed:
            for number in range(count):
                self._logs.setdefault((topic, number), PartitionLog())
            for group in self._members:
                self._rebalance(group)

    def trim(self, topic: str, partition: int, before: int) -> None:
        """Remove the records before an offset, as retention does."""
        with self.changed:
            log = self._logs[(topic, partition)]
            kept = [record for record in log.records if record.origin.offset >= before]
            log.beginning, log.records = max(log.beginning, min(before, log.end)), kept

    @contextmanager
    def reached(self, raising: type[Unavailable | PublishFailed | LagUnknown] = Unavailable) -> Iterator[None]:
        """Hold the broker for one call; raises `raising` while it is stopped."""
        with self.changed:
            if not self._running:
                raise raising("the broker in memory was stopped")
            yield

    def partitions(self, topics: Sequence[str]) -> list[TopicPartition]:
        """The partitions of these topics in order; raises `Unavailable` for a topic that doesn't exist."""
        found = sorted(partition for partition in self._logs if partition[0] in topics)
        missing = set(topics) - {topic for topic, _ in found}
        if missing:
            raise Unavailable(f"topic {', '.join(sorted(missing))} doesn't exist in the broker in memory")
        return found

    def log(self, partition: TopicPartition) -> PartitionLog:
        return self._logs[partition]

    def append(self, outgoing: Outgoing) -> None:
        """Store one record in the partition of its key; raises `PermanentError` when it is too large for its topic."""
        count = len(self.partitions([outgoing.topic]))
        limit = DLQ_MAX_MESSAGE_BYTES if outgoing.topic == Topic.DLQ else MAX_MESSAGE_BYTES
        if len(outgoing.value) > limit:
            raise PermanentError(f"{len(outgoing.value)} bytes are too many for {outgoing.topic}", code="too_large")
        if outgoing.key is None:
            self._unkeyed += 1
        number = (self._unkeyed if outgoing.key is None else zlib.crc32(outgoing.key)) % count
        log = self._logs[(outgoing.topic, number)]
        origin = Origin(outgoing.topic, number, log.end, self.clock.now_ms())
        log.records.append(Record(origin, outgoing.key, outgoing.value, tuple(outgoing.headers)))
        self.changed.notify_all()

    def committed(self, group: str) -> dict[TopicPartition, Position]:
        return dict(self._committed.get(group, {}))

    def commit(self, group: str, positions: Mapping[TopicPartition, Position], member: Member | None = None) -> None:
        """Raises `CommitRefused` for an outsider while the group has members."""
        if member is None and self.has_members(group):
            raise CommitRefused(f"the group {group} still has live members")
        self._committed.setdefault(group, {}).update(positions)

    def has_members(self, group: str) -> bool:
        return bool(self._members.get(group))

    def join(self, group: str, member: Member) -> None:
        self._members.setdefault(group, []).append(member)
        self._rebalance(group)

    def leave(self, group: str, member: Member) -> None:
        self._give_up(group, frozenset(self.owned(group, member)))
        self._members[group].remove(member)
        self._rebalance(group)

    def owned(self, group: str, member: Member) -> list[TopicPartition]:
        return sorted(partition for partition, owner in self._owners.get(group, {}).items() if owner is member)

    def _rebalance(self, group: str) -> None:
        """Spread partitions evenly, moving as few as that takes."""
        members = self._members[group]
        topics = sorted({topic for member in members for topic in member.topics})
        owners = self._owners.setdefault(group, {})
        present = self.partitions(topics) if topics else []
        share = -(-len(present) // len(members)) if members else 0
        surplus = [partition for member in members for partition in self.owned(group, member)[share:]]
        self._give_up(group, frozenset(surplus))
        for partition in present:
            if partition not in owners:
                able = [member for member in members if partition[0] in member.topics]
                owners[partition] = min(able, key=lambda member: len(self.owned(group, member)))
        self.changed.notify_all()

    def _give_up(self, group: str, partitions: frozenset[TopicPartition]) -> None:
        owners = self._owners.get(group, {})
        going: dict[int, tuple[Member, set[TopicPartition]]] = {}
        for partition in partitions:
            owner = owners.pop(partition)
            going.setdefault(id(owner), (owner, set()))[1].add(partition)
        for owner, revoked in going.values():
            owner.give_up(frozenset(revoked))
