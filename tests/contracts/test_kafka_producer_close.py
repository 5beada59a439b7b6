"""A producer that is closed or gives its client up leaves nothing behind, least of all while its broker is away."""

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.kafka.connection import CLOSE_TIMEOUT_MS, KafkaConnection
from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.adapters.kafka.topics import ensure_topics
from issuetracker_dagster.errors import PublishFailed
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Topic
from tests.journey.killable import Killable, killable_kafka
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

CLIENT = "left-behind"
RECORD = Outgoing("fetched", b"k", b"{}", [("root_id", b"m1")])


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Killable]:
    with killable_kafka(tmp_path / "kafka") as server:
        yield server


@pytest.fixture
def connection(broker: Killable) -> KafkaConnection:
    made = KafkaConnection(broker.address, "t.", {"client_id": CLIENT})
    ensure_topics(made, {Topic.FETCHED: 1}, retention_ms=3_600_000)
    return made


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(CLIENT)]


def test_closed_while_a_publish_waits_for_a_broker_that_is_gone_it_ends_soon_and_the_publish_is_told(
    broker: Killable, connection: KafkaConnection
) -> None:
    producer = KafkaTopicProducer(connection, timeout_ms=120_000)
    producer.publish([RECORD])
    assert threads()
    broker.kill()
    with ThreadPoolExecutor(1) as pool:
        publishing = pool.submit(producer.publish, [RECORD])
        # It waits for its acknowledgement once the record is with the client.
        eventually(lambda: _holds(producer))
        started = time.monotonic()
        producer.close()
        assert time.monotonic() - started < CLOSE_TIMEOUT_MS / 1000 + 10
        assert isinstance(publishing.exception(timeout=10), PublishFailed)
    _must_be_gone(producer)


def test_a_client_that_is_given_up_during_an_outage_is_ended_with_what_others_had_given_it(
    broker: Killable, connection: KafkaConnection
) -> None:
    producer = KafkaTopicProducer(connection, timeout_ms=2_000)
    producer.publish([RECORD])
    assert threads()
    broker.freeze()
    try:
        with ThreadPoolExecutor(64) as pool:
            publishing = [pool.submit(producer.publish, [RECORD])]

            def first_failed() -> bool:
                # Records that are younger are still waiting when the first one fails.
                publishing.append(pool.submit(producer.publish, [RECORD]))
                return publishing[0].done()

            eventually(first_failed, interval_s=0.1)
            assert {type(each.exception(timeout=20)) for each in publishing} == {PublishFailed}
        _must_be_gone(producer)
    finally:
        broker.thaw()


def _holds(producer: KafkaTopicProducer) -> bool:
    client = producer._client
    return client is not None and client._accumulator.has_incomplete  # type: ignore[attr-defined]


def _must_be_gone(producer: KafkaTopicProducer) -> None:
    """No thread, and no finaliser that still has something to do: one that fails would fail this test."""
    eventually(lambda: not threads())
    producer.close()
    gc.collect()
