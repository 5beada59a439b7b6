"""Sensors `fetch_workers` … `enrich_workers`: keep each stage's slots filled with living shifts.

Their toggle is `STAGES_*_ENABLED`: off, no slot is filled again and the running shifts end. A killed worker stays
STARTED for ever in Dagster, so only its silence in Redis tells; when Redis itself can't be read, nothing is failed.
"""

import time

import dagster as dg

from issuetracker_dagster.defs.flags import default_status, refusal, worker_sensor_name
from issuetracker_dagster.defs.shifts import SLOT_TAG, STAGE_TAG
from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.supervise import Plan, WorkerRun, plan_slots
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

GRACE_S = 30.0
LIVE = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_unreadable_at: dict[Stage, float] = {}


def worker_sensor(stage: Stage, job: dg.JobDefinition, settings: Settings) -> dg.SensorDefinition:
    """The sensor that supervises the slots of `stage`."""
    setting = settings.stage_enabled(stage.value)
    variable = f"STAGES_{stage.value.upper()}_ENABLED"

    @dg.sensor(
        name=worker_sensor_name(stage),
        job=job,
        minimum_interval_seconds=5,
        default_status=default_status(setting, unset=True),
        description=f"Keeps {settings.slots(stage.value)} run(s) of {job.name} alive; its toggle is {variable}.",
        metadata={"setting": variable},
    )
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: Wiring) -> dg.SensorResult | dg.SkipReason:
        return refusal(setting, variable) or supervise(context, stage, job.name, wiring)

    return tick


def supervise(
    context: dg.SensorEvaluationContext, stage: Stage, job_name: str, wiring: Wiring
) -> dg.SensorResult | dg.SkipReason:
    """Fail the dead, ask for what is missing."""
    wiring.ready()
    heartbeats = wiring.heartbeats
    try:
        beats, store_now_ms = heartbeats.alive(stage.value), heartbeats.now_ms()
    except Unavailable:
        _unreadable_at[stage] = time.monotonic()
        raise
    if time.monotonic() - _unreadable_at.get(stage, float("-inf")) < GRACE_S:
        return dg.SkipReason("heartbeats could just be read again; workers get 30 s to show signs of life")
    plan = plan_slots(
        stage.value,
        worker_runs(context.instance, job_name),
        beats,
        slots=wiring.settings.slots(stage.value),
        now_ms=wiring.clock.now_ms(),
        store_now_ms=store_now_ms,
        dead_after_ms=wiring.settings.shift.worker_dead_after,
    )
    fail_runs(context.instance, plan)
    if not plan.launch:
        return dg.SkipReason(f"{len(plan.healthy)} worker run(s) alive")
    return dg.SensorResult(run_requests=[_request(stage, job_name, slot) for slot in plan.launch])


def worker_runs(instance: dg.DagsterInstance, job_name: str) -> list[WorkerRun]:
    """Unfinished runs of a shift job, those started by hand included (on slot 0 unless tagged)."""
    records = instance.get_run_records(dg.RunsFilter(job_name=job_name, statuses=LIVE))
    return [
        WorkerRun(
            run_id=record.dagster_run.run_id,
            stage=record.dagster_run.tags.get(STAGE_TAG, ""),
            slot=int(record.dagster_run.tags.get(SLOT_TAG, "0")),
            created_ms=int(record.create_timestamp.timestamp() * 1000),
            started_ms=int(record.start_time * 1000) if record.start_time else None,
        )
        for record in records
    ]


def fail_runs(instance: dg.DagsterInstance, plan: Plan) -> None:
    """Mark dead runs as failed; one that is alive after all sees it and ends itself."""
    for run_id, reason in plan.fail:
        run = instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            instance.report_run_failed(run, reason)


def _request(stage: Stage, job_name: str, slot: int) -> dg.RunRequest:
    # No run_key: one is idempotent for ever, and a slot has to be filled again and again.
    return dg.RunRequest(
        job_name=job_name,
        run_config={"ops": {f"{stage.value}_shift_op": {"config": {"slot": slot}}}},
        tags={STAGE_TAG: stage.value, SLOT_TAG: str(slot)},
    )


def worker_sensors(jobs: list[dg.JobDefinition], settings: Settings) -> list[dg.SensorDefinition]:
    """One for each stage, beside its job."""
    return [worker_sensor(stage, job, settings) for stage, job in zip(Stage, jobs, strict=True)]
