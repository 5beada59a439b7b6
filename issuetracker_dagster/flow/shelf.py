"""A shelf: what the slots of one pool may take next, between the thread that reads and the threads that work."""

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence

from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.topics import TopicPartition


class Shelf:
    """What one pool may take next: messages in order, and those that come back after a delay. Thread-safe."""

    def __init__(self, clock: Clock, capacity: int) -> None:
        self._clock = clock
        self._capacity = capacity
        self._ready: deque[Delivery] = deque()
        self._later: list[tuple[float, int, Delivery]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()

    def put(self, deliveries: Sequence[Delivery]) -> None:
        """Append; may go beyond the capacity, which only tells the reader when to pause."""
        with self._changed:
            self._ready.extend(deliveries)
            self._changed.notify(len(deliveries))

    def put_back(self, deliveries: Sequence[Delivery]) -> None:
        """Before all others, where they were taken from."""
        with self._changed:
            self._ready.extendleft(reversed(deliveries))
            self._changed.notify(len(deliveries))

    def put_later(self, delivery: Delivery, delay_ms: int) -> None:
        """Hand out again after a delay."""
        with self._changed:
            due = self._clock.monotonic() + delay_ms / 1000
            heapq.heappush(self._later, (due, next(self._order), delivery))
            self._changed.notify()  # whoever waits may have to wait less long

    def take(self, limit: int, wait_s: float) -> list[Delivery]:
        """Up to `limit` deliveries, delayed ones that are due first.

        With nothing there it waits for the first, up to `wait_s` or until the next delayed one is due.
        """
        with self._changed:
            taken = self._take(limit)
            if not taken:
                next_due_s = self._later[0][0] - self._clock.monotonic() if self._later else wait_s
                self._changed.wait(max(0.0, min(wait_s, next_due_s)))
                taken = self._take(limit)
            return taken

    def take_those(self, wanted: Callable[[Delivery], bool]) -> list[Delivery]:
        """All that may be taken at once and are wanted, in order."""
        with self._changed:
            taken = [delivery for delivery in self._ready if wanted(delivery)]
            if taken:
                self._ready = deque(delivery for delivery in self._ready if not wanted(delivery))
            return taken

    def waiting(self) -> list[Delivery]:
        """What may be taken at once, left in place."""
        with self._changed:
            return list(self._ready)

    def remove(self, delivery: Delivery) -> None:
        """Forget one that may be taken at once; one that was taken already is no matter."""
        with self._changed:
            self._ready = deque(d for d in self._ready if d is not delivery)

    def drop(self, revoked: frozenset[TopicPartition]) -> None:
        """Forget what was read from partitions that another member reads from now on."""
        with self._changed:
            self._ready = deque(d for d in self._ready if not _is_from(d, revoked))
            self._later = [entry for entry in self._later if not _is_from(entry[2], revoked)]
            heapq.heapify(self._later)

    def clear(self) -> None:
        """Forget everything; none of it was settled, so Kafka delivers it again."""
        with self._changed:
            self._ready.clear()
            self._later.clear()

    @property
    def is_full(self) -> bool:
        return len(self._ready) + len(self._later) >= self._capacity

    @property
    def room(self) -> int:
        return max(0, self._capacity - len(self._ready))

    def _take(self, limit: int) -> list[Delivery]:
        taken: list[Delivery] = []
        now = self._clock.monotonic()
        while len(taken) < limit and self._later and self._later[0][0] <= now:
            taken.append(heapq.heappop(self._later)[2])
        while len(taken) < limit and self._ready:
            taken.append(self._ready.popleft())
        return taken


def _is_from(delivery: Delivery, partitions: frozenset[TopicPartition]) -> bool:
    receipt = delivery.receipt
    return isinstance(receipt, Record) and (receipt.origin.topic, receipt.origin.partition) in partitions
