"""Schedule and job `drain_backlog`: one run at a time that moves buffered jobs to Kafka for up to an hour.

The schedule's toggle is the flag `PUBLISHER_REDIS_BUFFER_ENABLED`. Off, the run at work has publishers stop, empties
the buffer and ends; where none is at work, the relay's tick (`StrandedBuffer`) sees to the same.
"""

from collections.abc import Callable

import dagster as dg
import msgspec

from issuetracker_dagster.defs.fence import Fence, counted, interrupts
from issuetracker_dagster.defs.flags import DRAIN_SCHEDULE, buffer_toggle, default_schedule_status, refusal
from issuetracker_dagster.defs.patience import once_there
from issuetracker_dagster.defs.supervisor import SlotJob, Supervisor
from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.flow.drain import BUSY, LOCK_TTL_MS, BufferDrainer
from issuetracker_dagster.model.drain import DrainSummary
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.buffering import DRAINER, drainer_silence_ms
from issuetracker_dagster.wiring.lifesigns import LifeSigns, signs_of_life
from issuetracker_dagster.wiring.parts import Wiring

VARIABLE = "PUBLISHER_REDIS_BUFFER_ENABLED"
DRAIN_JOB = "drain_backlog"
SUPERVISED = SlotJob(DRAIN_JOB, DRAINER, noun="drain run")
RUN_MS = 3_600_000
PATIENCE_S = 10.0
PAUSE_MS = 60_000
"""Time between the last sign of a drain run and the next one that the relay starts: one that ends at once, for whatever
reason, mustn't cost a run each five seconds.
"""


def drain_schedule(settings: Settings) -> dg.ScheduleDefinition:
    """The schedule that keeps one drain run alive."""
    setting = settings.publish.publisher_redis_buffer_enabled
    supervisor = Supervisor(SUPERVISED, dead_after_ms=settings.shift.worker_dead_after)

    @dg.schedule(
        name=DRAIN_SCHEDULE,
        cron_schedule="* * * * *",
        job_name=DRAIN_JOB,
        default_status=default_schedule_status(setting, unset=False),
        description=(
            "Holds normal and low jobs back in Redis while Kafka lags, and keeps one drain run alive. This toggle is "
            f"the flag {VARIABLE}: off, jobs go straight to Kafka and the buffer is emptied."
        ),
        metadata={"setting": VARIABLE},
    )
    @guarded
    def tick(context: dg.ScheduleEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.RunRequest | dg.SkipReason:
        off = refusal(setting, VARIABLE)
        if off:
            return off
        wiring.ready()
        asked = supervisor.tick(context.instance, wiring.heartbeats, wiring.machine_clock, slots=1)
        return asked if isinstance(asked, dg.SkipReason) else asked[0]

    return tick


def drain_job() -> dg.JobDefinition:
    """The job whose runs drain."""

    @dg.op(
        name="drain_backlog_op",
        description="Moves buffered jobs to Kafka while the crawl topics are short; switched off, until none is left.",
    )
    def drain(context: dg.OpExecutionContext, wiring: dg.ResourceParam[Wiring]) -> None:
        run_drain(context, wiring)

    @dg.job(
        name=DRAIN_JOB,
        executor_def=dg.in_process_executor,
        description=(
            "One drain run, about an hour long; the schedule of the same name keeps one alive. Started by hand while "
            "the schedule is off, it empties the buffer and ends. Terminate ends it in order, nothing is lost."
        ),
    )
    def job() -> None:
        drain()

    return job


def run_drain(context: dg.OpExecutionContext, wiring: Wiring) -> None:
    """Drain until the buffer isn't wanted any more and empty, the time is over, or the run is ended.

    Ends at once while another drain run is alive; a lock that a dead one has left is waited for, and so is a server
    that is out: a run that failed for it would be followed by another one a minute later.
    """
    fence = Fence(context.instance, context.run_id, lambda: True)
    with interrupts() as interrupted:

        def control() -> str | None:
            return interrupted() or fence.reason()

        # Before this run shows itself, or it would take itself for the other one.
        patience_s = once_there(
            wiring.machine_clock, control, lambda: 0.0 if _shows_itself(wiring) else LOCK_TTL_MS / 1000 + PATIENCE_S
        )
        with signs_of_life(wiring, DRAINER, 0, context.run_id) as signs:
            drainer = once_there(wiring.machine_clock, control, wiring.drainer)
            summary = None
            if drainer is not None:
                accepts = buffer_toggle(context, wiring.settings)
                summary = _drained(wiring, drainer, accepts, control, signs, patience_s or 0.0)
    figures = _told(summary) if summary else {}
    reason = summary.reason if summary else "ended before the servers were there"
    context.log.info(f"{reason}; {counted(figures)}")
    context.add_output_metadata({"reason": reason, **figures})
    fence.raise_if_ended()


def _drained(
    wiring: Wiring,
    drainer: BufferDrainer,
    accepts: Callable[[], bool],
    control: Callable[[], str | None],
    signs: LifeSigns,
    patience_s: float,
) -> DrainSummary | None:
    """What was drained; None when the run was ended before Redis was there."""
    is_waiting = False

    def mode() -> str:
        return "waiting" if is_waiting else "buffering" if accepts() else "emptying"

    def drain() -> DrainSummary | None:
        run = drainer.run
        return once_there(
            wiring.machine_clock, control, lambda: run(accepts=accepts, control=control, duration_ms=RUN_MS)
        )

    signs.tell = lambda: {"mode": mode(), **_told(drainer.summary())}
    patient_until = wiring.clock.monotonic() + patience_s
    summary = drain()
    while summary and summary.reason == BUSY and not control() and wiring.clock.monotonic() < patient_until:
        is_waiting = True
        wiring.clock.sleep(1.0)
        is_waiting = False
        summary = drain()
    return summary


def _told(summary: DrainSummary) -> dict[str, int]:
    """The figures of a run, one name each."""
    published = {f"published_{band}": count for band, count in summary.published.items()}
    figures = {name: figure for name, figure in msgspec.structs.asdict(summary).items() if isinstance(figure, int)}
    return published | figures


def _shows_itself(wiring: Wiring) -> bool:
    silent_ms = drainer_silence_ms(wiring.heartbeats)
    return silent_ms is not None and silent_ms <= wiring.settings.shift.worker_dead_after


class StrandedBuffer:
    """What the relay's tick does while buffering isn't wanted: publishers stop within seconds although no drain run
    lives to tell them, and one is started when jobs are left in the buffer."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._supervisor = Supervisor(SUPERVISED, dead_after_ms=settings.shift.worker_dead_after)
        self._was_wanted: bool | None = None

    def tick(self, context: dg.SensorEvaluationContext, wiring: Wiring) -> list[dg.RunRequest]:
        """The run that is needed, if one is. Raises `Unavailable`."""
        self._was_wanted = buffer_toggle(context, self._settings, self._was_wanted)()
        if self._was_wanted:
            return []
        if _shows_itself(wiring):
            return []  # a drain run is at work and sees the toggle itself
        if wiring.buffer_switch.is_on():
            wiring.buffer_switch.turn(on=False)
        silent_ms = drainer_silence_ms(wiring.heartbeats)
        rested = silent_ms is None or silent_ms > PAUSE_MS
        left = any(buffer.state().backlog for buffer in wiring.buffers.values())
        asked = self._supervisor.tick(
            context.instance, wiring.heartbeats, wiring.machine_clock, slots=1 if left and rested else 0
        )
        return [] if isinstance(asked, dg.SkipReason) else asked
