"""How a drain run keeps its lock, follows its toggle, comes back after trouble, and ends."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from issuetracker_dagster.errors import PublishFailed, Unavailable
from issuetracker_dagster.flow.drain import DRAIN_LOCK, EMPTIED, LOCK_TTL_MS, OVER
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.topics import TopicPartition
from tests.flow.drain_world import DrainWorld


class Failing:
    """What `target` does, but calls of `name` fail while `is_out` says so."""

    def __init__(self, target: Any, name: str, is_out: Callable[[], bool]) -> None:
        self._target, self._name, self._is_out = target, name, is_out

    def __getattr__(self, name: str) -> Any:
        if name == self._name and self._is_out():

            def fail(*_: Any, **__: Any) -> None:
                raise Unavailable("Redis is out")

            return fail
        return getattr(self._target, name)


class Unread:
    """A lag whose every answer the test decides."""

    def __init__(self, world: DrainWorld, unread: Callable[[float], int]) -> None:
        self._world, self._unread = world, unread
        self._began = world.clock.monotonic()
        self.asked: list[float] = []

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        now = self._world.clock.monotonic() - self._began
        self.asked.append(now)
        return {(topics[0], 0): self._unread(now)}


def until(world: DrainWorld, seconds: float) -> Callable[[], bool]:
    end = world.clock.monotonic() + seconds
    return lambda: world.clock.monotonic() < end


def test_a_run_that_waits_for_room_keeps_its_lock() -> None:
    world = DrainWorld()
    world.fill(["a-0"])
    stolen: list[object] = []

    def control() -> None:
        stolen.append(world.locks.acquire(DRAIN_LOCK, LOCK_TTL_MS))

    summary = world.drain(lag=Unread(world, lambda _: 1_000), control=control, duration_ms=10 * LOCK_TTL_MS)
    assert summary.reason == OVER
    assert set(stolen) == {None}


def test_after_trouble_that_is_over_the_delays_begin_anew() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(3)])
    lag = Unread(world, lambda _: 999 if len(lag.asked) == 5 else 1_000)
    world.drain(lag=lag, batch=1, target=1_000, duration_ms=40_000, interval_ms=8_000)
    gaps = [round(later - earlier, 1) for earlier, later in itertools.pairwise(lag.asked)]
    assert world.arrived() == ["a-0"]
    assert gaps[:8] == [0.5, 1.0, 2.0, 4.0, 0.0, 0.5, 1.0, 2.0]


def test_what_a_dead_drainer_had_in_hand_counts_as_repeated_and_nothing_else_does() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(12)])
    world.normal.take(1, 4)
    summary = world.drain()
    assert (summary.recovered, summary.repeated, summary.published) == (4, 4, {"normal": 12})


def test_a_run_that_ends_before_it_could_remove_a_published_batch_removes_it_at_the_end() -> None:
    world = DrainWorld()
    world.fill(["a-0", "a-1"])
    is_out = True

    def control() -> str | None:
        nonlocal is_out
        if world.arrived():
            is_out = False
            return "told so"
        return None

    buffer = Failing(world.normal, "done", lambda: is_out)
    world.drain(buffers={Topic.CRAWL_NORMAL.value: buffer}, control=control)
    assert world.arrived() == ["a-0", "a-1"]
    assert world.normal.state().backlog == 0


def test_a_buffer_that_cant_be_looked_at_isnt_empty() -> None:
    world = DrainWorld()
    out = until(world, 60)
    began = world.clock.monotonic()
    buffer = Failing(world.normal, "state", lambda: world.clock.monotonic() > began + 2 and out())
    summary = world.drain(
        buffers={Topic.CRAWL_NORMAL.value: buffer}, accepts=lambda: False, duration_ms=3_600_000, interval_ms=1_000
    )
    assert summary.reason == EMPTIED
    assert world.clock.monotonic() >= began + 70


def test_a_run_doesnt_end_before_publishers_could_be_told_to_stop() -> None:
    world = DrainWorld()
    world.switch.turn(on=True)
    began = world.clock.monotonic()
    switch = Failing(world.switch, "turn", until(world, 60))
    summary = world.drain(switch=switch, accepts=lambda: False, duration_ms=3_600_000)
    assert summary.reason == EMPTIED
    assert not world.switch.is_on()
    assert began + 70 <= world.clock.monotonic() < began + 80


def test_a_run_ends_after_ten_seconds_without_a_job_not_ten_seconds_after_the_first_look() -> None:
    world = DrainWorld()
    began = world.clock.monotonic()
    late = iter([8, 15, 22])
    due = next(late)

    def control() -> None:
        nonlocal due
        if world.clock.monotonic() > began + due:
            world.fill([f"a-{due}"])
            due = next(late, 10_000)

    world.drain(accepts=lambda: False, control=control, duration_ms=3_600_000)
    assert world.arrived() == ["a-8", "a-15", "a-22"]


def test_a_broker_that_refuses_again_later_is_asked_again_soon() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(2)])
    tries: list[float] = []

    class Refusing:
        def publish(self, records: Sequence[Outgoing]) -> None:
            tries.append(world.clock.monotonic())
            if len(tries) in (4, 8):
                world.producer.publish(records)
                return
            raise PublishFailed("the broker refuses")

        def close(self) -> None: ...

    retries = Failing(world.retry_set, "schedule_all", lambda: True)
    world.drain(producer=Refusing(), retries=retries, batch=1, duration_ms=60_000)
    gaps = [round(later - earlier, 1) for earlier, later in itertools.pairwise(tries)]
    assert world.arrived() == ["a-0", "a-1"]
    assert gaps == [0.5, 1.0, 2.0, 0.0, 0.5, 1.0, 2.0]
