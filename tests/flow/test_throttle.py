"""Seeds wait for long crawl topics only where no buffer takes their jobs."""

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from issuetracker_dagster.errors import LagUnknown, Unavailable
from issuetracker_dagster.flow.lag import LagWithin
from issuetracker_dagster.flow.throttle import FRESH_S, BacklogThrottler
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.topics import TopicPartition
from tests.flow.drain_world import GROUP, DrainWorld, job
from tests.waiting import eventually


class Lagging:
    """A lag that the test sets; None is one that can't be known."""

    def __init__(self, unread: int | None) -> None:
        self.unread = unread
        self.asked: list[Sequence[str]] = []

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        self.asked.append(topics)
        if self.unread is None:
            raise LagUnknown("Kafka (KAFKA_BOOTSTRAP_SERVERS) is out")
        return {(topic, 0): self.unread // len(topics) for topic in topics}


def throttler(world: DrainWorld, lag: Lagging, **changes: Any) -> BacklogThrottler:
    parts: dict[str, Any] = {
        "lag": lag,
        "group": GROUP,
        "limit": 100,
        "buffers": world.buffers,
        "is_on": world.switch.is_on,
        "is_stale": lambda: False,
        "clock": world.clock,
    }
    return BacklogThrottler(**parts | changes)


def test_finding_8_with_buffering_on_nothing_is_held_back_for_lag() -> None:
    world = DrainWorld(max_len=10)
    world.switch.turn(on=True)
    lag = Lagging(1_000_000)
    assert throttler(world, lag).hold_back(Priority.NORMAL) is None
    assert lag.asked == []


def test_a_full_buffer_that_nobody_drains_holds_back_whatever_the_lag_says() -> None:
    world = DrainWorld(max_len=2)
    world.switch.turn(on=True)
    world.fill(["a-0", "a-1"])
    for lag in (Lagging(0), Lagging(None)):
        held = throttler(world, lag, is_stale=lambda: True)
        assert "full" in (held.hold_back(Priority.NORMAL) or "")
        assert held.hold_back(Priority.LOW) is None


def test_switched_off_a_full_buffer_holds_back_nobody() -> None:
    world = DrainWorld(max_len=2)
    world.fill(["a-0", "a-1"])
    assert throttler(world, Lagging(0)).hold_back(Priority.NORMAL) is None


def test_without_buffering_seeds_of_normal_and_low_wait_while_both_topics_together_are_long() -> None:
    lag = Lagging(102)
    held = throttler(DrainWorld(), lag)
    assert "SCHEDULER_MAX_BACKLOG" in (held.hold_back(Priority.NORMAL) or "")
    assert held.hold_back(Priority.LOW)
    assert set(lag.asked[0]) == {Topic.CRAWL_NORMAL, Topic.CRAWL_LOW}
    assert throttler(DrainWorld(), Lagging(100)).hold_back(Priority.NORMAL) is None


def test_high_is_never_held_back_and_costs_no_question() -> None:
    lag = Lagging(1_000_000)
    assert throttler(DrainWorld(), lag).hold_back(Priority.HIGH) is None
    assert lag.asked == []


def test_a_limit_of_zero_is_off() -> None:
    lag = Lagging(1_000_000)
    assert throttler(DrainWorld(), lag, limit=0).hold_back(Priority.LOW) is None
    assert lag.asked == []


def test_a_full_buffer_holds_back_its_own_priority_only() -> None:
    world = DrainWorld(max_len=2)
    world.switch.turn(on=True)
    world.fill(["a-0", "a-1"])
    held = throttler(world, Lagging(0))
    assert "full" in (held.hold_back(Priority.NORMAL) or "")
    assert held.hold_back(Priority.LOW) is None


def test_a_buffer_that_nobody_drains_counts_like_kafka() -> None:
    world = DrainWorld()
    world.switch.turn(on=True)
    world.fill([f"a-{n}" for n in range(60)])
    assert throttler(world, Lagging(40), is_stale=lambda: True).hold_back(Priority.NORMAL) is None
    assert throttler(world, Lagging(42), is_stale=lambda: True).hold_back(Priority.NORMAL)


def test_without_redis_kafka_alone_decides() -> None:
    class Out:
        max_len = 10

        def state(self) -> object:
            raise Unavailable("Redis (REDIS_URL) is out")

    world = DrainWorld()
    world.switch.turn(on=True)
    buffers = {topic: Out() for topic in world.buffers}
    assert throttler(world, Lagging(102), buffers=buffers).hold_back(Priority.NORMAL)
    assert throttler(world, Lagging(0), buffers=buffers).hold_back(Priority.NORMAL) is None


def test_two_hundred_seeds_cost_one_question_and_a_later_tick_another() -> None:
    world = DrainWorld()
    lag = Lagging(102)
    held = throttler(world, lag)
    assert all(held.hold_back((Priority.NORMAL, Priority.LOW)[n % 2]) for n in range(200))
    assert len(lag.asked) == 1
    lag.unread = 0
    world.fake_clock.advance(FRESH_S * 1_000)
    assert held.hold_back(Priority.NORMAL) is None
    assert len(lag.asked) == 2


def test_an_unknown_lag_holds_nothing_back_and_says_how_many_seeds_went_blind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = DrainWorld()
    lag = Lagging(None)
    held = throttler(world, lag)
    with caplog.at_level(logging.WARNING):
        assert [held.hold_back(Priority.NORMAL) for _ in range(7)] == [None] * 7
        lag.unread = 0
        world.fake_clock.advance(FRESH_S * 1_000)
        held.hold_back(Priority.NORMAL)
    assert [record.__dict__["count"] for record in caplog.records] == [0, 7]
    assert "KAFKA_BOOTSTRAP_SERVERS" in caplog.text


class Hanging:
    """A broker that answers when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = 0

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        self.asked += 1
        self.go.wait(30)
        return {(topics[0], 0): 7}


def test_a_question_that_hangs_is_given_up_within_its_time_and_not_asked_again_meanwhile() -> None:
    hanging = Hanging()
    bounded = LagWithin(hanging, 20)
    for _ in range(3):
        with pytest.raises(LagUnknown, match="20 ms"):
            bounded.lag(GROUP, [Topic.CRAWL_LOW])
    assert hanging.asked == 1
    hanging.go.set()

    def answered() -> bool:
        try:
            return bounded.lag(GROUP, [Topic.CRAWL_LOW]) == {(Topic.CRAWL_LOW, 0): 7}
        except LagUnknown:
            return False

    assert eventually(answered)


def test_a_bounded_question_passes_answers_and_errors_on() -> None:
    world = DrainWorld()
    world.producer.publish([job("a-0")])
    bounded = LagWithin(world.memory_lag, 10_000)
    assert sum(bounded.lag(GROUP, [Topic.CRAWL_NORMAL]).values()) == 1
    world.broker.stop()
    with pytest.raises(LagUnknown, match="stopped"):
        bounded.lag(GROUP, [Topic.CRAWL_NORMAL])
