"""What is dead leaves for the DLQ and holds up nobody, whatever its size."""

import msgspec
import pytest

from issuetracker_dagster.errors import PermanentError, PublishFailed
from issuetracker_dagster.flow.dead_letter import bury, dead_letter
from issuetracker_dagster.flow.reap import empty_outbox
from issuetracker_dagster.flow.settle import Done
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Message, Origin, Record
from issuetracker_dagster.model.queue import queue_entry
from issuetracker_dagster.model.stage import Stage, Topic
from tests.flow.world import World, dlq_notes, message

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
    assert settlement == Done(succeeded=False, kind="dead_lettered")


def test_letters_that_cannot_be_written_are_not_taken_for_buried() -> None:
    world = World()
    world.broker.stop()
    with pytest.raises(PublishFailed):
        bury(world.producer, [dead_letter(huge(), Stage.PARSER, "invalid", "no title", 7)])
