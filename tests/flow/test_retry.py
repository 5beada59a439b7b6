"""The retry relay."""

from collections.abc import Sequence

import msgspec
import pytest

from issuetracker_dagster.errors import PublishFailed
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Stage, Topic
from tests.flow.world import NoDlq, World, dlq_notes, message


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


class Leaderless:
    """A producer whose `topic` takes no record of one key, and says what of the batch did arrive."""

    def __init__(self, world: World, topic: Topic, key: bytes, waits_ms: int = 0) -> None:
        self._world = world
        self._partition = (topic, key)
        self._waits_ms = waits_ms

    def publish(self, records: Sequence[Outgoing]) -> None:
        arrived = [record for record in records if (record.topic, record.key) != self._partition]
        self._world.producer.publish(arrived)
        if len(arrived) < len(records):
            self._world.fake_clock.advance(self._waits_ms)
            raise PublishFailed("no leader", arrived=arrived)

    def close(self) -> None: ...


def test_a_partition_that_is_out_makes_nothing_else_come_again_and_again() -> None:
    world = World()
    relay = RetryScheduler(world.retry_set, Leaderless(world, Topic.CRAWL_NORMAL, b"a"), world.clock)
    for name in ("a", "b", "c"):
        relay.schedule(message(name), Topic.CRAWL_NORMAL, Stage.FETCH, 0)
    relay.schedule(message("d"), Topic.FETCHED, Stage.PARSER, 0)
    for _ in range(5):
        with pytest.raises(PublishFailed):
            relay.relay()
    assert [len(world.records(topic)) for topic in (Topic.CRAWL_NORMAL, Topic.FETCHED)] == [2, 1]
    assert [entry.message.headers.root_id for entry in world.retry_set.due(world.clock.now_ms())] == ["a"]


def test_a_topic_that_is_out_holds_up_no_other_even_when_finding_out_takes_longer_than_the_budget() -> None:
    world = World()
    producer = Leaderless(world, Topic.CRAWL_NORMAL, b"host", waits_ms=30_000)
    relay = RetryScheduler(world.retry_set, producer, world.clock)
    refused = [msgspec.structs.replace(message(f"m{number}"), key=b"host") for number in range(150)]
    for waiting in refused:
        relay.schedule(waiting, Topic.CRAWL_NORMAL, Stage.FETCH, 0)
    relay.schedule(message("a"), Topic.FETCHED, Stage.PARSER, 1)
    for _ in range(2):
        with pytest.raises(PublishFailed):
            relay.relay(budget_ms=5_000)
    assert len(world.records(Topic.FETCHED)) == 1
    left = world.retry_set.due(world.clock.now_ms(), 1_000)
    assert [entry.message.identity for entry in left] == [waiting.identity for waiting in refused]


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
    assert sorted(headers_from_raw(record.headers).root_id for record in world.records(Topic.FETCHED)) == ["a", "b"]
    assert dlq_notes(world.records(Topic.DLQ)[0])["reason"] == "too_large"


def test_beside_one_that_kafka_refuses_for_ever_nothing_comes_twice_although_the_dlq_is_out() -> None:
    world = World()
    relay = RetryScheduler(world.retry_set, NoDlq(world.broker), world.clock)
    huge = msgspec.structs.replace(message("huge"), value=b"x" * 1_200_000)
    for number, waiting in enumerate((message("a"), huge, message("b"))):
        relay.schedule(waiting, Topic.FETCHED, Stage.PARSER, number)
    for _ in range(3):
        with pytest.raises(PublishFailed):
            relay.relay()
    assert sorted(headers_from_raw(record.headers).root_id for record in world.records(Topic.FETCHED)) == ["a", "b"]
    assert [entry.message.headers.root_id for entry in world.retry_set.due(world.clock.now_ms())] == ["huge"]
    world.retries.relay()
    assert [dlq_notes(record)["reason"] for record in world.records(Topic.DLQ)] == ["too_large"]
    assert len(world.records(Topic.FETCHED)) == 2
