"""Kafka as the flow sees it. Topics go by their short names; partitions are integers, offsets the next to read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.message import Outgoing, Record

TopicPartition = tuple[str, int]


class Position(msgspec.Struct, frozen=True):
    """A committed position: the next offset to read, and what was noted with it."""

    offset: int
    metadata: str = ""


class OffsetGap(msgspec.Struct, frozen=True):
    """Offsets that retention removed before they were read: `first` inclusive, `last` exclusive."""

    topic: str
    partition: int
    first: int
    last: int


class Producer(Protocol):
    """Publishes with acks from all replicas."""

    def publish(self, records: Sequence[Outgoing]) -> None:
        """Send a batch and wait until the broker has acknowledged each; raises `PublishFailed`.

        After that some of the batch may have been published, more than `arrived` tells; sending it all again is safe by
        message identity. Raises `RecordsRefused` (`too_large`) when all were acknowledged but those that their topic
        never takes; the others may then have been stored twice.
        """

    def close(self) -> None:
        """Flush within a bound and let go."""


class IntakeReader(Protocol):
    """Reads all partitions of one topic by manual assignment, resuming from the group's committed offsets.

    Not fenced by Kafka: whoever uses it holds the intake lock.
    """

    def committed(self) -> Mapping[TopicPartition, Position]:
        """What the group has committed, partitions without a commit left out; raises `Unavailable`."""

    def has_members(self) -> bool:
        """Whether consumers are members of the group just now, which would have commits refused."""

    def poll(self, limit: int, timeout_ms: int) -> Sequence[Record]:
        """Up to `limit` records in partition order; empty when there is nothing. Raises `Unavailable`.

        Without a timeout it may not ask the broker: empty says then that nothing lies ready just now.
        """

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        """Commit for the group; raises `CommitRefused` while the group has live members."""

    def rewind_to_time(self, timestamp_ms: int) -> Mapping[TopicPartition, int]:
        """Continue from the first record at or after that time in each partition, but never skip forward.

        Returns the position of every partition from which reading goes on.
        """

    def reset(self) -> None:
        """Forget positions and continue from what is committed."""

    def gaps(self) -> Sequence[OffsetGap]:
        """Ranges found removed by retention since the last call; reading went on at the earliest record."""

    def close(self) -> None: ...


class GroupReader(Protocol):
    """A member of a consumer group over some topics, with commits of contiguous prefixes.

    Calls come from one thread, but `settled` may come from any. Commits note nothing, which says that everything before
    them is settled; or, when it was made so, they keep the note that was there.
    """

    def poll(self, limit: int, timeout_ms: int) -> Sequence[Record]:
        """Up to `limit` records of partitions that aren't paused; also keeps the membership alive."""

    def settled(self, records: Sequence[Record]) -> None:
        """These need not be delivered again; their offsets are committed once nothing before them is outstanding."""

    def pause(self, topics: Sequence[str]) -> None:
        """Deliver nothing of these topics until `resume`; membership stays alive through `poll`."""

    def resume(self, topics: Sequence[str]) -> None: ...

    def commit(self) -> None:
        """Commit each partition's contiguous prefix of settled offsets now; raises `Unavailable`."""

    def on_revoked(self, callback: Callable[[frozenset[TopicPartition]], None]) -> None:
        """Called with partitions that are going away, after their settled prefix was committed."""

    def close(self) -> None:
        """Commit what is settled and leave the group, so that a successor needn't wait."""


class Lag(Protocol):
    """How much a group hasn't read yet."""

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        """`end - committed` a partition, `end - beginning` where nothing is committed or retention removed what comes
        after the commit; raises `LagUnknown`.
        """
