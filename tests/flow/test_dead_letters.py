"""What is dead leaves for the DLQ and holds up nobody, whatever its size."""

from collections.abc import Sequence

import msgspec
import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.readers import MemoryGroupReader, MemoryProducer
from issuetracker_dagster.errors import PermanentError, PublishFailed, RecordsRefused, Unavailable
from issuetracker_dagster.flow.dead_letter import bury, dead_letter
from issuetracker_dagster.flow.direct import TopicFeed
from issuetracker_dagster.flow.reap import empty_outbox
from issuetracker_dagster.flow.settle import Done
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Message, Origin, Outgoing, Record
from issuetracker_dagster.model.queue import PushResult, QueueEntry, queue_entry
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from tests.flow.world import HalfDlq, World, dlq_notes, message
from tests.waiting import eventually

TOO_LARGE = b"x" * 3_000_000
"""More than the DLQ takes; a producer that compresses gets it into any other topic."""


def huge() -> Message:
    return msgspec.structs.replace(message("huge"), value=TOO_LARGE)


def test_an_outbox_empties_although_one_of_its_entries_is_too_large_for_the_dlq() -> None:
    world = World()
    queue = world.queue(max_size=1)
    queue.push([queue_entry(one) for one in (message("a"), huge(), message("b"), message("stays"))])
    assert empty_outbox(queue, Stage.PARSER, world.producer, world.clock) == 3
    assert queue.outbox() == ()
    letters = {headers_from_raw(record.headers).root_id: record for record in world.records(Topic.DLQ)}
    assert letters.keys() == {"a", "huge", "b"}
    assert len(world.records(Topic.DLQ)) == 3
    assert letters["a"].value == message("a").value


def test_a_letter_too_large_for_the_dlq_is_buried_without_its_value_and_says_where_that_is() -> None:
    world = World()
    bury(world.producer, [dead_letter(huge(), Stage.PARSER, "invalid", "no title", 7)])
    (record,) = world.records(Topic.DLQ)
    assert (record.key, record.value) == (b"huge", b"")
    notes = dlq_notes(record)
    assert (notes["reason"], notes["source_topic"], notes["source_offset"]) == ("invalid", "fetched", "1")
    assert notes["value_bytes"] == "3000000"


def test_a_malformed_record_too_large_for_the_dlq_does_not_hold_up_its_partition() -> None:
    world = World()
    for partition in (0, 1):
        origin = Origin("fetched", partition, 0, 1_000)
        world.broker.log(("fetched", partition)).records.append(Record(origin, None, TOO_LARGE, ()))
    world.send(Topic.FETCHED, message("a"))
    report = world.intake(world.queue()).tick(8_000)
    assert (report.stored, report.dead_lettered) == (1, 2)
    assert len(world.records(Topic.DLQ)) == 2


def test_a_failed_message_too_large_for_the_dlq_is_settled() -> None:
    world = World()
    settlement = world.settler(Stage.PARSER).settle(huge(), None, PermanentError("no title", code="invalid"))
    assert settlement == Done(succeeded=False, kind="dead_lettered", reason="invalid")


def test_letters_that_cannot_be_written_are_not_taken_for_buried() -> None:
    world = World()
    world.broker.stop()
    with pytest.raises(PublishFailed):
        bury(world.producer, [dead_letter(huge(), Stage.PARSER, "invalid", "no title", 7)])


def junk(world: World, count: int) -> set[tuple[int, int]]:
    """Records without an identity in `fetched`; the places of all of them."""
    world.producer.publish([Outgoing(Topic.FETCHED, b"%d" % n, b"junk", []) for n in range(count)])
    return {(record.origin.partition, record.origin.offset) for record in world.records(Topic.FETCHED)}


def buried_places(world: World) -> list[tuple[int, int]]:
    notes = [dlq_notes(record) for record in world.records(Topic.DLQ)]
    return sorted((int(note["source_partition"]), int(note["source_offset"])) for note in notes)


def test_letters_of_an_intake_that_arrived_before_the_broker_failed_are_not_sent_again() -> None:
    """Of what has no identity two letters would stay two."""
    world = World()
    places = junk(world, 7)
    world.producer = HalfDlq(world.broker)
    intake = world.intake(world.queue())
    with pytest.raises(PublishFailed):
        intake.tick(8_000)
    intake.tick(8_000)
    assert buried_places(world) == sorted(places)


def test_letters_of_an_intake_whose_push_failed_are_not_sent_again() -> None:
    world = World()
    places = junk(world, 3)
    world.send(Topic.FETCHED, message("a"))
    queue = world.queue()
    push, calls = queue.push, iter(range(9))

    def fails_once(entries: Sequence[QueueEntry]) -> PushResult:
        if next(calls) == 0:
            raise Unavailable("Redis is out")
        return push(entries)

    queue.push = fails_once  # type: ignore[method-assign]
    intake = world.intake(queue)
    with pytest.raises(Unavailable):
        intake.tick(8_000)
    assert intake.tick(8_000).stored == 1
    assert buried_places(world) == sorted(places)


def test_in_direct_mode_neither() -> None:
    world = World(SystemClock())
    places = junk(world, 7)
    group = FACTS[Stage.PARSER].group
    reader = MemoryGroupReader(world.broker, [Topic.FETCHED.value], group)
    shelf = Shelf(world.clock, capacity=9)
    feed = TopicFeed(Stage.PARSER, reader, {Topic.FETCHED.value: shelf}, HalfDlq(world.broker), world.clock)
    feed.start()
    eventually(lambda: sum(at.offset for at in world.broker.committed(group).values()) == 7)
    feed.close()
    assert buried_places(world) == sorted(places)


def test_entries_of_an_outbox_whose_letters_arrived_are_gone_from_it() -> None:
    world = World()
    queue = world.queue(max_size=1)
    queue.push([queue_entry(message(f"m{n}")) for n in range(6)])
    half = HalfDlq(world.broker)
    with pytest.raises(PublishFailed):
        empty_outbox(queue, Stage.PARSER, half, world.clock)
    assert len(queue.outbox()) == 2
    assert empty_outbox(queue, Stage.PARSER, half, world.clock) == 2
    assert len(world.records(Topic.DLQ)) == 5


def test_letters_that_arrived_without_their_value_are_told_from_those_that_did_not() -> None:
    world = World()
    sent = [dead_letter(huge(), Stage.PARSER, "invalid", "no title", 7) for _ in range(4)]
    small = dead_letter(message("small"), Stage.PARSER, "invalid", "no title", 7)

    class RefusesLarge(HalfDlq):
        def publish(self, records: Sequence[Outgoing]) -> None:
            large = [record for record in records if len(record.value) > 2_000_000]
            if not large:
                super().publish(records)
                return
            MemoryProducer.publish(self, [record for record in records if record not in large])
            raise RecordsRefused("too large", refused=large)

    with pytest.raises(PublishFailed) as failed:
        bury(RefusesLarge(world.broker), [*sent, small])
    assert {id(letter) for letter in failed.value.arrived} == {id(sent[0]), id(sent[2]), id(small)}
