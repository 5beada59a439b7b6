"""Clients of Kafka in an outage: nothing stays open of what couldn't connect, whether or not garbage is collected."""

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from issuetracker_dagster.adapters.kafka.arrivals import KafkaArrivals
from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.adapters.kafka.lag import KafkaLag
from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.adapters.kafka.topics import ensure_topics
from issuetracker_dagster.errors import LagUnknown, TransientError
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Topic
from tests.journey.killable import killable_kafka
from tests.waiting import eventually

RECORD = Outgoing(Topic.FETCHED, b"k", b"{}", [])
GROUP = "g"
FETCHED = "fetched"
NOBODY = "127.0.0.1:1"
SOME_TRIES_MS = 400


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """A code server's heap is so large that its full collections are minutes apart."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda away: KafkaArrivals(away).since([FETCHED], 0), id="consumer"),
        pytest.param(lambda away: ensure_topics(away, {Topic.FETCHED: 1}, retention_ms=1_000), id="admin client"),
        pytest.param(lambda away: KafkaTopicProducer(away, timeout_ms=1_000).publish([RECORD]), id="producer"),
        pytest.param(lambda away: KafkaIntakeReader(away, FETCHED, GROUP).poll(1, 100), id="intake"),
        pytest.param(lambda away: KafkaGroupReader(away, [FETCHED], GROUP).poll(1, 100), id="member of a group"),
    ],
)
def test_a_client_that_finds_no_broker_leaves_no_handle_and_no_thread(ask: Callable[[KafkaConnection], object]) -> None:
    away = KafkaConnection(NOBODY, "t.", {"bootstrap_timeout_ms": SOME_TRIES_MS})
    before = _held()
    with pytest.raises(TransientError):
        ask(away)
    eventually(lambda: _held() == before)


@pytest.mark.services
@pytest.mark.slow
def test_clients_that_go_on_trying_through_an_outage_hold_no_more_than_before(tmp_path: Path) -> None:
    with killable_kafka(tmp_path / "kafka") as broker:
        connection = KafkaConnection(broker.address, "t.", {"request_timeout_ms": 2_000})
        ensure_topics(connection, {Topic.FETCHED: 1}, retention_ms=3_600_000)
        before = _held()
        lag, producer = KafkaLag(connection), KafkaTopicProducer(connection, timeout_ms=2_000)
        producer.publish([RECORD])
        assert lag.lag(GROUP, [FETCHED])
        connected = _held()
        broker.kill()
        for _ in range(10):
            with pytest.raises(LagUnknown):
                lag.lag(GROUP, [FETCHED])
        assert _held() <= connected
        lag.close()
        producer.close()
        eventually(lambda: _held() <= before)


def _held() -> tuple[int, int]:
    """Open handles of this process, and its threads."""
    return psutil.Process().num_fds(), threading.active_count()
