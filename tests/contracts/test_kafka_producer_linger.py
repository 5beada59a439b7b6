"""A producer for batches: it sends once all of a batch is there, and loses none of the promises of the others."""

import time

import pytest

from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Topic
from tests.contracts.topic_worlds import KafkaWorld
from tests.waiting import eventually

LINGER_MS = 1_000
COUNT = 100

pytestmark = pytest.mark.services


def test_a_batch_is_sent_when_it_is_complete_and_arrives_in_its_order(kafka_bootstrap: str) -> None:
    world = KafkaWorld(kafka_bootstrap)
    world.make({Topic.FETCHED: 1})
    # As long as one request may take: the client wants a delivery to last for both.
    producer = KafkaTopicProducer(world.connection, timeout_ms=5_000, linger_ms=LINGER_MS)
    try:
        producer.publish([Outgoing(Topic.FETCHED, b"k", b"connected", [])])
        began = time.monotonic()
        producer.publish([Outgoing(Topic.FETCHED, b"k", b"%d" % number, []) for number in range(COUNT)])
        took_s = time.monotonic() - began
        reader = world.intake("fetched", "readers")
        found: list[bytes] = []

        def all_of_them() -> bool:
            found.extend(record.value for record in reader.poll(COUNT, 1_000))
            return len(found) > COUNT

        assert eventually(all_of_them)
        assert found[1:] == [b"%d" % number for number in range(COUNT)]
        assert took_s < LINGER_MS / 1000
    finally:
        producer.close()
        world.close()
