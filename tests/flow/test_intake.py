"""The intake: stored, then committed; nothing skipped, nothing lost, whatever comes in between."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from issuetracker_dagster.adapters.memory.readers import MemoryGroupReader, MemoryIntakeReader
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.message import Outgoing, decode_envelope
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import PushResult, QueueEntry
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from issuetracker_dagster.ports.topics import Position, TopicPartition
from tests.flow.world import World, dlq_notes, message

GROUP = FACTS[Stage.PARSER].group


def committed(world: World) -> int:
    """Messages that the group has committed, over all partitions."""
    return sum(position.offset for position in world.broker.committed(GROUP).values())


def test_messages_are_stored_with_key_headers_and_priority_then_committed() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, message("a", Priority.LOW, recrawl_count=2), message("b", Priority.HIGH))
    report = world.intake(queue).tick(8_000)
    assert (report.stored, committed(world)) == (2, 2)
    first, second = queue.claim("c1", 2, 60_000).leases
    assert (first.member, second.member) == ("b:0", "a:0")
    kept = decode_envelope(second.envelope)
    assert kept.headers == message("a", Priority.LOW, recrawl_count=2).headers
    assert kept.key == b"a"
    assert kept.origin is not None
    assert kept.origin.topic == Topic.FETCHED


def test_what_somebody_else_noted_with_the_offset_ends_no_tick() -> None:
    world = World()
    noted = Position(0, '{"x":' + "[" * 4_000)  # as much as a broker keeps
    world.broker.commit(GROUP, {("fetched", partition): noted for partition in (0, 1)})
    world.send(Topic.FETCHED, message("a"))
    assert world.intake(world.queue()).tick(8_000).stored == 1


def test_nothing_is_committed_when_the_push_fails_and_nothing_is_lost() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, message("a"))
    intake = world.intake(queue)
    push = queue.push

    def broken(entries: object) -> PushResult:
        raise Unavailable("Redis is out")

    queue.push = broken  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        intake.tick(8_000)
    assert committed(world) == 0
    queue.push = push  # type: ignore[method-assign]
    assert intake.tick(8_000).stored == 1
    assert committed(world) == 1


def test_a_malformed_message_is_dead_lettered_with_its_bytes_and_does_not_stop_the_others() -> None:
    world = World()
    queue = world.queue()
    world.producer.publish([Outgoing(Topic.FETCHED, b"k", b"\x00junk", [("root_id", b""), ("x", b"\xff")])])
    world.send(Topic.FETCHED, message("a"))
    report = world.intake(queue).tick(8_000)
    assert (report.stored, report.dead_lettered, committed(world)) == (1, 1, 2)
    (dead,) = world.records(Topic.DLQ)
    assert (dead.key, dead.value, dead.headers[:2]) == (b"k", b"\x00junk", (("root_id", b""), ("x", b"\xff")))
    assert dlq_notes(dead)["reason"] == "malformed"
    assert dlq_notes(dead)["source_topic"] == Topic.FETCHED


def test_what_a_full_queue_refuses_stays_in_kafka_uncommitted() -> None:
    world = World()
    queue = world.queue(max_size=3, backpressure=True)
    world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(10)])
    intake = world.intake(queue)
    report = intake.tick(8_000)
    assert (report.stored, report.refused) == (3, 7)
    seen = []
    for round_number in range(10):
        leases = queue.claim(f"c{round_number}", 3, 60_000).leases
        seen += [lease.member for lease in leases]
        queue.ack(leases)
        intake.tick(8_000)
    assert sorted(seen) == sorted(f"m{n}:0" for n in range(10))
    assert len(seen) == 10


def test_a_message_delivered_twice_by_kafka_is_in_the_queue_once() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, message("a"), message("a"))
    report = world.intake(queue).tick(8_000)
    assert (report.stored, report.known) == (1, 1)


def test_two_intakes_of_one_stage_never_work_at_once() -> None:
    world = World()
    assert world.locks.acquire("intake:parser", 60_000)
    assert "another intake" in world.intake(world.queue()).tick(8_000).skipped


def test_a_dead_intake_holds_the_lock_for_a_bounded_time_only() -> None:
    world = World()
    world.send(Topic.FETCHED, message("a"))
    assert world.locks.acquire("intake:parser", 38_000)
    world.fake_clock.advance(38_001)
    assert world.intake(world.queue()).tick(8_000).stored == 1


def test_a_lost_queue_is_filled_again_from_kafka() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(6)])
    world.intake(queue).tick(8_000)
    done = queue.claim("c1", 2, 60_000).leases
    queue.ack(done)
    wiped = world.queue()  # the server came back empty: another epoch
    report = world.intake(wiped).tick(8_000)
    assert report.rewound_to_ms is not None
    waiting = {lease.member for lease in wiped.claim("c2", 100, 60_000).leases}
    assert waiting >= {f"m{n}:0" for n in range(6)} - {lease.member for lease in done}


def test_a_queue_lost_in_the_middle_of_a_tick_is_filled_again_by_the_next() -> None:
    world = World()
    queue = world.queue()
    intake = world.intake(queue)
    early = [message(f"early{n}") for n in range(6)]
    world.send(Topic.FETCHED, *early)
    intake.tick(8_000)
    world.fake_clock.advance(600_000)
    world.send(Topic.FETCHED, *[message(f"late{n}") for n in range(6)])
    push = queue.push

    def lost_just_before(entries: Sequence[QueueEntry]) -> PushResult:
        queue.wipe()
        return push(entries)

    queue.push = lost_just_before  # type: ignore[method-assign]
    with pytest.raises(Unavailable, match="lost"):
        intake.tick(8_000)
    queue.push = push  # type: ignore[method-assign]
    assert intake.tick(8_000).rewound_to_ms is not None
    waiting = {lease.member for lease in queue.claim("c1", 100, 60_000).leases}
    assert waiting >= {one.identity for one in early}


def test_a_queue_lost_while_shifts_read_kafka_without_redis_is_filled_again_all_the_same() -> None:
    world = World()
    sent = [message(f"m{n}") for n in range(6)]
    world.send(Topic.FETCHED, *sent)
    world.intake(world.queue()).tick(8_000)
    world.send(Topic.FETCHED, *[message(f"late{n}") for n in range(20)])
    blind = MemoryGroupReader(world.broker, [Topic.FETCHED.value], GROUP, keeps_notes=True)
    blind.settled(blind.poll(100, 1_000))
    blind.close()
    wiped = world.queue()
    assert world.intake(wiped).tick(8_000).rewound_to_ms is not None
    assert {lease.member for lease in wiped.claim("c", 100, 60_000).leases} >= {one.identity for one in sent}


def test_a_refilled_queue_is_not_refilled_twice() -> None:
    world = World()
    world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(6)])
    world.intake(world.queue()).tick(8_000)
    wiped = world.queue()
    world.intake(wiped).tick(8_000)
    wiped.ack(wiped.claim("c2", 100, 60_000).leases)
    report = world.intake(wiped).tick(8_000)
    assert (report.rewound_to_ms, report.stored) == (None, 0)


def test_a_lost_queue_whose_messages_wait_for_a_retry_is_filled_again_from_before_them() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, message("early"))
    world.intake(queue).tick(8_000)
    (lease,) = queue.claim("c1", 1, 60_000).leases
    world.retries.schedule(decode_envelope(lease.envelope), Topic.FETCHED, Stage.PARSER, 10**15)
    queue.ack([lease])
    world.fake_clock.advance(600_000)
    world.send(Topic.FETCHED, message("late"))
    world.intake(queue).tick(8_000)
    report = world.intake(world.queue()).tick(8_000)
    assert report.stored == 2


def test_a_settled_queue_that_is_lost_repeats_nothing() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, message("a"))
    intake = world.intake(queue)
    intake.tick(8_000)
    queue.ack(queue.claim("c1", 1, 60_000).leases)
    world.fake_clock.advance(61_000)
    intake.tick(8_000)  # notes that all is settled
    report = world.intake(world.queue()).tick(8_000)
    assert report.stored == 0


def test_commits_wait_until_direct_readers_have_left_the_group() -> None:
    world = World()
    queue = world.queue()
    reader = MemoryGroupReader(world.broker, [Topic.FETCHED.value], GROUP)
    world.send(Topic.FETCHED, message("a"), message("b"))
    reader.poll(10, 0)
    intake = world.intake(queue)
    assert "still in the group" in intake.tick(8_000).skipped
    assert queue.depth().ready == 0  # what they are at work on must not be handed out a second time
    reader.close()
    report = intake.tick(8_000)
    assert report.skipped == ""
    assert queue.depth().ready == 2
    assert committed(world) == 2


def test_what_direct_readers_handled_meanwhile_is_not_read_again() -> None:
    world = World()
    queue = world.queue()
    intake = world.intake(queue)
    world.send(Topic.FETCHED, message("before"))
    intake.tick(8_000)
    reader = MemoryGroupReader(world.broker, [Topic.FETCHED.value], GROUP)
    world.send(Topic.FETCHED, *[message(f"direct{n}") for n in range(5)])
    reader.settled(reader.poll(10, 0))
    reader.close()
    world.send(Topic.FETCHED, message("after"))
    assert intake.tick(8_000).stored == 1


def test_offsets_removed_by_retention_are_told_and_reading_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(8)])
    intake = world.intake(queue)
    intake.tick(8_000)
    world.send(Topic.FETCHED, *[message(f"n{n}") for n in range(8)])
    for partition in (0, 1):
        world.broker.trim(Topic.FETCHED.value, partition, world.broker.log((Topic.FETCHED.value, partition)).end - 1)
    queue.ack(queue.claim("c", 100, 60_000).leases)
    intake.tick(8_000)
    assert "removed by retention" in caplog.text
    assert queue.depth().ready == 2


def test_the_note_beside_an_offset_names_epoch_and_oldest_time() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, message("a"))
    world.intake(queue).tick(8_000)
    (note,) = [position.metadata for position in world.broker.committed(GROUP).values() if position.offset]
    decoded = msgspec.json.decode(note)
    assert decoded["epoch"] == queue.open()
    assert abs(decoded["oldest_ms"] - world.clock.now_ms()) < 60_000


def test_an_intake_that_is_alone_keeps_its_place_between_ticks() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, message("a"))
    world.intake(queue).tick(2_000)
    reader = CountingReader(world.broker, Topic.FETCHED.value, GROUP)
    intake = world.intake(queue, reader=reader)
    for _ in range(3):
        intake.tick(2_000)
    assert reader.resets == 1  # the first tick finds what the intake before it committed


def test_finding_24_an_intake_resumed_after_its_lock_takes_back_nothing_that_its_successor_committed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(60)])
    successor = world.intake(queue)

    class Stopped(MemoryIntakeReader):
        """Stopped once in the last moment before a commit, until another intake has done all the work."""

        def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
            world.fake_clock.advance(60_000)
            successor.tick(2_000)
            queue.ack(queue.claim("c1", 100, 60_000).leases)
            super().commit(positions)

    world.intake(queue, batch=2, reader=Stopped(world.broker, Topic.FETCHED.value, GROUP)).tick(10)
    assert committed(world) < 60
    report = successor.tick(2_000)
    assert (report.stored, report.known, committed(world)) == (0, 0, 60)
    assert "had lost its lock" in caplog.text
    world.send(Topic.FETCHED, message("later"))
    assert successor.tick(2_000).stored == 1


def test_offsets_that_people_set_back_are_obeyed() -> None:
    world = World()
    queue = world.queue()
    world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(6)])
    intake = world.intake(queue)
    intake.tick(2_000)
    queue.ack(queue.claim("c1", 100, 60_000).leases)
    by_hand = MemoryIntakeReader(world.broker, Topic.FETCHED.value, GROUP)
    by_hand.commit({partition: Position(0) for partition in by_hand.committed()})
    assert intake.tick(2_000).stored == 6


class CountingReader(MemoryIntakeReader):
    """Counts how often it lost its place."""

    resets = 0

    def reset(self) -> None:
        self.resets += 1
        super().reset()
