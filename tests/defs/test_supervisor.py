"""The supervisor against real run records: who is failed, what is asked for, and when nothing may change."""

import time
from collections.abc import Sequence

import dagster as dg
import pytest
from dagster import DagsterEvent, DagsterEventType, DagsterRunStatus
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.heartbeats import MemoryHeartbeats
from issuetracker_dagster.defs.shifts import STAGE_TAG, supervised
from issuetracker_dagster.defs.supervisor import GRACE_S, SLOT_TAG, Supervisor, holder_of_slot, wait_ms
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.supervise import FIRST_SIGN_MS
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.locks import Heartbeat

JOB = "parser_shift"
DEAD_AFTER_MS = 15_000
CODE = RepositoryPythonOrigin("python", ModuleCodePointer("issuetracker_dagster.definitions", "defs"))
JOB_CODE = JobPythonOrigin(JOB, CODE)


class Outage:
    """Heartbeats that can't be read while `is_out`, whose time goes on."""

    def __init__(self, beats: MemoryHeartbeats) -> None:
        self._beats = beats
        self.is_out = False

    def beat(self, stage: str, slot: int, run_id: str, info: dict[str, str]) -> None:
        self._beats.beat(stage, slot, run_id, info)

    def alive(self, stage: str) -> Sequence[Heartbeat]:
        if self.is_out:
            raise Unavailable("Redis is out")
        return self._beats.alive(stage)

    def now_ms(self) -> int:
        return self._beats.now_ms()


class Scene:
    """A stage with its instance, its signs of life and a clock that begins at the real time."""

    def __init__(self, instance: dg.DagsterInstance, slots: int = 1) -> None:
        self.instance = instance
        self.clock = FakeClock(time.time_ns() // 1_000_000)
        self.heartbeats = Outage(MemoryHeartbeats(self.clock))
        self.slots = slots
        self.supervisor = Supervisor(supervised(Stage.PARSER), dead_after_ms=DEAD_AFTER_MS)

    def run(self, status: DagsterRunStatus = DagsterRunStatus.STARTED, slot: str | None = "0", job: str = JOB) -> str:
        tags = {STAGE_TAG: "parser"} | ({} if slot is None else {SLOT_TAG: slot})
        origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("issuetracker"), "__repository__")
        before = status if status is DagsterRunStatus.QUEUED else DagsterRunStatus.NOT_STARTED
        run_id: str = create_run_for_test(
            self.instance,
            job_name=job,
            status=before,
            tags=tags,
            remote_job_origin=origin.get_job_origin(job),
            job_code_origin=JOB_CODE,
        ).run_id
        if status in (DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING):
            self.happens(run_id, DagsterEventType.RUN_START, job)
        if status is DagsterRunStatus.CANCELING:
            self.happens(run_id, DagsterEventType.RUN_CANCELING, job)
        assert self.status(run_id) is status
        return run_id

    def happens(self, run_id: str, kind: DagsterEventType, job: str = JOB) -> None:
        self.instance.report_dagster_event(DagsterEvent(event_type_value=kind.value, job_name=job), run_id=run_id)

    def beat(self, run_id: str, slot: int = 0) -> None:
        self.heartbeats.beat("parser", slot, run_id, {})

    def passes(self, seconds: float) -> None:
        self.clock.advance(seconds * 1000)

    def tick(self) -> list[str]:
        """The slots that were asked for, as their tags name them."""
        result = self.asked()
        return [] if isinstance(result, dg.SkipReason) else [request.tags[SLOT_TAG] for request in result]

    def asked(self) -> list[dg.RunRequest] | dg.SkipReason:
        return self.supervisor.tick(self.instance, self.heartbeats, self.clock, slots=self.slots)

    def told(self) -> str:
        result = self.asked()
        assert isinstance(result, dg.SkipReason)
        return result.skip_message or ""

    def status(self, run_id: str) -> DagsterRunStatus:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    def why(self, run_id: str) -> str:
        """What the failure event of a run says."""
        failures = self.instance.all_logs(run_id, of_type=DagsterEventType.RUN_FAILURE)
        return " | ".join(str(entry.dagster_event.message) for entry in failures if entry.dagster_event)


@pytest.fixture
def scene(instance: dg.DagsterInstance) -> Scene:
    return Scene(instance)


def test_missing_slots_are_asked_for_with_tags_and_config_and_without_a_run_key(instance: dg.DagsterInstance) -> None:
    scene = Scene(instance, slots=2)
    requests = scene.asked()
    assert isinstance(requests, list)
    assert [dict(request.tags) for request in requests] == [
        {STAGE_TAG: "parser", SLOT_TAG: "0"},
        {STAGE_TAG: "parser", SLOT_TAG: "1"},
    ]
    assert {request.run_key for request in requests} == {None}
    assert {request.job_name for request in requests} == {JOB}
    configured = [request.run_config["ops"]["parser_shift_op"]["config"] for request in requests]
    assert configured == [{"slot": 0}, {"slot": 1}]


