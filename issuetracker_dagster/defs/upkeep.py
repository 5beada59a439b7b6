"""Sensors `retry_relay`, `seed_scheduler` and `health_probe`: what keeps the journey moving and visible."""

from contextlib import suppress

import dagster as dg

from issuetracker_dagster.defs.digest import NAME as DIGEST_JOB
from issuetracker_dagster.defs.dlq import REDRIVE_JOB
from issuetracker_dagster.defs.drain import DRAIN_JOB, StrandedBuffer
from issuetracker_dagster.defs.flags import default_status, refusal
from issuetracker_dagster.defs.health import HealthProbe
from issuetracker_dagster.defs.history import PURGE_JOB
from issuetracker_dagster.defs.queue_moves import MOVE_JOB
from issuetracker_dagster.defs.reparse import REPARSE_JOB
from issuetracker_dagster.defs.rules import JOB as REFRESH_JOB
from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.defs.watched import BY_HAND, Watch
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.servers import REDIS
from issuetracker_dagster.wiring.upkeep import relay

RELAY_BUDGET_MS = 5_000
WITHOUT_SLOTS = (REDRIVE_JOB, REPARSE_JOB, MOVE_JOB, PURGE_JOB, REFRESH_JOB, DIGEST_JOB, BY_HAND)


def retry_relay(settings: Settings) -> dg.SensorDefinition:
    """The sensor of due retries, leases of the dead, outboxes, and of a buffer that is off and not empty."""
    stranded = StrandedBuffer(settings)

    @dg.sensor(
        name="retry_relay",
        job_name=DRAIN_JOB,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Publishes due retries, brings back what dead workers held, empties outboxes to the DLQ, and starts the "
            "drain run that empties a buffer which was switched off while nobody drained it."
        ),
    )
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.SensorResult | dg.SkipReason:
        # First: whatever keeps retries from being published, publishers that should stop must see it.
        asked = stranded.tick(context, wiring)
        report = relay(wiring, RELAY_BUDGET_MS)
        trimmed = f" ({report.trimmed} from a full buffer)" if report.trimmed else ""
        said = (
            f"{report.relayed} due retries published, {report.reaped} entries came back from expired leases, "
            f"{report.buried} messages went to the DLQ{trimmed}"
        )
        if asked:
            # A tick that asks for a run has no text; its log has.
            context.log.info(said)
            return dg.SensorResult(run_requests=asked)
        return dg.SkipReason(said)

    return tick


def seed_scheduler(settings: Settings) -> dg.SensorDefinition:
    """The sensor that publishes due seeds; its toggle is `STAGES_SCHEDULER_ENABLED`."""
    setting = settings.stage_enabled("scheduler")

    @dg.sensor(
        name="seed_scheduler",
        minimum_interval_seconds=5,
        default_status=default_status(setting, unset=True),
        description="Publishes crawl jobs for due seeds. This toggle is the flag STAGES_SCHEDULER_ENABLED.",
        metadata={"setting": "STAGES_SCHEDULER_ENABLED"},
    )
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.SkipReason:  # noqa: ARG001
        off = refusal(setting, "STAGES_SCHEDULER_ENABLED")
        if off:
            return off
        return dg.SkipReason(str(wiring.publish_due_seeds()))

    return tick


def health_probe() -> dg.SensorDefinition:
    """The sensor that looks at everything."""
    probe = HealthProbe()
    watch = Watch(WITHOUT_SLOTS)

    @dg.sensor(
        name="health_probe",
        minimum_interval_seconds=25,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Observes servers, topics, queues and tables, and judges them, without a run. Its ticks show the figures "
            "of the moment; the assets get an event at most every five minutes, a check that turns at once, and one "
            "that stays as it is every hour. Fails runs of jobs without slots whose process is gone."
        ),
    )
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.SensorResult:
        result = probe.tick(wiring, context)
        # Without Redis nobody knows who lives; the probe says itself that it is out.
        if not probe.is_out(REDIS):
            with suppress(Unavailable):
                watch.tick(context.instance, wiring.heartbeats, wiring.machine_clock)
        return result

    return tick
