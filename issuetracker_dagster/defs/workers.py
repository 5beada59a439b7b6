"""Sensors `fetch_workers` … `enrich_workers`: keep each stage's slots filled with living shifts.

Their toggle is `STAGES_*_ENABLED`: off, no slot is filled again and the running shifts end.
"""

import dagster as dg

from issuetracker_dagster.defs.flags import default_status, refusal, worker_sensor_name
from issuetracker_dagster.defs.shifts import shift_job_name, supervised
from issuetracker_dagster.defs.supervisor import Supervisor
from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring


def worker_sensor(stage: Stage, settings: Settings) -> dg.SensorDefinition:
    """The sensor that supervises the slots of `stage`."""
    setting = settings.stage_enabled(stage.value)
    variable = f"STAGES_{stage.value.upper()}_ENABLED"
    slots = settings.slots(stage.value)
    supervisor = Supervisor(supervised(stage), dead_after_ms=settings.shift.worker_dead_after)

    @dg.sensor(
        name=worker_sensor_name(stage),
        # By name: Dagster copies a sensor that is given its job, and each copy prints a warning about its own beta.
        job_name=shift_job_name(stage),
        minimum_interval_seconds=5,
        default_status=default_status(setting, unset=True),
        description=(
            f"Keeps {slots} run(s) of {shift_job_name(stage)} alive and replaces dead ones. "
            f"This toggle is the flag {variable}: off, the running ones drain and end."
        ),
        metadata={"setting": variable},
    )
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.SensorResult | dg.SkipReason:
        off = refusal(setting, variable)
        if off:
            return off
        wiring.ready()
        asked = supervisor.tick(context.instance, wiring.heartbeats, wiring.machine_clock, slots=slots)
        return asked if isinstance(asked, dg.SkipReason) else dg.SensorResult(run_requests=asked)

    return tick


def worker_sensors(settings: Settings) -> list[dg.SensorDefinition]:
    """One for each stage."""
    return [worker_sensor(stage, settings) for stage in Stage]
