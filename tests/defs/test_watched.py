"""Runs without slots, with real run records: a killed one is failed, a living one never."""

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from issuetracker_dagster.definitions import defs
from issuetracker_dagster.defs.dlq import REDRIVE_JOB
from issuetracker_dagster.defs.drain import DRAIN_JOB
from issuetracker_dagster.defs.upkeep import WITHOUT_SLOTS
from issuetracker_dagster.defs.watched import BY_HAND, DEAD_AFTER_MS, PLACES, Watch
from issuetracker_dagster.flow.supervise import first_sign_limit_ms
from issuetracker_dagster.model.stage import Stage
from tests.defs.test_supervisor import Scene

PAST_DEATH_S = DEAD_AFTER_MS / 1000 + 5


class Watched(Scene):
    """Runs of two jobs, their signs of life and the watch on both."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        super().__init__(instance)
        self.watch = Watch((REDRIVE_JOB, BY_HAND))

    def shows_itself(self, run_id: str, job: str = REDRIVE_JOB) -> None:
        self.heartbeats.beat(job, int(run_id[:8], 16) % PLACES, run_id, {})

    def look(self) -> None:
        self.watch.tick(self.instance, self.heartbeats, self.clock)


@pytest.fixture
def scene(instance: dg.DagsterInstance) -> Watched:
    watched = Watched(instance)
    watched.look()
    watched.passes(60)
    return watched


@pytest.mark.parametrize("job", [REDRIVE_JOB, BY_HAND])
def test_a_run_whose_process_was_killed_is_failed_and_none_is_started_for_it(scene: Watched, job: str) -> None:
    run = scene.run(slot=None, job=job)
    scene.shows_itself(run, job)
    scene.look()
    scene.passes(PAST_DEATH_S)
    scene.look()
    assert scene.status(run) is DagsterRunStatus.FAILURE
    assert "heartbeat lost" in scene.why(run)
    assert len(scene.instance.get_runs()) == 1


def test_several_living_runs_of_a_job_go_on(scene: Watched) -> None:
    runs = [scene.run(slot=None, job=REDRIVE_JOB) for _ in range(3)]
    for _ in range(10):
        for run in runs:
            scene.shows_itself(run)
        scene.passes(DEAD_AFTER_MS / 2000)
        scene.look()
    assert [scene.why(run) for run in runs] == [""] * 3
    assert {scene.status(run) for run in runs} == {DagsterRunStatus.STARTED}


def test_a_run_that_was_killed_before_its_first_sign_is_failed_too(scene: Watched) -> None:
    run = scene.run(slot=None, job=REDRIVE_JOB)
    scene.look()
    scene.passes(first_sign_limit_ms(DEAD_AFTER_MS) / 1000 + 5)
    scene.look()
    assert scene.status(run) is DagsterRunStatus.FAILURE


def test_each_job_has_somebody_who_fails_its_dead_runs() -> None:
    jobs = {job.name for job in defs.get_repository_def().get_all_jobs()}
    with_slots = {f"{stage.value}_shift" for stage in Stage} | {DRAIN_JOB}
    assert jobs == with_slots | set(WITHOUT_SLOTS)
