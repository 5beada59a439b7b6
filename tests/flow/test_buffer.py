"""The producer of first publishes: into the buffer, past it, and what falls out of it."""

import logging
from collections.abc import Sequence

import pytest

from issuetracker_dagster.errors import PublishFailed, RecordsRefused, Unavailable
from issuetracker_dagster.flow.reap import empty_buffer_outbox
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.buffer import decode_buffered
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.locks import Mark
from tests.flow.drain_world import DrainWorld, job
from tests.flow.world import dlq_notes, message


class Counting:
    """A buffer that counts its pushes and fails while it is told to."""

    def __init__(self, world: DrainWorld) -> None:
        self._buffer = world.normal
        self.pushes: list[int] = []
        self.out = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._buffer, name)

    def push(self, entries: Sequence[bytes]) -> int:
        if self.out:
            raise Unavailable("Redis (REDIS_URL) is out")
        self.pushes.append(len(entries))
        return self._buffer.push(entries)


def buffered(world: DrainWorld) -> list[str]:
    entries = world.normal.take(1, 1_000)
    world.normal.put_back(1)
    return [dict(decode_buffered(entry).record.headers)["root_id"].decode() for entry in entries]


def test_normal_and_low_are_put_aside_in_one_push_a_topic_and_in_order_while_high_goes_on() -> None:
    world = DrainWorld()
    world.switch.turn(on=True)
    counting = Counting(world)
    names = [f"a-{n}" for n in range(100)]
    jobs = [job(name) for name in names]
    jobs[50:50] = [job("h-0", Priority.HIGH), job("l-0", Priority.LOW)]
    world.first_publisher(buffers={**world.buffers, Topic.CRAWL_NORMAL.value: counting}).publish(jobs)
    assert counting.pushes == [100]
    assert buffered(world) == names
    assert world.low.state().waiting == 1
    assert world.arrived(Topic.CRAWL_HIGH) == ["h-0"]
    assert world.arrived() == []


def test_other_topics_go_straight_to_kafka() -> None:
    world = DrainWorld()
    world.switch.turn(on=True)
    world.first_publisher().publish([Outgoing.of(Topic.FETCHED, message("a"))])
    assert world.arrived(Topic.FETCHED) == ["a"]


def test_switched_off_everything_goes_straight_to_kafka() -> None:
    world = DrainWorld()
    world.first_publisher().publish([job("a-0")])
    assert world.arrived() == ["a-0"]
    assert world.normal.state().waiting == 0


def test_the_switch_is_asked_once_a_publish() -> None:
    world = DrainWorld()
    asked: list[bool] = []

    def is_on() -> bool:
        asked.append(True)
        return True

    world.first_publisher(is_on=is_on).publish([job(f"a-{n}") for n in range(20)])
    assert len(asked) == 1


def test_without_redis_jobs_go_straight_to_kafka_and_one_outage_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    world = DrainWorld()
    world.switch.turn(on=True)
    counting = Counting(world)
    publisher = world.first_publisher(buffers={Topic.CRAWL_NORMAL.value: counting})
    counting.out = True
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            publisher.publish([job(f"a-{number}"), job(f"a-{number}b")])
        counting.out = False
        publisher.publish([job("a-last")])
    assert len(world.arrived()) == 10
    assert buffered(world) == ["a-last"]
    first, last = (record for record in caplog.records if record.__dict__.get("action") == "publish.fallback")
    assert (first.__dict__["count"], last.__dict__["count"]) == (2, 10)


def test_a_switch_that_cant_be_asked_is_off() -> None:
    world = DrainWorld()

    def out() -> bool:
        raise Unavailable("Redis (REDIS_URL) is out")

    world.first_publisher(is_on=out).publish([job("a-0")])
    assert world.arrived() == ["a-0"]


def test_nothing_is_put_aside_of_a_publish_that_the_broker_refuses() -> None:
    world = DrainWorld()
    world.switch.turn(on=True)
    world.broker.stop()
    with pytest.raises(PublishFailed):
        world.first_publisher().publish([job("h-0", Priority.HIGH), job("a-0")])
    assert world.normal.state().waiting == 0


def test_a_record_that_kafka_never_takes_doesnt_keep_the_others_from_the_buffer() -> None:
    world = DrainWorld()
    world.switch.turn(on=True)
    batch = [job("h-0", Priority.HIGH, value=b"x" * 1_200_000), job("a-0")]
    with pytest.raises(RecordsRefused, match="too many") as caught:
        world.first_publisher().publish(batch)
    assert [caught.value.includes(record) for record in batch] == [True, False]
    assert buffered(world) == ["a-0"]


def test_close_closes_the_raw_producer() -> None:
    world = DrainWorld()
    closed: list[bool] = []

    class Raw:
        def publish(self, records: Sequence[Outgoing]) -> None: ...

        def close(self) -> None:
            closed.append(True)

    world.first_publisher(raw=Raw()).close()
    assert closed == [True]


def test_finding_10_what_falls_out_is_dead_lettered_counted_and_its_url_may_be_published_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = DrainWorld(max_len=2)
    world.switch.turn(on=True)
    publisher = world.publisher()
    publisher._producer = world.first_publisher()
    urls = [f"https://a.example.com/{n}" for n in range(4)]
    with caplog.at_level(logging.WARNING):
        publisher.publish([Request(job=CrawlJob(url=url), parent="page") for url in urls])
        assert empty_buffer_outbox(world.normal, world.producer, world.ingestion, world.clock) == 2
    letters = world.records(Topic.DLQ)
    assert [(dlq_notes(found)["reason"], dlq_notes(found)["stage"]) for found in letters] == [("overflow", "fetch")] * 2
    assert [world.ingestion.view(url) is None for url in urls] == [True, True, False, False]
    assert world.normal.state().outbox == 0
    counts = {
        found.__dict__["action"]: found.__dict__["count"] for found in caplog.records if "count" in found.__dict__
    }
    assert counts == {"buffer.trimmed": 2, "outbox.published": 2}


def test_finding_10_without_redis_for_the_marker_the_entry_stays_in_the_outbox() -> None:
    world = DrainWorld(max_len=1)
    world.fill(["a-0", "a-1"])

    class Out:
        def release(self, marks: Sequence[Mark]) -> None:
            raise Unavailable("Redis (REDIS_URL) is out")

    with pytest.raises(Unavailable):
        empty_buffer_outbox(world.normal, world.producer, Out(), world.clock)  # type: ignore[arg-type]
    assert world.normal.state().outbox == 1


def test_finding_10_what_fell_out_and_doesnt_decode_is_dead_lettered_by_its_bytes() -> None:
    world = DrainWorld(max_len=1)
    world.normal.push([b"\xff no job", b"another"])
    assert empty_buffer_outbox(world.normal, world.producer, world.ingestion, world.clock) == 1
    assert world.records(Topic.DLQ)[0].value == b"\xff no job"