@pytest.mark.parametrize("status", [DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING])
def test_a_silent_run_is_failed_with_its_reason_and_its_slot_asked_for(scene: Scene, status: DagsterRunStatus) -> None:
    run_id = scene.run(status)
    scene.beat(run_id)
    assert scene.tick() == []
    scene.passes(DEAD_AFTER_MS / 1000 + 1)
    assert scene.tick() == ["0"]
    assert scene.status(run_id) is DagsterRunStatus.FAILURE
    assert "heartbeat lost 16 s ago" in scene.why(run_id)


@pytest.mark.parametrize(
    "status",
    [
        DagsterRunStatus.NOT_STARTED,
        DagsterRunStatus.QUEUED,
        DagsterRunStatus.STARTED,
        DagsterRunStatus.CANCELING,
    ],
)
def test_a_young_run_holds_its_slot_without_a_heartbeat(scene: Scene, status: DagsterRunStatus) -> None:
    run_id = scene.run(status)
    scene.passes(DEAD_AFTER_MS / 1000 + 30)
    assert scene.tick() == []
    assert scene.status(run_id) is status


@pytest.mark.parametrize("status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.QUEUED])
def test_a_run_that_never_begins_is_failed_after_three_minutes(scene: Scene, status: DagsterRunStatus) -> None:
    run_id = scene.run(status)
    scene.passes(170)
    assert scene.tick() == []
    scene.passes(15)
    assert scene.tick() == ["0"]
    assert "not started after" in scene.why(run_id)


def test_a_start_that_took_long_is_no_silence_of_the_started_run(scene: Scene) -> None:
    """The process imported for 100 s on a busy machine, seen by each tick, and has just begun."""
    scene.passes(-100)  # Dagster dates the start by the real clock, which the scene's reaches then
    run_id = scene.run(DagsterRunStatus.QUEUED)
    for _ in range(20):
        scene.passes(5)
        assert scene.tick() == []
    scene.happens(run_id, DagsterEventType.RUN_START)
    assert scene.tick() == []
    scene.passes(FIRST_SIGN_MS / 1000 - 1)
    assert scene.tick() == []
    assert scene.status(run_id) is DagsterRunStatus.STARTED
    scene.passes(2)
    assert scene.tick() == ["0"]
    assert "no sign of life" in scene.why(run_id)


def test_a_living_run_is_left_alone_for_hours(scene: Scene) -> None:
    run_id = scene.run()
    for _ in range(20):
        scene.passes(600)
        scene.beat(run_id)
        assert scene.tick() == []
    assert scene.status(run_id) is DagsterRunStatus.STARTED


def test_runs_of_other_jobs_are_none_of_its_business(scene: Scene) -> None:
    other = scene.run(job="enrich_shift")
    scene.passes(3_600)
    assert scene.tick() == ["0"]
    assert scene.status(other) is DagsterRunStatus.STARTED


def test_unreadable_heartbeats_change_nothing_and_30_s_of_grace_follow(scene: Scene) -> None:
    alive, dead = scene.run(), scene.run(slot="0")
    scene.beat(alive)
    scene.heartbeats.is_out = True
    for _ in range(12):
        scene.passes(5)
        with pytest.raises(Unavailable):
            scene.tick()
    scene.heartbeats.is_out = False
    assert "30 s to show signs of life" in scene.told()
    scene.passes(GRACE_S - 1)
    assert scene.tick() == []
    assert {scene.status(alive), scene.status(dead)} == {DagsterRunStatus.STARTED}
    scene.beat(alive)
    scene.passes(2)
    assert scene.tick() == []
    assert scene.status(alive) is DagsterRunStatus.STARTED
    assert scene.status(dead) is DagsterRunStatus.FAILURE


def test_code_that_is_loaded_anew_during_an_outage_fails_no_living_run(scene: Scene) -> None:
    """The new supervisor didn't see the outage, and the last signs of life are from before it."""
    alive, dead = scene.run(), scene.run(slot="1")
    scene.slots = 2
    scene.beat(alive)
    scene.beat(dead, slot=1)
    assert scene.tick() == []
    scene.passes(60)
    scene.supervisor = Supervisor(supervised(Stage.PARSER), dead_after_ms=DEAD_AFTER_MS)
    assert scene.tick() == []
    scene.passes(5)
    scene.beat(alive)
    assert scene.tick() == []
    scene.passes(DEAD_AFTER_MS / 1000 - 4)
    assert scene.tick() == ["1"]
    assert scene.status(alive) is DagsterRunStatus.STARTED
    assert scene.status(dead) is DagsterRunStatus.FAILURE


def test_of_two_runs_that_began_on_a_slot_the_second_finds_it_held_and_the_first_does_not(scene: Scene) -> None:
    queued, first, second, elsewhere = (
        scene.run(DagsterRunStatus.QUEUED),
        scene.run(),
        scene.run(),
        scene.run(slot="1"),
    )
    job = supervised(Stage.PARSER)
    assert holder_of_slot(scene.instance, job, second) == first
    for run_id in (first, elsewhere, queued, "a run that nobody stored"):
        assert holder_of_slot(scene.instance, job, run_id) is None
    scene.happens(first, DagsterEventType.RUN_SUCCESS)
    assert holder_of_slot(scene.instance, job, second) is None


def test_a_store_that_lost_its_data_between_two_ticks_costs_no_living_run(scene: Scene) -> None:
    run_id = scene.run()
    scene.passes(3_600)
    scene.beat(run_id)
    assert scene.tick() == []
    scene.heartbeats = Outage(MemoryHeartbeats(scene.clock))
    scene.passes(5)
    assert scene.tick() == []
    scene.beat(run_id)
    scene.passes(5)
    assert scene.tick() == []
    assert scene.status(run_id) is DagsterRunStatus.STARTED


def test_of_two_runs_on_a_slot_the_older_stays_although_the_younger_beats_over_it(scene: Scene) -> None:
    older = scene.run()
    scene.passes(3_600)
    scene.beat(older)
    assert scene.tick() == []
    younger = scene.run()
    scene.beat(younger)
    scene.passes(5)
    assert scene.tick() == []
    assert scene.status(older) is DagsterRunStatus.STARTED
    assert f"slot 0 of parser is held by run {older}" in scene.why(younger)


@pytest.mark.parametrize("slot", ["", "first", "-1", "1.5", "²", "0x1", None])
def test_a_slot_that_is_no_number_counts_as_slot_0(scene: Scene, slot: str | None) -> None:
    run_id = scene.run(slot=slot)
    scene.beat(run_id)
    assert scene.tick() == []
    assert scene.status(run_id) is DagsterRunStatus.STARTED


def test_a_run_on_a_slot_that_was_configured_away_works_on_and_is_not_replaced(scene: Scene) -> None:
    kept, extra = scene.run(), scene.run(slot="7")
    scene.beat(kept)
    scene.beat(extra, slot=7)
    assert scene.tick() == []
    assert scene.status(extra) is DagsterRunStatus.STARTED
    scene.happens(extra, DagsterEventType.RUN_SUCCESS)
    assert scene.tick() == []


def test_runs_that_fail_at_once_are_started_again_ever_more_slowly(scene: Scene) -> None:
    def fails() -> None:
        scene.happens(scene.run(), DagsterEventType.RUN_FAILURE)

    fails()
    assert scene.tick() == ["0"]
    fails()
    assert "failed soon after their start" in scene.told()
    scene.passes(11)
    assert scene.tick() == ["0"]


def test_a_run_that_ended_well_makes_earlier_failures_forgotten(scene: Scene) -> None:
    for kind in (DagsterEventType.RUN_FAILURE, DagsterEventType.RUN_FAILURE, DagsterEventType.RUN_SUCCESS):
        scene.happens(scene.run(), kind)
    assert scene.tick() == ["0"]


def test_waits_between_failing_runs_double_up_to_five_minutes() -> None:
    waits_s = [wait_ms([1_000_000] * count, 1_000_000) // 1000 for count in range(10)]
    assert waits_s == [0, 0, 10, 20, 40, 80, 160, 300, 300, 300]
    assert wait_ms([1_000_000] * 50, 2_000_000) == 0


def test_a_dead_run_whose_record_is_of_the_future_is_failed_as_soon_as_any_other(scene: Scene) -> None:
    """This machine's clock was put back by an hour after the run had begun."""
    run_id = scene.run()
    scene.passes(-3_600)
    assert scene.tick() == []
    scene.passes(FIRST_SIGN_MS / 1000 + 1)
    assert scene.tick() == ["0"]
    assert scene.status(run_id) is DagsterRunStatus.FAILURE


def test_a_clock_that_was_put_back_makes_no_slot_wait_longer_than_its_pause() -> None:
    now_ms = 1_750_000_000_000
    assert wait_ms([now_ms + 3_600_000, now_ms + 3_590_000], now_ms) == 10_000
