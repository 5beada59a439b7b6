"""The broker hangs while a drainer publishes and is told to end: nothing is lost, order holds, nothing goes back."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.model.message import Outgoing, message_of
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.topics import Producer
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.killable import Killable, killable_kafka
from tests.journey.ledger import everything, first_arrivals
from tests.journey.test_killed_drainer import BATCH, HOSTS, JOBS, buffered
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

PUBLISH_MS = 2_000
RUN_MS = 60_000


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killable]:
    """A broker that may be frozen."""
    with killable_kafka(tmp_path_factory.mktemp("hanging-kafka")) as server:
        yield server


@pytest.fixture
def journey_environment(journey_environment: dict[str, str], own_kafka: Killable) -> dict[str, str]:
    return journey_environment | {
        "KAFKA_BOOTSTRAP_SERVERS": own_kafka.address,
        "PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG": "3000",
        "PUBLISHER_REDIS_BUFFER_DRAIN_BATCH": str(BATCH),
        "PUBLISHER_REDIS_BUFFER_DRAIN_INTERVAL": "500ms",
    }


def test_findings_12_13_and_14_a_batch_refused_during_a_shutdown_waits_in_the_retry_set_and_arrives_first(
    wiring: Wiring, own_kafka: Killable
) -> None:
    published = buffered(wiring, JOBS)
    buffer = wiring.buffers[Topic.CRAWL_NORMAL]
    told_to_end = threading.Event()

    def freeze() -> None:
        own_kafka.freeze()
        told_to_end.set()

    producer = Interrupted(KafkaTopicProducer(wiring.kafka, timeout_ms=PUBLISH_MS), at_publish=2, interrupt=freeze)
    began = time.monotonic()
    try:
        summary = wiring.drainer(producer=producer).run(
            accepts=lambda: True, control=lambda: "interrupted" if told_to_end.is_set() else None, duration_ms=RUN_MS
        )
    finally:
        own_kafka.thaw()
    # Its own bounded time: the publish, and what it takes to put the batch where it is safe.
    assert time.monotonic() - began < PUBLISH_MS / 1000 + 10
    assert (summary.reason, summary.published, summary.set_aside) == ("interrupted", {"normal": BATCH}, BATCH)
    state = buffer.state()
    assert (state.backlog, state.draining, state.paused) == (JOBS - 2 * BATCH, 0, True)

    # Finding 14: buffering is on, and yet what is relayed goes to Kafka and never back into the line.
    relayed = 0
    while relayed < BATCH:
        relayed += eventually(lambda: wiring.retries.relay(1_000), timeout_s=30)
    assert wiring.buffer_switch.is_on()
    assert buffer.state().backlog == JOBS - 2 * BATCH

    wiring.drainer().run(
        accepts=lambda: True, control=lambda: None if buffer.state().backlog else "empty", duration_ms=RUN_MS
    )
    records = everything(wiring, Topic.CRAWL_NORMAL)
    assert len({message_of(record).headers.root_id for record in records}) == JOBS
    # The broker may have kept what it was sent before it hung.
    assert len(records) <= JOBS + BATCH
    assert len(published) == HOSTS
    assert first_arrivals(records) == published


class Interrupted:
    """`Producer` to which something happens just before one of its publishes."""

    def __init__(self, inner: Producer, at_publish: int, interrupt: Callable[[], None]) -> None:
        self._inner = inner
        self._left = at_publish
        self._interrupt = interrupt

    def publish(self, records: Sequence[Outgoing]) -> None:
        self._left -= 1
        if self._left == 0:
            self._interrupt()
        self._inner.publish(records)

    def close(self) -> None:
        self._inner.close()
