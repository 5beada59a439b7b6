"""The stage queue against a small model: whatever is called, repeated or left undone, nothing is lost, nothing is in
two states, and what comes out comes out in order."""

import itertools
import uuid
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.queue_steering import MemoryQueueSteering
from issuetracker_dagster.adapters.redis.client import RedisClient, connect
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.adapters.redis.queue_steering import RedisQueueSteering
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Lease, PushResult, QueueEntry, QueueLimits
from issuetracker_dagster.model.queue_view import Move, MoveResult
from issuetracker_dagster.ports.queue import QueueSteering, StageQueue
from tests.examples import examples

NAMES = st.sampled_from([f"m{number}" for number in range(12)])
BATCH = st.lists(st.tuples(NAMES, st.sampled_from(Priority)), max_size=6)
MAX_SIZE, MAX_DELIVERIES = 8, 2
LONG_MS = 3_600_000
SOURCE_MS = 1_750_000_020_000


@dataclass
class Known:
    """What the model knows of a member. A `stay` of 0 ms is one that has ended."""

    priority: Priority
    order: int
    state: str = "ready"
    claim: str = ""
    stay_ms: int = LONG_MS
    deliveries: int = 0

    @property
    def place(self) -> tuple[int, int]:
        return self.priority, self.order


class QueueMachine(RuleBasedStateMachine):
    """A deadline is far away or has passed already (0 ms), so that the clock of a real server needn't be moved."""

    def make(self) -> StageQueue:
        return MemoryStageQueue("machine", QueueLimits(max_size=MAX_SIZE, max_deliveries=MAX_DELIVERIES), FakeClock())

    def steering_of(self, queue: StageQueue) -> QueueSteering:
        assert isinstance(queue, MemoryStageQueue)
        return MemoryQueueSteering(queue)

    @initialize()
    def start(self) -> None:
        self.queue = self.make()
        self.steering = self.steering_of(self.queue)
        self.numbers = itertools.count()
        self.known: dict[str, Known] = {}
        self.out: list[tuple[str, str]] = []
        self.leases: list[Lease] = []
        self.repeatable: dict[str, tuple[int, int, list[Lease]]] = {}

    def in_state(self, state: str) -> list[str]:
        return [name for name, one in self.known.items() if one.state == state]

    def in_order(self) -> list[str]:
        return sorted(self.in_state("ready"), key=lambda name: self.known[name].place)

    def holds(self, lease: Lease) -> bool:
        one = self.known.get(lease.member)
        return one is not None and one.state == "leased" and one.claim == lease.claim_id

    def leave(self, name: str, reason: str) -> None:
        self.known[name].state = "outbox"
        self.out.append((name, reason))

    @rule(batch=BATCH, twice=st.booleans())
    def push(self, batch: list[tuple[str, Priority]], twice: bool) -> None:
        entries = [QueueEntry(name, priority, SOURCE_MS, name.encode()) for name, priority in batch]
        result = self.queue.push(entries)
        added = known = promoted = evicted = 0
        for name, priority in batch:
            one = self.known.get(name)
            if one is None:
                self.known[name] = Known(priority, next(self.numbers))
                added += 1
            elif one.state != "outbox" and priority < one.priority:
                one.priority = priority
                promoted += 1
            else:
                known += 1
        while added and len(self.in_state("ready")) > MAX_SIZE:
            lowest = max(self.known[name].priority for name in self.in_state("ready"))
            oldest = next(name for name in self.in_order() if self.known[name].priority == lowest)
            self.leave(oldest, "overflow")
            evicted += 1
        assert result == PushResult(added, known, promoted, evicted)
        if twice:  # the reply was lost: the same once more
            assert self.queue.push(entries) == PushResult(known=len(batch))

    @rule(
        limit=st.integers(0, 5),
        ended=st.booleans(),
        twice=st.booleans(),
        picks=st.lists(st.integers(0, 40), max_size=4, unique=True),
    )
    def claim(self, limit: int, ended: bool, twice: bool, picks: list[int]) -> None:
        claim_id = f"c{next(self.numbers)}"
        acks = [self.leases[pick] for pick in picks if pick < len(self.leases)]
        stale = self.model_ack(acks)
        self.model_bring_back()
        expected = self.model_lease(claim_id, limit, 0 if ended else LONG_MS)
        found = self.queue.claim(claim_id, limit, 0 if ended else LONG_MS, acks)
        assert found.refused == stale
        assert [lease.member for lease in found.leases] == expected
        for lease in found.leases:
            one = self.known[lease.member]
            assert (lease.claim_id, lease.priority, lease.deliveries) == (claim_id, one.priority, one.deliveries)
            assert lease.envelope == lease.member.encode()
        if twice:
            again = self.queue.claim(claim_id, limit, 0 if ended else LONG_MS, acks)
            assert again == found
        self.leases += found.leases
        if found.leases:
            self.repeatable[claim_id] = (limit, 0 if ended else LONG_MS, acks)

    @rule(pick=st.integers(0, 40))
    def claim_again_later(self, pick: int) -> None:
        """Until a lease of it is presented, an old claim answers what it still holds and takes nothing more."""
        assume(pick < len(self.repeatable))
        claim_id = list(self.repeatable)[pick]
        limit, stay_ms, acks = self.repeatable[claim_id]
        found = self.queue.claim(claim_id, limit, stay_ms, acks)
        mine = [name for name in self.in_state("leased") if self.known[name].claim == claim_id]
        assert sorted(lease.member for lease in found.leases) == sorted(mine)

    def presents(self, leases: list[Lease]) -> None:
        for lease in leases:
            if self.holds(lease):
                self.repeatable.pop(lease.claim_id, None)

    def model_ack(self, leases: list[Lease]) -> tuple[str, ...]:
        self.presents(leases)
        stale = []
        for lease in leases:
            if self.holds(lease):
                del self.known[lease.member]
            else:
                stale.append(lease.member)
        return tuple(stale)

    def model_bring_back(self) -> None:
        for one in self.known.values():
            if one.state in ("leased", "delayed") and one.stay_ms == 0:
                one.state = "ready"

    def model_lease(self, claim_id: str, limit: int, stay_ms: int) -> list[str]:
        taken: list[str] = []
        for name in self.in_order():
            one = self.known[name]
            if len(taken) == limit or (taken and self.known[taken[0]].deliveries > 0):
                break
            if one.deliveries >= MAX_DELIVERIES:
                self.leave(name, "max_deliveries")
            elif one.deliveries and taken:
                break
            else:
                taken.append(name)
        for name in taken:
            one = self.known[name]
            one.state, one.claim, one.stay_ms, one.deliveries = "leased", claim_id, stay_ms, one.deliveries + 1
        return taken

    @rule(picks=st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True))
    def ack(self, picks: list[int]) -> None:
        leases = [self.leases[pick] for pick in picks if pick < len(self.leases)]
        assert self.queue.ack(leases) == self.model_ack(leases)
        assert self.queue.ack(leases) == tuple(lease.member for lease in leases)

    @rule(picks=st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True), ended=st.booleans())
    def extend(self, picks: list[int], ended: bool) -> None:
        leases = [self.leases[pick] for pick in picks if pick < len(self.leases)]
        self.presents(leases)
        stale = tuple(lease.member for lease in leases if not self.holds(lease))
        for _ in range(2):
            assert self.queue.extend(leases, 0 if ended else LONG_MS) == stale
        for lease in leases:
            if self.holds(lease):
                self.known[lease.member].stay_ms = 0 if ended else LONG_MS

    @rule(pick=st.integers(0, 40), ended=st.booleans())
    def nack(self, pick: int, ended: bool) -> None:
        assume(pick < len(self.leases))
        lease = self.leases[pick]
        one = self.known.get(lease.member)
        mine = self.holds(lease)
        before = one is not None and one.state == "delayed" and one.claim == lease.claim_id
        self.presents([lease])
        for _ in range(2):
            assert self.queue.nack(lease, 0 if ended else LONG_MS) == (mine or before)
        if mine and one is not None:
            one.state, one.stay_ms, one.deliveries = "delayed", 0 if ended else LONG_MS, one.deliveries - 1

    @rule(picks=st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True))
    def release(self, picks: list[int]) -> None:
        leases = [self.leases[pick] for pick in picks if pick < len(self.leases)]
        self.presents(leases)
        stale = []
        for lease in leases:
            one = self.known.get(lease.member)
            if one is not None and self.holds(lease):
                one.state, one.deliveries = "ready", one.deliveries - 1
            else:
                stale.append(lease.member)
        assert self.queue.release(leases) == tuple(stale)

    @rule()
    def reap(self) -> None:
        due = sum(one.state in ("leased", "delayed") and one.stay_ms == 0 for one in self.known.values())
        assert self.queue.reap() == due
        self.model_bring_back()

    @rule(count=st.integers(1, 3))
    def empty_outbox(self, count: int) -> None:
        found = self.queue.outbox(count)
        assert [(one.member, one.reason) for one in found] == self.out[:count]
        assert self.queue.outbox_remove(found) == len(found)
        assert self.queue.outbox_remove(found) == 0
        for name, _ in self.out[:count]:
            del self.known[name]
        self.out = self.out[count:]

    @rule(names=st.lists(NAMES, max_size=4, unique=True), to=st.sampled_from(Priority))
    def move(self, names: list[str], to: Priority) -> None:
        states = [self.known[name].state if name in self.known else "outbox" for name in names]
        waiting = [self.known[name] for name, state in zip(names, states, strict=True) if state in ("ready", "delayed")]
        moved = [one for one in waiting if one.priority is not to]
        expected = MoveResult(
            moved=len(moved),
            same=len(waiting) - len(moved),
            leased=states.count("leased"),
            gone=states.count("outbox"),
        )
        assert self.steering.move([Move(name, name.encode()) for name in names], to) == expected
        for one in moved:
            one.priority = to

    @rule(name=NAMES)
    def look(self, name: str) -> None:
        assert [view.member for view in self.steering.peek(None, 100)] == self.in_order()
        seen = [(view.state, view.priority) for view in self.steering.find([name])]
        one = self.known.get(name)
        expected = [] if one is None else [(one.state, None if one.state == "outbox" else one.priority)]
        assert seen == expected

    @invariant()
    def every_member_is_in_exactly_one_state(self) -> None:
        depth = self.queue.depth()
        assert depth.ready == len(self.in_state("ready"))
        assert depth.leased == len(self.in_state("leased"))
        assert depth.delayed == len(self.in_state("delayed"))
        assert depth.outbox == len(self.out) == len(self.in_state("outbox"))
        assert depth.total == len(self.known)
        assert (self.queue.oldest_source_ms() is None) == (not self.known)

    def teardown(self) -> None:
        """Nothing was lost: everything that is still held comes out, in order, and then nothing is left."""
        live = [lease for lease in self.leases if self.holds(lease)]
        self.release([self.leases.index(lease) for lease in live])
        self.model_bring_back()
        expected = set(self.known) - set(self.in_state("delayed"))
        found: set[str] = {name for name, _ in self.out}
        last = (0, 0)
        while leases := self.queue.claim(f"c{next(self.numbers)}", 5, LONG_MS).leases:
            for lease in leases:
                assert self.known[lease.member].place > last
                last = self.known[lease.member].place
                found.add(lease.member)
            assert self.queue.ack(leases) == ()
        found |= {one.member for one in self.queue.outbox(1000)}
        assert found == expected


@pytest.fixture
def valkey_client(valkey_url: str) -> RedisClient:
    return connect(valkey_url)


def test_any_history_in_memory_keeps_every_promise() -> None:
    run_state_machine_as_test(
        QueueMachine,
        settings=settings(max_examples=examples(150), stateful_step_count=30, deadline=None),
    )


@pytest.mark.services
@pytest.mark.slow
def test_any_history_on_valkey_keeps_every_promise(valkey_client: RedisClient) -> None:
    class ValkeyMachine(QueueMachine):
        def make(self) -> StageQueue:
            limits = QueueLimits(max_size=MAX_SIZE, max_deliveries=MAX_DELIVERIES)
            return PriorityZSetQueue(valkey_client, f"machine:{uuid.uuid4().hex}", limits)

        def steering_of(self, queue: StageQueue) -> QueueSteering:
            return RedisQueueSteering(valkey_client, queue.name)

    run_state_machine_as_test(
        ValkeyMachine,
        settings=settings(
            max_examples=60,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking there takes minutes; memory has it
        ),
    )
