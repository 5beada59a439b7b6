"""Runs that a Dagster which is gone left behind, ended before the next one starts."""

import dagster as dg
from dagster import DagsterEvent, DagsterEventType, DagsterRunStatus
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.origin import JobPythonOrigin, RepositoryPythonOrigin
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test

from issuetracker_dagster.defs.left_over import WHY, end_left_over

JOB = "parser_shift"
HAPPENED: dict[DagsterRunStatus, tuple[DagsterEventType, ...]] = {
    DagsterRunStatus.NOT_STARTED: (),
    DagsterRunStatus.STARTING: (DagsterEventType.RUN_STARTING,),
    DagsterRunStatus.STARTED: (DagsterEventType.RUN_START,),
    DagsterRunStatus.CANCELING: (DagsterEventType.RUN_START, DagsterEventType.RUN_CANCELING),
    DagsterRunStatus.SUCCESS: (DagsterEventType.RUN_START, DagsterEventType.RUN_SUCCESS),
}


def left_behind(instance: dg.DagsterInstance, status: DagsterRunStatus, job: str = JOB) -> str:
    run_id: str = create_run_for_test(instance, job_name=job, status=DagsterRunStatus.NOT_STARTED).run_id
    for kind in HAPPENED[status]:
        instance.report_dagster_event(DagsterEvent(event_type_value=kind.value, job_name=job), run_id=run_id)
    return run_id


def status_of(instance: dg.DagsterInstance, run_id: str) -> DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def test_runs_of_any_job_that_had_begun_are_ended_with_the_reason(stored_instance: dg.DagsterInstance) -> None:
    after = {
        left_behind(stored_instance, DagsterRunStatus.NOT_STARTED): DagsterRunStatus.FAILURE,
        left_behind(stored_instance, DagsterRunStatus.STARTING): DagsterRunStatus.FAILURE,
        left_behind(stored_instance, DagsterRunStatus.STARTED, "redrive_dead_letters"): DagsterRunStatus.FAILURE,
        left_behind(stored_instance, DagsterRunStatus.CANCELING, "drain_backlog"): DagsterRunStatus.CANCELED,
    }
    ended = left_behind(stored_instance, DagsterRunStatus.SUCCESS)
    assert set(end_left_over(stored_instance)) == set(after)
    for run_id, status in after.items():
        assert status_of(stored_instance, run_id) is status
        told = [str(entry.dagster_event.message) for entry in stored_instance.all_logs(run_id) if entry.dagster_event]
        assert any(WHY in text for text in told)
    assert status_of(stored_instance, ended) is DagsterRunStatus.SUCCESS
    assert end_left_over(stored_instance) == []


def test_a_run_that_waits_in_the_queue_is_left_to_the_next_daemon(stored_instance: dg.DagsterInstance) -> None:
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("issuetracker"), "__repository__")
    code = RepositoryPythonOrigin("python", ModuleCodePointer("issuetracker_dagster.definitions", "defs"))
    queued: str = create_run_for_test(
        stored_instance,
        job_name=JOB,
        status=DagsterRunStatus.QUEUED,
        remote_job_origin=origin.get_job_origin(JOB),
        job_code_origin=JobPythonOrigin(JOB, code),
    ).run_id
    assert end_left_over(stored_instance) == []
    assert status_of(stored_instance, queued) is DagsterRunStatus.QUEUED


def test_an_instance_that_other_machines_may_share_is_left_alone(instance: dg.DagsterInstance) -> None:
    run_id = left_behind(instance, DagsterRunStatus.STARTED)
    assert end_left_over(instance) == []
    assert status_of(instance, run_id) is DagsterRunStatus.STARTED
