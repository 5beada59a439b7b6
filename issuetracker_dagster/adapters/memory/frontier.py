"""Where crawl jobs wait for their host, in memory: the promises of the frontier on Redis, by a given clock."""

import logging
import threading
from collections.abc import Sequence

from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.errors import QueueFull
from issuetracker_dagster.model.queue import Lease, OutboxEntry, QueueEntry, QueueLimits
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock

logger = logging.getLogger(__name__)

NEXT_JOB_MS = 100


class MemoryFrontier:
    """`Frontier` of one process; `limits` are those of each host's queue."""

    def __init__(self, limits: QueueLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._lock = threading.RLock()
        self._queues: dict[str, MemoryStageQueue] = {}
        self._agenda: dict[str, int] = {}

    def defer(self, host: str, entry: QueueEntry, due_ms: int) -> None:
        """As the port says; raises `QueueFull` when the host's queue refuses the job (backpressure)."""
        with self._lock:
            self._push(host, [entry], due_ms)

    def line_up(self, host: str, entries: Sequence[QueueEntry]) -> None:
        """As the port says; raises `QueueFull` like `defer`, and some of the jobs may be stored then."""
        with self._lock:
            now_ms = self._clock.now_ms()
            self._push(host, entries, self._agenda.get(host, now_ms) if self.waiting(host) else now_ms)

    def waiting(self, host: str) -> bool:
        with self._lock:
            return host in self._queues and self._queues[host].depth().ready > 0

    def take(self, claim_id: str, limit: int, lease_ms: int) -> Sequence[tuple[str, Lease]]:
        with self._lock:
            taken: list[tuple[str, Lease]] = []
            for host in self._due():
                if len(taken) >= limit:
                    break
                taken += [(host, lease) for lease in self._queue(host).claim(claim_id, 1, lease_ms).leases]
                self._look_again(host, lease_ms)
            return tuple(taken)

    def ack(self, host: str, lease: Lease) -> None:
        with self._lock:
            if self._queue(host).ack([lease]):
                _say_refused(host, lease, "ack")

    def give_back(self, host: str, lease: Lease, due_ms: int) -> None:
        with self._lock:
            if self._queue(host).release([lease]):
                _say_refused(host, lease, "give back")
            self._agenda[host] = due_ms

    def extend(self, host: str, lease: Lease, lease_ms: int) -> bool:
        with self._lock:
            return not self._queue(host).extend([lease], lease_ms)

    def reap(self, limit: int = 100) -> int:
        """As the port says, among up to `limit` hosts that are due; `take` does the same for the host it looks at."""
        with self._lock:
            reaped = 0
            for host in self._due()[:limit]:
                reaped += self._queue(host).reap(limit - reaped) if reaped < limit else 0
            return reaped

    def size(self) -> int:
        with self._lock:
            return sum(queue.depth().ready for queue in self._queues.values())

    def outbox(self, limit: int = 100) -> Sequence[tuple[str, OutboxEntry]]:
        with self._lock:
            found = [(host, entry) for host, queue in self._queues.items() for entry in queue.outbox(limit)]
            return tuple(found[:limit])

    def outbox_remove(self, entries: Sequence[tuple[str, OutboxEntry]]) -> int:
        with self._lock:
            return sum(self._queue(host).outbox_remove([entry]) for host, entry in entries)

    def settle_writes(self) -> None:
        """Memory has no disk: nothing to wait for."""

    def _push(self, host: str, entries: Sequence[QueueEntry], due_ms: int) -> None:
        self._agenda[host] = min(self._agenda.get(host, due_ms), due_ms)
        if self._queue(host).push(entries).refused:
            raise QueueFull(f"the frontier of {host} holds {self._limits.max_size} jobs already")

    def _queue(self, host: str) -> MemoryStageQueue:
        if host not in self._queues:
            name = host.replace("{", "%7B").replace("}", "%7D")
            self._queues[host] = MemoryStageQueue(f"frontier:{name}", self._limits, self._clock)
        return self._queues[host]

    def _due(self) -> list[str]:
        now_ms = self._clock.now_ms()
        return sorted((host for host, due_ms in self._agenda.items() if due_ms <= now_ms), key=self._agenda.__getitem__)

    def _look_again(self, host: str, lease_ms: int) -> None:
        depth = self._queue(host).depth()
        if depth.total == 0:
            del self._agenda[host], self._queues[host]
        else:
            self._agenda[host] = self._clock.now_ms() + (NEXT_JOB_MS if depth.ready else lease_ms)


def _say_refused(host: str, lease: Lease, verb: str) -> None:
    extra = action("lease.refused", host=host, member=lease.member, verb=verb)
    logger.warning("frontier of %s: a lease presented to %s is another's by now", host, verb, extra=extra)
