"""The relay on real servers. Two code servers may tick beside each other for a moment: due retries are published once
all the same.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from issuetracker_dagster.adapters.redis.buffer import RedisBuffer
from issuetracker_dagster.errors import PublishFailed
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.ports.topics import Producer
from issuetracker_dagster.wiring.buffering import BUFFER_KEYS
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay, relay_is_fresh
from tests.flow.world import message

pytestmark = pytest.mark.services


def test_a_relay_beside_another_publishes_nothing_twice(wiring: Wiring, monkeypatch: pytest.MonkeyPatch) -> None:
    wiring.retries.schedule(message("a"), Topic.FETCHED, Stage.PARSER, 1)
    producer: Producer = wiring.producer
    inside, go_on = threading.Event(), threading.Event()
    publish, published = producer.publish, []

    def slow(records: list[object]) -> None:
        published.append(len(records))
        inside.set()
        go_on.wait(10)
        publish(records)  # type: ignore[arg-type]

    monkeypatch.setattr(producer, "publish", slow)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(relay, wiring, 1_000)
        assert inside.wait(10)
        second = threads.submit(relay, wiring, 1_000)
        try:
            assert second.result(10).relayed == 0
        finally:
            go_on.set()
        assert first.result(10).relayed == 1
    assert published == [1]
    assert relay_is_fresh(wiring)


def test_a_topic_that_refuses_retries_stops_no_other_work_of_the_relay(
    wiring: Wiring, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiring.retries.schedule(message("a"), Topic.CRAWL_NORMAL, Stage.FETCH, 1)
    RedisBuffer(wiring.redis, BUFFER_KEYS[Topic.CRAWL_NORMAL], max_len=1).push([b"fell out", b"waits"])
    publish = wiring.producer.publish

    def leaderless(records: Sequence[Outgoing]) -> None:
        if any(record.topic == Topic.CRAWL_NORMAL for record in records):
            raise PublishFailed("crawl.normal has no leader")
        publish(records)

    monkeypatch.setattr(wiring.producer, "publish", leaderless)
    with pytest.raises(PublishFailed, match="no leader"):
        relay(wiring, 1_000)
    assert wiring.retry_set.size() == 1
    assert wiring.buffers[Topic.CRAWL_NORMAL].state().outbox == 0
    assert relay_is_fresh(wiring)


def test_a_relay_that_failed_lets_the_next_one_work(wiring: Wiring, monkeypatch: pytest.MonkeyPatch) -> None:
    wiring.retries.schedule(message("a"), Topic.FETCHED, Stage.PARSER, 1)

    def buggy(records: object) -> None:
        raise ZeroDivisionError("a bug")

    with monkeypatch.context() as broken:
        broken.setattr(wiring.producer, "publish", buggy)
        with pytest.raises(ZeroDivisionError):
            relay(wiring, 1_000)
    assert relay(wiring, 1_000).relayed == 1
