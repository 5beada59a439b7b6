"""The buffer against a small model: whatever drainers come, die, return late or repeat themselves, nothing is lost,
nothing is in two places, and jobs come out in the order in which they went in."""

import itertools
import uuid
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from issuetracker_dagster.adapters.memory.buffer import MemoryBuffer
from issuetracker_dagster.adapters.redis.buffer import RedisBuffer
from issuetracker_dagster.adapters.redis.client import RedisClient, connect
from issuetracker_dagster.errors import StaleLease
from issuetracker_dagster.ports.buffer import Buffer
from tests.examples import examples

MAX_LEN = 6
EPOCHS = st.integers(1, 12)


class BufferMachine(RuleBasedStateMachine):
    """Epochs are drawn freely, so drainers come out of turn: newer ones without a recovery, fenced ones again."""

    def make(self) -> Buffer:
        return MemoryBuffer("machine", max_len=MAX_LEN)

    @initialize()
    def start(self) -> None:
        self.buffer = self.make()
        self.numbers = itertools.count()
        self.line: list[bytes] = []
        self.draining: dict[int, list[bytes]] = {}
        self.out: list[bytes] = []
        self.epoch = 0
        self.unpublished: set[bytes] = set()

    @rule(count=st.integers(0, 9))
    def push(self, count: int) -> None:
        batch = [b"%06d" % next(self.numbers) for _ in range(count)]
        self.line += batch
        self.unpublished |= set(batch)
        surplus = max(len(self.line) - MAX_LEN, 0) if batch else 0
        self.out += self.line[:surplus]
        del self.line[:surplus]
        assert self.buffer.push(batch) == surplus

    @rule(epoch=EPOCHS, limit=st.integers(0, 5))
    def take(self, epoch: int, limit: int) -> None:
        if self.is_fenced(epoch, lambda: self.buffer.take(epoch, limit)):
            return
        if epoch not in self.draining and self.line[:limit]:
            self.draining[epoch] = self.line[:limit]
            del self.line[:limit]
        for _ in range(2):
            assert list(self.buffer.take(epoch, limit)) == self.draining.get(epoch, [])

    @rule(epoch=EPOCHS, limit=st.integers(0, 5))
    def advance(self, epoch: int, limit: int) -> None:
        # A drainer advances past what it took itself, so not past what another one left under its epoch.
        if self.is_fenced(epoch, lambda: self.buffer.advance(epoch, limit)):
            return
        self.unpublished -= set(self.draining.pop(epoch, []))
        if self.line[:limit]:
            self.draining[epoch] = self.line[:limit]
            del self.line[:limit]
        assert list(self.buffer.advance(epoch, limit)) == self.draining.get(epoch, [])
        assert list(self.buffer.take(epoch, limit)) == self.draining.get(epoch, [])

    @rule(limit=st.integers(0, 5))
    def peek(self, limit: int) -> None:
        assert list(self.buffer.peek(limit)) == self.line[:limit]

    @rule(epoch=EPOCHS)
    def done(self, epoch: int) -> None:
        for _ in range(2):
            self.buffer.done(epoch)
        self.unpublished -= set(self.draining.pop(epoch, []))

    @rule(epoch=EPOCHS)
    def put_back(self, epoch: int) -> None:
        returned = self.draining.pop(epoch, []) if epoch >= self.epoch else []
        self.epoch = max(self.epoch, epoch)
        self.line[:0] = returned
        assert self.buffer.put_back(epoch) == len(returned)
        assert self.buffer.put_back(epoch) == 0

    @rule(epoch=EPOCHS)
    def recover(self, epoch: int) -> None:
        if self.is_fenced(epoch, lambda: self.buffer.recover(epoch)):
            return
        returned = [one for older in sorted(self.draining) if older < epoch for one in self.draining.pop(older)]
        self.line[:0] = returned
        assert self.buffer.recover(epoch) == len(returned)
        assert self.buffer.recover(epoch) == 0

    @rule(count=st.integers(1, 4))
    def empty_outbox(self, count: int) -> None:
        found = self.buffer.outbox(count)
        assert list(found) == self.out[:count]
        assert self.buffer.outbox_remove(found) == len(found)
        assert self.buffer.outbox_remove(found) == 0
        self.unpublished -= set(self.out[:count])
        del self.out[:count]

    @rule(epoch=EPOCHS, names=st.lists(st.sampled_from(["a:1", "b:2"]), max_size=2, unique=True))
    def pause(self, epoch: int, names: list[str]) -> None:
        if epoch < self.epoch:
            with pytest.raises(StaleLease):
                self.buffer.pause(epoch, names)
            return
        self.buffer.pause(epoch, names)
        assert list(self.buffer.paused()) == names
        assert self.buffer.state().paused == bool(names)

    def is_fenced(self, epoch: int, call: Callable[[], object]) -> bool:
        """Whether the epoch is an old one, whose call then is refused; else it is the highest from now on."""
        if epoch >= self.epoch:
            self.epoch = epoch
            return False
        with pytest.raises(StaleLease):
            call()
        return True

    @invariant()
    def every_job_is_in_exactly_one_place(self) -> None:
        state = self.buffer.state()
        assert state.waiting == len(self.line)
        assert state.draining == sum(map(len, self.draining.values()))
        assert state.outbox == len(self.out)
        assert state.backlog + state.outbox == len(self.unpublished)

    def teardown(self) -> None:
        """Nothing was lost: a last drainer gets all that no one published."""
        found = set(self.buffer.outbox(1_000))
        self.buffer.recover(100)
        expected = [one for epoch in sorted(self.draining) for one in self.draining[epoch]] + self.line
        drained: list[bytes] = []
        while taken := self.buffer.take(100, 4):
            drained += taken
            self.buffer.done(100)
        assert drained == expected
        assert found | set(drained) == self.unpublished


@pytest.fixture
def valkey_client(valkey_url: str) -> RedisClient:
    return connect(valkey_url)


def test_any_history_in_memory_keeps_every_promise() -> None:
    run_state_machine_as_test(
        BufferMachine,
        settings=settings(max_examples=examples(150), stateful_step_count=30, deadline=None),
    )


@pytest.mark.services
@pytest.mark.slow
def test_any_history_on_valkey_keeps_every_promise(valkey_client: RedisClient) -> None:
    class ValkeyMachine(BufferMachine):
        def make(self) -> Buffer:
            return RedisBuffer(valkey_client, f"machine:{uuid.uuid4().hex}", max_len=MAX_LEN)

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
