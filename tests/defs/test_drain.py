"""The schedule of the buffer and the relay's part in it: when a drain run is asked for, and what the toggle does."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterEvent, DagsterEventType, DagsterRunStatus
from dagster._core.definitions.schedule_definition import ScheduleExecutionData
from dagster._core.test_utils import create_run_for_test

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.buffer import MemoryBuffer, MemoryBufferSwitch
from issuetracker_dagster.adapters.memory.heartbeats import MemoryHeartbeats
from issuetracker_dagster.adapters.memory.readers import MemoryProducer
from issuetracker_dagster.adapters.memory.topics import MemoryBroker
from issuetracker_dagster.defs.drain import DRAIN_JOB, PAUSE_MS, VARIABLE, StrandedBuffer
from issuetracker_dagster.defs.flags import DRAIN_SCHEDULE
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring import buffering
from issuetracker_dagster.wiring.buffering import DRAINER, SWITCH_EVERY_S, SwitchView
from issuetracker_dagster.wiring.parts import Wiring
from tests.flow.world import crawl_message
from tests.waiting import eventually


def schedules(defs: dg.Definitions) -> dict[str, dg.ScheduleDefinition]:
    return {schedule.name: schedule for schedule in defs.get_repository_def().schedule_defs}


def entry(name: str = "a", buffered_ms: int = 1) -> bytes:
    record = Outgoing.of(Topic.CRAWL_NORMAL, crawl_message(f"https://news.example.com/{name}", name))
    return encode_buffered(BufferedJob(buffered_ms, record))


class Scene:
    """A process whose Redis and Kafka are in memory, beside a real Dagster instance."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.defs = defs
        self.instance = instance
        self.clock = FakeClock(time.time_ns() // 1_000_000)
        self.heartbeats = MemoryHeartbeats(self.clock)
        self.switch = MemoryBufferSwitch(self.clock)
        self.buffer = MemoryBuffer("publisher:buffer:normal")
        self.wiring: Wiring = (defs.resources or {})["wiring"]
        self.wiring.clock = self.wiring.machine_clock = self.clock
        self.wiring._parts |= {
            "heartbeats": self.heartbeats,
            "topics": True,
            "buffer_switch": self.switch,
            "buffers": {Topic.CRAWL_NORMAL: self.buffer, Topic.CRAWL_LOW: MemoryBuffer("publisher:buffer:low")},
        }
        self.stranded = StrandedBuffer(self.wiring.settings)

    def schedule_tick(self) -> ScheduleExecutionData:
        context = dg.build_schedule_context(
            instance=self.instance,
            scheduled_execution_time=datetime.now(UTC),
            resources={"wiring": self.wiring},
        )
        with context:
            return schedules(self.defs)[DRAIN_SCHEDULE].evaluate_tick(context)

    def relay_asks_for(self) -> list[dg.RunRequest]:
        with dg.build_sensor_context(instance=self.instance, sensor_name="retry_relay") as context:
            return self.stranded.tick(context, self.wiring)

    def run(self, status: DagsterRunStatus = DagsterRunStatus.STARTED) -> str:
        run_id: str = create_run_for_test(self.instance, job_name=DRAIN_JOB).run_id
        if status is DagsterRunStatus.STARTED:
            event = DagsterEvent(event_type_value=DagsterEventType.RUN_START.value, job_name=DRAIN_JOB)
            self.instance.report_dagster_event(event, run_id=run_id)
        return run_id

    def beat(self, run_id: str) -> None:
        self.heartbeats.beat(DRAINER, 0, run_id, {})

    def passes(self, seconds: float) -> None:
        self.clock.advance(seconds * 1000)

    def status(self, run_id: str) -> DagsterRunStatus:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status


@pytest.fixture
def scene(load_definitions: Any, stored_instance: dg.DagsterInstance) -> Scene:
    return Scene(load_definitions(), stored_instance)


@pytest.mark.parametrize(("value", "is_on"), [("unset", False), ("", False), ("true", True), ("false", False)])
def test_the_default_of_the_toggle_follows_its_setting(value: str, is_on: bool, load_definitions: Any) -> None:
    schedule = schedules(load_definitions(**{VARIABLE: value}))[DRAIN_SCHEDULE]
    assert (schedule.default_status is dg.DefaultScheduleStatus.RUNNING) is is_on


def test_the_schedule_starts_a_drain_run_of_the_job_of_its_name(scene: Scene) -> None:
    (request,) = scene.schedule_tick().run_requests or []
    assert request.run_key is None
    assert request.job_name in (None, DRAIN_JOB)
    assert schedules(scene.defs)[DRAIN_SCHEDULE].job_name == DRAIN_JOB
    assert scene.defs.resolve_job_def(DRAIN_JOB).executor_def is dg.in_process_executor


@pytest.mark.parametrize("status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTED])
def test_the_schedule_skips_while_a_drain_run_exists(scene: Scene, status: DagsterRunStatus) -> None:
    scene.run(status)
    told = scene.schedule_tick()
    assert not told.run_requests
    assert told.skip_message == "1 drain run alive"


def test_the_schedule_fails_a_silent_run_and_starts_another(scene: Scene) -> None:
    run_id = scene.run()
    scene.beat(run_id)
    assert not scene.schedule_tick().run_requests
    scene.passes(20)
    assert len(scene.schedule_tick().run_requests or []) == 1
    assert scene.status(run_id) is DagsterRunStatus.FAILURE


def test_false_wins_over_the_toggle_at_tick_time_and_is_told(
    load_definitions: Any, stored_instance: dg.DagsterInstance
) -> None:
    told = Scene(load_definitions(**{VARIABLE: "false"}), stored_instance).schedule_tick()
    assert not told.run_requests
    assert (
        told.skip_message == f"{VARIABLE}=false switches this off whatever the toggle says; unset it to use the toggle"
    )


def test_servers_that_are_out_are_a_reason_to_skip(load_definitions: Any, stored_instance: dg.DagsterInstance) -> None:
    scene = Scene(load_definitions(), stored_instance)
    del scene.wiring._parts["topics"]
    assert "`issuetracker up`" in (scene.schedule_tick().skip_message or "")


def test_without_a_drain_run_the_relay_has_publishers_stop_when_the_toggle_is_off(scene: Scene) -> None:
    scene.switch.turn(on=True)
    assert scene.relay_asks_for() == []
    assert scene.switch.is_on() is False


def test_a_living_drain_run_switches_off_itself(scene: Scene) -> None:
    scene.switch.turn(on=True)
    scene.buffer.push([entry()])
    scene.beat(scene.run())
    scene.passes(10)
    assert scene.relay_asks_for() == []
    assert scene.switch.is_on() is True


def test_jobs_left_in_the_buffer_are_emptied_by_a_run_that_the_relay_asks_for(scene: Scene) -> None:
    dead = scene.run()
    scene.beat(dead)
    scene.buffer.push([entry()])
    scene.passes(20)
    assert scene.relay_asks_for() == []  # it begins to listen now
    scene.passes(PAUSE_MS / 1000)
    (request,) = scene.relay_asks_for()
    assert request.job_name == DRAIN_JOB
    assert scene.status(dead) is DagsterRunStatus.FAILURE
    scene.run(DagsterRunStatus.NOT_STARTED)
    assert scene.relay_asks_for() == []


def test_an_emptying_run_that_has_just_ended_is_not_followed_at_once(scene: Scene) -> None:
    scene.buffer.push([entry()])
    scene.beat("ended")
    scene.passes(PAUSE_MS / 1000 - 1)
    assert scene.relay_asks_for() == []
    scene.passes(2)
    assert len(scene.relay_asks_for()) == 1


def test_the_relay_fails_a_dead_drain_run_although_nothing_is_left(scene: Scene) -> None:
    dead = scene.run()
    scene.beat(dead)
    for _ in range(2):
        scene.passes(20)
        assert scene.relay_asks_for() == []
    assert scene.status(dead) is DagsterRunStatus.FAILURE


def test_while_the_toggle_is_on_the_relay_leaves_the_buffer_alone(
    load_definitions: Any, stored_instance: dg.DagsterInstance
) -> None:
    scene = Scene(load_definitions(**{VARIABLE: "true"}), stored_instance)
    scene.switch.turn(on=True)
    scene.buffer.push([entry()])
    scene.passes(120)
    assert scene.relay_asks_for() == []
    assert scene.switch.is_on() is True


def test_with_the_setting_false_the_relay_empties_what_is_left(
    load_definitions: Any, stored_instance: dg.DagsterInstance
) -> None:
    scene = Scene(load_definitions(**{VARIABLE: "false"}), stored_instance)
    scene.switch.turn(on=True)
    scene.buffer.push([entry()])
    assert len(scene.relay_asks_for()) == 1
    assert scene.switch.is_on() is False


class FailingSwitch(MemoryBufferSwitch):
    """Can't be read while `is_out`."""

    is_out = False

    def is_on(self) -> bool:
        if self.is_out:
            raise Unavailable("Redis is out")
        return super().is_on()


def test_publishers_see_the_switch_within_two_seconds_and_keep_it_while_redis_is_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    switch = FailingSwitch(FakeClock(0))
    view = SwitchView(switch)
    assert view() is False
    switch.turn(on=True)
    eventually(view, timeout_s=SWITCH_EVERY_S + 1)
    switch.is_out = True
    monkeypatch.setattr(buffering, "SWITCH_EVERY_S", 0.0)
    assert view() is True


class HangingSwitch(MemoryBufferSwitch):
    """Hangs from its second question on, until `back` is set."""

    def __init__(self) -> None:
        super().__init__(FakeClock(0))
        self.asked = 0
        self.hangs, self.back = threading.Event(), threading.Event()

    def is_on(self) -> bool:
        self.asked += 1
        if self.asked > 1:
            self.hangs.set()
            assert self.back.wait(30)
        return super().is_on()


def test_while_redis_hangs_one_publisher_waits_and_the_others_go_on_with_the_last_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    switch = HangingSwitch()
    switch.turn(on=True)
    view = SwitchView(switch)
    assert view() is True
    switch.turn(on=False)
    monkeypatch.setattr(buffering, "SWITCH_EVERY_S", -1.0)
    with ThreadPoolExecutor(5) as threads:
        try:
            first = threads.submit(view)
            assert switch.hangs.wait(10)
            others = [threads.submit(view) for _ in range(4)]
            assert [other.result(10) for other in others] == [True] * 4
            assert (first.done(), switch.asked) == (False, 2)
        finally:
            switch.back.set()
        assert first.result(10) is False


def test_a_hang_makes_nobody_wait_again_before_the_two_seconds_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    switch = FailingSwitch(FakeClock(0))
    view = SwitchView(switch)
    asked: list[float] = []

    def hang() -> bool:
        asked.append(now[0])
        now[0] += 5.0
        raise Unavailable("Redis hangs")

    monkeypatch.setattr(switch, "is_on", hang)
    monkeypatch.setattr(buffering, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for _ in range(5):
        assert view() is False
    now[0] += SWITCH_EVERY_S + 0.1
    view()
    assert asked == [100.0, 105.0 + SWITCH_EVERY_S + 0.1]


@pytest.mark.parametrize(("value", "is_on"), [("unset", True), ("true", True), ("false", False)])
def test_with_the_setting_false_a_process_buffers_nothing_whatever_the_switch_says(
    value: str, is_on: bool, load_definitions: Any, stored_instance: dg.DagsterInstance
) -> None:
    scene = Scene(load_definitions(**{VARIABLE: value}), stored_instance)
    raw = MemoryProducer(MemoryBroker({Topic.CRAWL_NORMAL.value: 1}, scene.clock))
    scene.wiring._parts["producer"] = raw
    scene.switch.turn(on=True)
    record = Outgoing.of(Topic.CRAWL_NORMAL, crawl_message("https://news.example.com/a"))
    scene.wiring.first_publisher.publish([record])
    assert scene.buffer.state().waiting == (1 if is_on else 0)
