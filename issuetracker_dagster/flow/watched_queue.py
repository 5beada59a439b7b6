"""A stage queue that tells `Steps` what goes in and out; for the intake, the shifts and the reaper."""

from collections.abc import Sequence

from issuetracker_dagster.flow.steps import Steps
from issuetracker_dagster.model.queue import Claim, Lease, OutboxEntry, PushResult, QueueDepth, QueueEntry
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.queue import StageQueue


class WatchedQueue:
    """A `StageQueue` like the one inside."""

    def __init__(self, queue: StageQueue, stage: Stage, steps: Steps) -> None:
        self._queue = queue
        self._stage = stage
        self._steps = steps

    @property
    def name(self) -> str:
        return self._queue.name

    def open(self) -> str:
        return self._queue.open()

    def push(self, entries: Sequence[QueueEntry]) -> PushResult:
        result = self._queue.push(entries)
        if entries:
            self._steps.stored(self._stage, entries, result)
        return result

    def claim(self, claim_id: str, limit: int, lease_ms: int, acks: Sequence[Lease] = ()) -> Claim:
        claim = self._queue.claim(claim_id, limit, lease_ms, acks)
        self._steps.claimed(self._stage, claim, len(acks))
        return claim

    def ack(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        stale = self._queue.ack(leases)
        self._steps.acked(self._stage, len(leases), len(stale))
        return stale

    def extend(self, leases: Sequence[Lease], lease_ms: int) -> tuple[str, ...]:
        return self._queue.extend(leases, lease_ms)

    def nack(self, lease: Lease, delay_ms: int) -> bool:
        was_ours = self._queue.nack(lease, delay_ms)
        if was_ours:
            self._steps.nacked(self._stage)
        return was_ours

    def release(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        stale = self._queue.release(leases)
        self._steps.released(self._stage, len(leases) - len(stale))
        return stale

    def reap(self, limit: int = 100) -> int:
        return self._queue.reap(limit)

    def wait(self, timeout_ms: int) -> bool:
        return self._queue.wait(timeout_ms)

    def outbox(self, limit: int = 100) -> tuple[OutboxEntry, ...]:
        return self._queue.outbox(limit)

    def outbox_remove(self, entries: Sequence[OutboxEntry]) -> int:
        return self._queue.outbox_remove(entries)

    def depth(self) -> QueueDepth:
        return self._queue.depth()

    def oldest_source_ms(self) -> int | None:
        return self._queue.oldest_source_ms()

    def settle_writes(self) -> None:
        self._queue.settle_writes()
