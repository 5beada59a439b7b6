"""The retry relay."""

import msgspec
import pytest

from issuetracker_dagster.errors import PublishFailed
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.stage import Stage, Topic
from tests.flow.world import World, dlq_notes, message


def test_due_messages_go_back_to_their_topic_and_leave_the_set() -> None:
    world = World()
    world.retries.schedule(message("a"), Topic.FETCHED, Stage.PARSER, world.clock.now_ms() + 5_000)
    assert world.retries.relay() == 0
    world.fake_clock.advance(5_001)
    assert world.retries.relay() == 1
    assert world.retry_set.size() == 0
    assert headers_from_raw(world.records(Topic.FETCHED)[0].headers).root_id == "a"


def test_what_the_broker_refuses_stays_in_the_set() -> None:
    world = World()
    world.retries.schedule(message("a"), Topic.FETCHED, Stage.PARSER, 0)
    world.broker.stop()
    with pytest.raises(PublishFailed):
        world.retries.relay()
    assert world.retry_set.size() == 1


def test_more_than_one_batch_is_relayed_in_a_tick() -> None:
    world = World()
    for number in range(250):
        world.retries.schedule(message(f"m{number}"), Topic.FETCHED, Stage.PARSER, number)
    assert world.retries.relay(batch=100) == 250


def test_a_message_that_kafka_refuses_for_ever_is_dead_lettered_and_holds_up_nobody() -> None:
    world = World()
    huge = msgspec.structs.replace(message("huge"), value=b"x" * 1_200_000)
    for number, waiting in enumerate((message("a"), huge, message("b"))):
        world.retries.schedule(waiting, Topic.FETCHED, Stage.PARSER, number)
    world.retries.relay()
    assert world.retry_set.size() == 0
    assert {headers_from_raw(record.headers).root_id for record in world.records(Topic.FETCHED)} == {"a", "b"}
    assert dlq_notes(world.records(Topic.DLQ)[0])["reason"] == "too_large"
