"""How a crew keeps to its `FloodGuard`: what it claims goes through a gate, and how its messages ended is noted."""

from collections.abc import Sequence

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.flood import FloodGuard
from issuetracker_dagster.flow.settle import Settlement
from issuetracker_dagster.flow.sources import Delivery, WorkSource
from issuetracker_dagster.flow.work import Work
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.ports.clock import Clock

LOOK_S = 1.0


class GatedSource:
    """A `WorkSource` from which nothing is claimed during a pause, and one message at a time as a probe after it."""

    def __init__(self, source: WorkSource, guard: FloodGuard, clock: Clock) -> None:
        self._source = source
        self._guard = guard
        self._clock = clock

    def claim(self, limit: int, acks: Sequence[Delivery]) -> Sequence[Delivery]:
        allowed = self._guard.allows(limit)
        if allowed:
            return self._source.claim(allowed, acks)
        self._source.ack(acks)
        self._clock.sleep(LOOK_S)
        return ()

    def begin(self, delivery: Delivery, *, alone: bool) -> int:
        return self._source.begin(delivery, alone=alone)

    def ack(self, deliveries: Sequence[Delivery]) -> int:
        return self._source.ack(deliveries)

    def nack(self, delivery: Delivery, delay_ms: int, replacement: Message | None) -> None:
        self._source.nack(delivery, delay_ms, replacement)

    def defer(self, delivery: Delivery, host: str, due_ms: int) -> None:
        self._source.defer(delivery, host, due_ms)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        self._source.release(deliveries)

    def keep(self, delivery: Delivery) -> None:
        self._source.keep(delivery)

    def extend(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        return self._source.extend(deliveries)

    def close(self) -> None:
        self._source.close()


class NotedWork:
    """A `Work` whose settlements the guard gets to know."""

    def __init__(self, work: Work, guard: FloodGuard) -> None:
        self._work = work
        self._guard = guard

    def run(self, delivery: Delivery) -> Settlement:
        return self._noted(self._work.run(delivery))

    def fail(self, delivery: Delivery, error: IssueTrackerError) -> Settlement:
        return self._noted(self._work.fail(delivery, error))

    def _noted(self, settlement: Settlement) -> Settlement:
        self._guard.note(settlement)
        return settlement
