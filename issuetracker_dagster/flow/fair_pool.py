"""No host takes all slots of a pool: one that is slow would have everybody else's jobs wait for its answers."""

import threading
from collections.abc import Sequence

from issuetracker_dagster.flow.frontier import host_of_record
from issuetracker_dagster.flow.sources import Delivery, WorkSource
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.ports.clock import Clock

LOOK_AGAIN_MS = 250
"""When a job that would have taken the last slot is looked at again: nobody knows when a request ends."""


class FairSource:
    """A `WorkSource` of fetch that leaves one of its pool's `slots` to other hosts; a pool of one has none to leave."""

    def __init__(self, source: WorkSource, slots: int, clock: Clock) -> None:
        self._source = source
        self._most = max(slots - 1, 1)
        self._clock = clock
        self._lock = threading.Lock()
        self._in_hand: dict[int, tuple[Delivery, str]] = {}

    def claim(self, limit: int, acks: Sequence[Delivery]) -> Sequence[Delivery]:
        self._ended(acks)
        claimed = self._source.claim(limit, acks)
        mine: list[Delivery] = []
        for position, delivery in enumerate(claimed):
            host = delivery.host or host_of_record(delivery)
            if self._begun(delivery, host):
                mine.append(delivery)
                continue
            try:
                self._source.defer(delivery, host, self._clock.now_ms() + LOOK_AGAIN_MS)
            except Exception:
                for one in (*mine, *claimed[position:]):
                    self.keep(one)  # nothing that was taken may be forgotten
                raise
        return mine

    def begin(self, delivery: Delivery, *, alone: bool) -> int:
        return self._source.begin(delivery, alone=alone)

    def ack(self, deliveries: Sequence[Delivery]) -> int:
        self._ended(deliveries)
        return self._source.ack(deliveries)

    def nack(self, delivery: Delivery, delay_ms: int, replacement: Message | None) -> None:
        self._ended([delivery])
        self._source.nack(delivery, delay_ms, replacement)

    def defer(self, delivery: Delivery, host: str, due_ms: int) -> None:
        self._ended([delivery])
        self._source.defer(delivery, host, due_ms)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        self._ended(deliveries)
        self._source.release(deliveries)

    def keep(self, delivery: Delivery) -> None:
        self._ended([delivery])
        self._source.keep(delivery)

    def extend(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        lost = self._source.extend(deliveries)
        self._ended(lost)  # they are another worker's by now, and are never answered here
        return lost

    def close(self) -> None:
        self._source.close()

    def _begun(self, delivery: Delivery, host: str) -> bool:
        with self._lock:
            if host and sum(host == other for _, other in self._in_hand.values()) >= self._most:
                return False
            self._in_hand[id(delivery)] = (delivery, host)  # with the delivery itself, so that its id stays its own
            return True

    def _ended(self, deliveries: Sequence[Delivery]) -> None:
        with self._lock:
            for delivery in deliveries:
                self._in_hand.pop(id(delivery), None)
