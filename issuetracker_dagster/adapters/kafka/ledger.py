"""Which offsets of a group member's partitions may be committed: everything before the first unsettled one.

Pure bookkeeping, shared by the Kafka reader and its twin in memory; it knows no client and no lock.
"""

from collections import deque
from collections.abc import Collection, Mapping

from issuetracker_dagster.ports.topics import TopicPartition


class _PartitionLedger:
    """One partition. Settled offsets leave the queue only at its head, so each one costs amortised constant time."""

    __slots__ = ("confirmed", "following", "settled", "waiting")

    def __init__(self, first: int) -> None:
        self.waiting: deque[int] = deque()
        self.settled: set[int] = set()
        self.confirmed = first
        self.following = first

    def position(self) -> int:
        while self.waiting and self.waiting[0] in self.settled:
            self.settled.remove(self.waiting.popleft())
        return self.waiting[0] if self.waiting else self.following


class OffsetLedger:
    """Delivered and settled offsets of each partition; gaps between delivered ones (compaction) hold nothing back."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, _PartitionLedger] = {}

    def delivered(self, partition: TopicPartition, offset: int) -> None:
        """An offset was handed out. They come in ascending order; a lower one means that reading began anew there."""
        ledger = self._partitions.get(partition)
        if ledger is None or offset < ledger.following:
            ledger = self._partitions[partition] = _PartitionLedger(offset)
        ledger.waiting.append(offset)
        ledger.following = offset + 1

    def settle(self, partition: TopicPartition, offset: int) -> None:
        """An offset is done with, in any order. Ignored for partitions that were forgotten or never delivered."""
        ledger = self._partitions.get(partition)
        if ledger is not None and ledger.waiting and ledger.waiting[0] <= offset < ledger.following:
            ledger.settled.add(offset)

    def due(self, partitions: Collection[TopicPartition] | None = None) -> dict[TopicPartition, int]:
        """Positions (the next offset to read) that are ahead of what was confirmed."""
        chosen = self._partitions.keys() if partitions is None else self._partitions.keys() & set(partitions)
        positions = {partition: self._partitions[partition].position() for partition in chosen}
        return {
            partition: position
            for partition, position in positions.items()
            if position > self._partitions[partition].confirmed
        }

    def confirm(self, positions: Mapping[TopicPartition, int]) -> None:
        """These were committed."""
        for partition, position in positions.items():
            ledger = self._partitions.get(partition)
            if ledger is not None:
                ledger.confirmed = max(ledger.confirmed, position)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """These belong to somebody else now; whatever is settled of them later counts for nothing."""
        for partition in partitions:
            self._partitions.pop(partition, None)

    def outstanding(self) -> int:
        """Delivered and not settled."""
        return sum(len(ledger.waiting) - len(ledger.settled) for ledger in self._partitions.values())
