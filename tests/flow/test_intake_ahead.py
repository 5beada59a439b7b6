"""While one batch is stored the next is read: nothing is committed that isn't stored, and nothing stays in hand."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import pytest

from issuetracker_dagster.adapters.memory.locks import MemoryLocks
from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.readers import MemoryIntakeReader
from issuetracker_dagster.errors import Full, PublishFailed, Unavailable
from issuetracker_dagster.flow.intake import COMMIT_S, PAUSE_S
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.queue import PushResult, QueueEntry
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from issuetracker_dagster.ports.locks import LockHold
from issuetracker_dagster.ports.topics import Position, TopicPartition
from tests.flow.world import NoDlq, World, message

GROUP = FACTS[Stage.PARSER].group
DEADLINE_S = 10.0


class Reader(MemoryIntakeReader):
    """Counts commits, and runs `at_poll` before each poll."""

    def __init__(self, world: World, at_poll: Callable[[], object] = lambda: None) -> None:
        super().__init__(world.broker, Topic.FETCHED.value, GROUP)
        self._at_poll = at_poll
        self.commits = 0

    def poll(self, limit: int, timeout_ms: int) -> Sequence[Record]:
        self._at_poll()
        return super().poll(limit, timeout_ms)

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        self.commits += 1
        super().commit(positions)


class Pushes:
    """A queue's pushes from now on: each runs `at_push` with its number first, and is noted unless that raises."""

    def __init__(self, queue: MemoryStageQueue, at_push: Callable[[int], object] = lambda _: None) -> None:
        self._push = queue.push
        self._at_push = at_push
        self._begun = 0
        self.batches: list[list[str]] = []
        queue.push = self  # type: ignore[method-assign]

    def __call__(self, entries: Sequence[QueueEntry]) -> PushResult:
        self._begun += 1
        self._at_push(self._begun)
        self.batches.append([entry.member for entry in entries])
        return self._push(entries)


def committed(world: World) -> int:
    return sum(position.offset for position in world.broker.committed(GROUP).values())


def send(world: World, count: int) -> set[str]:
    """The identities of so many messages that are there to be read."""
    messages = [message(f"m{number}") for number in range(count)]
    world.send(Topic.FETCHED, *messages)
    return {one.identity for one in messages}


def ready(queue: MemoryStageQueue) -> list[str]:
    return sorted(lease.member for lease in queue.claim("looking", 1_000, 60_000).leases)


def test_the_next_batch_is_read_while_one_is_stored() -> None:
    world = World()
    queue, polls = world.queue(), threading.Semaphore(0)

    def wait_for_the_next_poll(_: int) -> None:
        for _ in range(2):  # that of this batch, and the next
            assert polls.acquire(timeout=DEADLINE_S)

    Pushes(queue, wait_for_the_next_poll)
    send(world, 4)
    assert world.intake(queue, batch=4, reader=Reader(world, polls.release)).tick(10).stored == 4


def test_commits_wait_while_more_lies_ready_and_a_tick_leaves_nothing_uncommitted() -> None:
    world = World()
    queue, reader = world.queue(), Reader(world)
    send(world, 40)
    assert world.intake(queue, batch=2, reader=reader).tick(2_000).stored == committed(world) == 40
    assert reader.commits == 2  # the first, after a long time without any, and the last


def test_no_commit_waits_for_longer_than_half_a_second() -> None:
    world = World()
    queue, reader = world.queue(), Reader(world)
    Pushes(queue, lambda _: world.fake_clock.advance(COMMIT_S * 1_000))
    send(world, 40)
    world.intake(queue, batch=2, reader=reader).tick(60_000)
    assert (committed(world), reader.commits) == (40, 20)


def test_messages_that_come_one_by_one_are_stored_several_at_once() -> None:
    world = World()
    queue = world.queue()
    names = iter(range(100))

    def one_more_arrives() -> None:
        if (number := next(names, None)) is not None:
            world.send(Topic.FETCHED, message(f"m{number}"))

    pushes = Pushes(queue)
    world.intake(queue, batch=50, reader=Reader(world, one_more_arrives)).tick(1_000)
    assert 1 <= len(pushes.batches) <= 1 / PAUSE_S + 1


def test_a_message_that_comes_alone_is_stored_at_once() -> None:
    world = World()
    queue, at = world.queue(), []
    Pushes(queue, lambda _: at.append(world.fake_clock.monotonic()))
    send(world, 1)
    began = world.fake_clock.monotonic()
    world.intake(queue, batch=50).tick(1_000)
    assert at == [began]


