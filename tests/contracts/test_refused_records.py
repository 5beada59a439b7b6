"""Beside a record that Kafka never takes, the others of its batch arrive once, on a broker as in memory."""

from collections.abc import Iterator

import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.buffer import MemoryBuffer, MemoryBufferSwitch
from issuetracker_dagster.adapters.memory.locks import MemoryLocks
from issuetracker_dagster.adapters.memory.retries import MemoryRetrySet
from issuetracker_dagster.adapters.memory.urls import MemoryIngestionLock
from issuetracker_dagster.flow.dead_letter import bury, dead_bytes
from issuetracker_dagster.flow.drain import BufferDrainer
from issuetracker_dagster.flow.drain_batch import Job
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.headers import Headers, headers_from_raw
from issuetracker_dagster.model.message import Message, Outgoing, Record
from issuetracker_dagster.model.stage import Stage, Topic
from tests.contracts.topic_worlds import KafkaWorld, MemoryWorld, World
from tests.waiting import eventually

NAMES = ["m0", "m1", "huge", "m3", "large", "m5"]
TAKEN = ["m0", "m1", "m3", "m5"]
"""In one partition they come in this order, and once."""


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.services)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made: World = MemoryWorld() if request.param == "memory" else KafkaWorld(request.getfixturevalue("kafka_bootstrap"))
    made.make({Topic.CRAWL_NORMAL: 1, Topic.DLQ: 1})
    yield made
    made.close()


def message(name: str) -> Message:
    # What is as large as that, the largest message of a topic is not.
    return Message(Headers(root_id=name), b"k", b"x" * 1_200_000 if name in ("huge", "large") else b"{}")


def read(world: World, topic: Topic, count: int) -> list[Record]:
    """All records of a topic, which are to be `count`; a last one tells that there are no more."""
    world.producer().publish([Outgoing(topic, b"k", b"", [("root_id", b"last")])])
    reader = world.intake(topic, "readers")
    records: list[Record] = []

    def to_the_last() -> bool:
        records.extend(reader.poll(100, 200))
        return bool(records) and roots(records[-1:]) == ["last"]

    eventually(to_the_last, timeout_s=20)
    assert len(records) == count + 1
    return records[:-1]


def roots(records: list[Record]) -> list[str]:
    return [headers_from_raw(record.headers).root_id for record in records]


def test_a_relayed_batch_comes_once_and_what_kafka_never_takes_is_dead_lettered(world: World) -> None:
    clock, retries = FakeClock(), MemoryRetrySet()
    relay = RetryScheduler(retries, world.producer(), clock)
    for place, name in enumerate(NAMES):
        relay.schedule(message(name), Topic.CRAWL_NORMAL, Stage.FETCH, clock.now_ms() - 100 + place)
    assert relay.relay() == len(NAMES)
    assert retries.size() == 0
    assert roots(read(world, Topic.CRAWL_NORMAL, 4)) == TAKEN
    assert roots(read(world, Topic.DLQ, 2)) == ["huge", "large"]


def test_a_drained_batch_comes_once_and_what_kafka_never_takes_is_dead_lettered(world: World) -> None:
    clock, buffer = FakeClock(), MemoryBuffer("publisher:buffer:normal")
    jobs = [Outgoing.of(Topic.CRAWL_NORMAL, message(name)) for name in NAMES]
    buffer.push([encode_buffered(BufferedJob(clock.now_ms(), each)) for each in jobs])
    drained: list[Job] = []
    drainer = BufferDrainer(
        buffers={Topic.CRAWL_NORMAL.value: buffer},
        producer=world.producer(),
        lag=_NothingWaits(),
        group="fetchers",
        retries=MemoryRetrySet(),
        ingestion=MemoryIngestionLock(clock),
        locks=MemoryLocks(clock),
        switch=MemoryBufferSwitch(clock),
        clock=clock,
        target=1_000,
        batch=100,
        interval_ms=30_000,
        drained=drained.extend,
    )
    summary = drainer.run(accepts=lambda: True, control=lambda: None, duration_ms=2_000)
    assert (summary.published, summary.dead_lettered, summary.repeated) == ({"normal": 4}, 2, 0)
    assert roots(read(world, Topic.CRAWL_NORMAL, 4)) == TAKEN
    assert [job.message.headers.root_id for job in drained] == TAKEN
    assert roots(read(world, Topic.DLQ, 2)) == ["huge", "large"]


def test_letters_beside_one_that_is_too_large_for_the_dlq_come_once(world: World) -> None:
    values = [b"0", b"x" * 3_000_000, b"2"]
    bury(world.producer(), [dead_bytes("member", value, Stage.PARSER, "malformed", "why", 7) for value in values])
    assert [record.value for record in read_letters(world)] == [b"0", b"2", b""]


def read_letters(world: World) -> list[Record]:
    reader = world.intake(Topic.DLQ, "readers")
    world.producer().publish([Outgoing(Topic.DLQ, b"k", b"last", [])])
    records: list[Record] = []

    def to_the_last() -> bool:
        records.extend(reader.poll(100, 200))
        return bool(records) and records[-1].value == b"last"

    eventually(to_the_last, timeout_s=20)
    return records[:-1]


class _NothingWaits:
    def lag(self, group: str, topics: object) -> dict[tuple[str, int], int]:
        return {}
