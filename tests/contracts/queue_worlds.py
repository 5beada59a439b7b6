"""What the suites of `StageQueue` share: a queue in each world, entries, and claims with ids of their own."""

import itertools
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.queue_steering import MemoryQueueSteering
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.adapters.redis.queue_steering import RedisQueueSteering
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Claim, Lease, QueueEntry, QueueLimits
from issuetracker_dagster.ports.queue import QueueSteering, StageQueue
from tests.contracts.redis_worlds import CLUSTER, WORLDS, World, open_world

HIGH, NORMAL, LOW = Priority.HIGH, Priority.NORMAL, Priority.LOW
LONG_MS, SHORT_MS = 60_000, 120
SOURCE_MS = 1_750_000_020_000
ALL_WORLDS = (*WORLDS, CLUSTER)


@dataclass
class QueueWorld:
    """A world, and queues in it under one key that no other test uses."""

    world: World
    key: str = field(default_factory=lambda: f"test:{uuid.uuid4().hex}")
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def queue(self, limits: QueueLimits | None = None) -> StageQueue:
        """A queue with these limits; on a server a second one sees what the first one stored."""
        if self.world.client is None:
            return MemoryStageQueue(self.key, limits or QueueLimits(), self.world.clock)
        return PriorityZSetQueue(self.world.client, self.key, limits or QueueLimits())

    def steering(self, queue: StageQueue) -> QueueSteering:
        """What operators have of that queue."""
        if isinstance(queue, MemoryStageQueue):
            return MemoryQueueSteering(queue)
        assert self.world.client is not None
        return RedisQueueSteering(self.world.client, self.key)

    def passes(self, milliseconds: int) -> None:
        self.world.passes(milliseconds)

    def new_id(self) -> str:
        return f"claim-{next(self.numbers)}"

    def claim(
        self, queue: StageQueue, limit: int = 100, lease_ms: int = LONG_MS, acks: Sequence[Lease] = ()
    ) -> tuple[Lease, ...]:
        """Claim under a fresh id; every ack that rides along must be taken."""
        claim = queue.claim(self.new_id(), limit, lease_ms, acks)
        assert claim.refused == ()
        return claim.leases

    def drain(self, queue: StageQueue) -> list[str]:
        """Claim and ack until nothing is ready; the members in the order in which they came."""
        found: list[str] = []
        while leases := self.claim(queue):
            assert queue.ack(leases) == ()
            found += members(leases)
        return found


def open_queue_world(request: pytest.FixtureRequest) -> QueueWorld:
    """The world that the fixture's parameter names."""
    return QueueWorld(open_world(request))


def entry(member: str, priority: Priority = NORMAL, source_ms: int = SOURCE_MS) -> QueueEntry:
    return QueueEntry(member, priority, source_ms, b"\x00envelope of " + member.encode())


def entries(names: Iterable[str], priority: Priority = NORMAL) -> list[QueueEntry]:
    return [entry(name, priority) for name in names]


def members(found: Claim | Iterable[Lease]) -> list[str]:
    leases = found.leases if isinstance(found, Claim) else found
    return [lease.member for lease in leases]