def test_a_tick_whose_time_is_over_stores_and_commits_what_it_has_read() -> None:
    world = World()
    queue = world.queue()
    Pushes(queue, lambda _: world.fake_clock.advance(100))
    send(world, 40)
    report = world.intake(queue, batch=2).tick(250)
    assert 4 <= report.stored < 40
    assert len(ready(queue)) == committed(world) == report.stored


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_what_was_read_behind_a_refused_entry_is_given_up_and_comes_again(size: int) -> None:
    world = World()
    queue = world.queue(max_size=size, backpressure=True)
    sent = send(world, 20)
    intake = world.intake(queue, batch=2)
    seen: list[str] = []
    for number in range(40):
        intake.tick(2_000)
        assert committed(world) <= len(seen) + queue.depth().ready
        leases = queue.claim(f"c{number}", size, 60_000).leases
        seen += [lease.member for lease in leases]
        queue.ack(leases)
    assert (committed(world), set(seen)) == (20, sent)
    assert Counter(seen).total() - 20 <= 20  # at most what lay behind a refused one in its batch


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_a_push_that_fails_ends_the_tick_and_the_next_one_stores_all(failing: int) -> None:
    world = World()
    queue = world.queue()

    def fail(number: int) -> None:
        if number == failing:
            raise Unavailable("Redis is out")

    Pushes(queue, fail)
    sent = send(world, 8)
    intake = world.intake(queue, batch=2)
    with pytest.raises(Unavailable):
        intake.tick(2_000)
    assert committed(world) <= 2 * (failing - 1)
    assert intake.tick(2_000).skipped == ""
    assert (committed(world), ready(queue)) == (8, sorted(sent))


def test_what_cant_be_stored_has_what_lies_before_it_repeated_once_only() -> None:
    world = World()
    queue = world.queue()

    def fail(number: int) -> None:
        if number in {5, 8, 11, 12}:
            raise Full("Redis is full")

    pushes = Pushes(queue, fail)
    send(world, 20)
    intake = world.intake(queue, batch=2)
    for _ in range(4):
        with pytest.raises(Full):
            intake.tick(2_000)
        queue.ack(queue.claim("worker", 1_000, 60_000).leases)
    intake.tick(2_000)
    stored = Counter(member for batch in pushes.batches for member in batch)
    assert (len(stored), committed(world)) == (20, 20)
    assert stored.total() <= 20 + 8, "only the first of the failing ticks had anything uncommitted"


def test_a_letter_that_the_dlq_doesnt_take_has_what_lies_before_it_repeated_once_only() -> None:
    world = World()
    queue = world.queue()
    pushes = Pushes(queue)
    send(world, 10)
    world.producer.publish([Outgoing(Topic.FETCHED, b"m1", b"junk", [])])
    world.producer = NoDlq(world.broker)
    intake = world.intake(queue, batch=1)
    for _ in range(5):
        with pytest.raises(PublishFailed):
            intake.tick(2_000)
        queue.ack(queue.claim("worker", 1_000, 60_000).leases)
    assert max(Counter(member for batch in pushes.batches for member in batch).values()) <= 2


def test_a_broker_that_goes_while_a_batch_is_stored_lets_the_push_end_before_the_lock_goes() -> None:
    world = World()
    queue, pushing, released = world.queue(), threading.Event(), threading.Event()

    class Locks(MemoryLocks):
        def release(self, hold: LockHold) -> bool:
            assert len(pushes.batches) == 1
            released.set()
            return super().release(hold)

    world.locks = Locks(world.clock)

    def stop_the_broker() -> None:
        if pushes_begin and pushing.wait(DEADLINE_S):
            world.broker.stop()
        pushes_begin.append(True)

    pushes_begin: list[bool] = []
    pushes = Pushes(queue, lambda _: pushing.set())
    send(world, 4)
    intake = world.intake(queue, batch=2, reader=Reader(world, stop_the_broker))
    with pytest.raises(Unavailable):
        intake.tick(2_000)
    assert released.is_set()
    world.broker.start()
    assert committed(world) == 0


def test_an_intake_that_lost_its_lock_commits_nothing_of_what_it_read_ahead() -> None:
    world = World()
    queue = world.queue()
    send(world, 40)

    def stopped_for_long(number: int) -> None:
        if number == 3:
            world.fake_clock.advance(60_000)
            assert world.locks.acquire("intake:parser", 1_000)

    pushes = Pushes(queue, stopped_for_long)
    intake = world.intake(queue, batch=2)
    assert "still in the group" in intake.tick(2_000).skipped
    assert len(pushes.batches) == 3
    assert committed(world) == 2
    world.fake_clock.advance(1_001)
    intake.tick(2_000)
    assert (committed(world), len(ready(queue))) == (40, 40)


def test_a_queue_that_is_lost_while_the_next_batch_is_read_is_filled_again() -> None:
    world = World()
    queue = world.queue()
    sent = send(world, 12)

    def lose(number: int) -> None:
        if number == 4:
            queue.wipe()

    Pushes(queue, lose)
    intake = world.intake(queue, batch=2)
    with pytest.raises(Unavailable, match="lost"):
        intake.tick(2_000)
    assert intake.tick(2_000).rewound_to_ms is not None
    assert (committed(world), ready(queue)) == (12, sorted(sent))
