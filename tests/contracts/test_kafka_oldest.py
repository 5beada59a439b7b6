"""Since when unread messages wait in a real Kafka, asked again and again with the same clients as the checks do."""

from collections.abc import Iterator

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.kafka.oldest import KafkaOldest
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.stage import Topic
from tests.contracts.topic_worlds import KafkaWorld
from tests.waiting import eventually

TOPIC = Topic.FETCHED.value
GROUP = "parsers"
PARTITIONS = 3
SPREAD = 12
"""Records under as many keys: each partition gets some."""


@pytest.fixture
def world(kafka_bootstrap: str) -> Iterator[KafkaWorld]:
    world = KafkaWorld(kafka_bootstrap)
    world.make({Topic.FETCHED: PARTITIONS, Topic.NORMALIZED: 1})
    yield world
    world.close()


@pytest.fixture
def oldest(world: KafkaWorld) -> Iterator[KafkaOldest]:
    oldest = KafkaOldest(world.connection)
    yield oldest
    oldest.close()


def group_of(world: KafkaWorld) -> str:
    return world.connection.topic_prefix + GROUP


def publish(world: KafkaWorld, count: int = SPREAD) -> None:
    world.producer().publish([Outgoing(TOPIC, b"%d" % number, b"{}", []) for number in range(count)])


def read_records(world: KafkaWorld, count: int) -> list[Record]:
    """All that lie in the topic, read by a group that commits them."""
    reader = world.member([TOPIC], GROUP)
    records: list[Record] = []

    def read_up() -> bool:
        records.extend(reader.poll(100, 200))
        return len(records) >= count

    eventually(read_up, timeout_s=20)
    reader.settled(records)
    reader.commit()
    reader.close()
    return records


@pytest.mark.services
def test_the_oldest_of_all_partitions_is_told_as_often_as_it_is_asked_for(
    world: KafkaWorld, oldest: KafkaOldest
) -> None:
    began_ms = SystemClock().now_ms()
    publish(world)
    published_ms = SystemClock().now_ms()
    first_ms = oldest.unread_since_ms(group_of(world), TOPIC)
    assert first_ms is not None
    assert began_ms <= first_ms <= published_ms
    publish(world)
    assert [oldest.unread_since_ms(group_of(world), TOPIC) for _ in range(3)] == [first_ms] * 3
    records = read_records(world, 2 * SPREAD)
    assert {record.origin.partition for record in records} == set(range(PARTITIONS))


@pytest.mark.services
def test_a_long_line_is_told_as_often_as_a_short_one(world: KafkaWorld, oldest: KafkaOldest) -> None:
    """More than a poll gives unless told otherwise: the client would hold the rest back, and the partition with it."""
    publish(world, 1_500)
    first_ms = oldest.unread_since_ms(group_of(world), TOPIC)
    assert first_ms is not None
    assert [oldest.unread_since_ms(group_of(world), TOPIC) for _ in range(3)] == [first_ms] * 3


@pytest.mark.services
def test_what_its_group_has_read_waits_no_more(world: KafkaWorld, oldest: KafkaOldest) -> None:
    publish(world)
    before_ms = oldest.unread_since_ms(group_of(world), TOPIC)
    assert before_ms is not None
    read_records(world, SPREAD)
    assert oldest.unread_since_ms(group_of(world), TOPIC) is None
    publish(world, 1)
    after_ms = oldest.unread_since_ms(group_of(world), TOPIC)
    assert after_ms is not None
    assert after_ms > before_ms


@pytest.mark.services
def test_an_empty_topic_and_one_that_is_missing_hold_nothing_that_waits(world: KafkaWorld, oldest: KafkaOldest) -> None:
    publish(world)
    assert oldest.unread_since_ms(group_of(world), Topic.NORMALIZED.value) is None
    assert oldest.unread_since_ms(group_of(world), Topic.VALIDATED.value) is None
    assert oldest.unread_since_ms(group_of(world), TOPIC) is not None
