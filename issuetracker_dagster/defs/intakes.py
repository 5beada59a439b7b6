"""Sensors `parser_intake`, `validate_intake`, `enrich_intake`: Kafka to the stage queue, one tick at a time.

Their toggle is the feature flag `*_PRIORITY_QUEUE_ENABLED`: on, the stage works by priority from its queue; off, its
shifts empty the queue and then read Kafka themselves.
"""

import dagster as dg

from issuetracker_dagster.defs.flags import default_status, intake_sensor_name, refusal
from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.flow.intake_report import IntakeReport
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay_is_fresh


def intake_sensor(stage: Stage, settings: Settings) -> dg.SensorDefinition:
    """The sensor that fills the queue of `stage`."""
    setting = settings.queue(stage.value).priority_queue_enabled
    variable = f"{stage.value.upper()}_PRIORITY_QUEUE_ENABLED"

    @dg.sensor(
        name=intake_sensor_name(stage),
        minimum_interval_seconds=5,
        default_status=default_status(setting, unset=False),
        description=(
            f"Fills the priority queue of {stage.value} from Kafka. This toggle is the flag {variable}: off, its "
            "shifts empty the queue and then read Kafka themselves."
        ),
        metadata={"setting": variable},
    )
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.SkipReason:  # noqa: ARG001
        off = refusal(setting, variable)
        if off:
            return off
        if not relay_is_fresh(wiring):
            return dg.SkipReason("the sensor retry_relay is off or silent: a queue mustn't run without retries")
        report = wiring.intake(stage).tick(wiring.settings.shift.intake_tick_budget)
        if not report.skipped:
            # What the check `intake` goes by: ticks that only skip fill no queue.
            wiring.heartbeats.beat(intake_sensor_name(stage), 0, intake_sensor_name(stage), {})
        return dg.SkipReason(told(report))

    return tick


def told(report: IntakeReport) -> str:
    """A tick in one sentence, for the sensor's page."""
    if report.skipped:
        return report.skipped
    parts = [f"{report.stored} {'message' if report.stored == 1 else 'messages'} stored in the queue"]
    for count, what in (
        (report.known, "known"),
        (report.dead_lettered, "dead-lettered"),
        (report.evicted, "evicted"),
        (report.refused, "left in Kafka, the queue is full"),
    ):
        if count:
            parts.append(f"{count} {what}")
    if report.rewound_to_ms is not None:
        parts.append("the queue was lost and is being filled again from Kafka")
    return ", ".join(parts)


def intake_sensors(settings: Settings) -> list[dg.SensorDefinition]:
    """One for each stage that has a queue."""
    return [intake_sensor(stage, settings) for stage in QUEUED_STAGES]
