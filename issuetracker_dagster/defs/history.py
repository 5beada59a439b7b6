"""Schedule and job `purge_history`: what grows old in Dagster's storage and in the database goes, every hour."""

from collections.abc import Callable, Iterator, Mapping

import dagster as dg
from pydantic import Field

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.sql.space import give_back
from issuetracker_dagster.defs.dagster_history import CheckResultSweep, RunlessEventSweep, TickSweep
from issuetracker_dagster.defs.fence import Fence, interrupts
from issuetracker_dagster.defs.progress import Progress
from issuetracker_dagster.defs.run_history import OrphanSweep, RunSweep, sqlite_files
from issuetracker_dagster.defs.supervisor import LIVE
from issuetracker_dagster.defs.watched import watched
from issuetracker_dagster.flow.purge import Purger, PurgeReport
from issuetracker_dagster.model.durations import exact_duration
from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.ports.history import Sweep
from issuetracker_dagster.wiring.history import database_sweeps, give_back_space
from issuetracker_dagster.wiring.parts import Wiring

PURGE_JOB = "purge_history"
CRON = "17 * * * *"
TOLD_EVERY_S = 10.0
LONGEST_MS = 2 * 3_600_000
"""No purge lasts that long: it has half an hour, then the files that give space back."""


class PurgeConfig(dg.Config):
    """What the launchpad asks for."""

    dry_run: bool = Field(
        False, description="true only counts what would go, by the PURGE_* settings; false (default) removes"
    )


def dagster_sweeps(wiring: Wiring, instance: dg.DagsterInstance) -> list[Sweep]:
    """Sweeps of Dagster's storage for one run; runs before the files that they may leave."""
    purge = wiring.settings.purge
    return [
        RunSweep(instance, purge.runs_after),
        OrphanSweep(instance, purge.runs_after, purge.ticks_after),
        TickSweep(instance, purge.ticks_after),
        RunlessEventSweep(instance, purge.runs_after),
        CheckResultSweep(instance, purge.runs_after),
    ]


def purged(
    wiring: Wiring,
    instance: dg.DagsterInstance | None,
    *,
    dry_run: bool,
    told: Callable[[str, Removed], None] = lambda _, __: None,
    control: Callable[[], str | None] = lambda: None,
) -> tuple[PurgeReport, int]:
    """Purge everything (Dagster's part with an instance only); what went, and by how many bytes files got smaller."""
    sweeps = [*(dagster_sweeps(wiring, instance) if instance else ()), *database_sweeps(wiring)]
    # By this machine's clock, as the records and files of Dagster are dated; Redis isn't needed for it.
    report = Purger(wiring.machine_clock).run(sweeps, dry_run=dry_run, told=told, control=control)
    if dry_run or report.stopped:
        return report, 0
    files = sqlite_files(instance) if instance else []
    return report, sum(give_back(file, control) for file in files) + give_back_space(wiring, control)


@dg.op(name="purge_history_op", description="Removes what is older than the PURGE_* settings say, in short steps.")
def purge_op(context: dg.OpExecutionContext, config: PurgeConfig, wiring: dg.ResourceParam[Wiring]) -> None:
    fence = Fence(context.instance, context.run_id, lambda: True)
    progress = Progress(context, wiring.machine_clock, every_s=TOLD_EVERY_S, at_once=True)

    def told(name: str, removed: Removed) -> None:
        progress.tell(f"{name}: {words(removed)} so far")

    with interrupts() as interrupted, watched(wiring, context.run):
        report, smaller = purged(
            wiring,
            context.instance,
            dry_run=config.dry_run,
            told=told,
            control=lambda: interrupted() or fence.reason(),
        )
    for line in told_lines(report):
        context.log.info(line)
    context.add_output_metadata(metadata(report, smaller))
    fence.raise_if_ended()


@dg.job(
    name=PURGE_JOB,
    executor_def=dg.in_process_executor,
    description=(
        "Removes finished runs with their files, ticks, events of no run, fetched pages and the index of dead letters, "
        "each older than its PURGE_* setting. Live runs, and pages that a waiting message or a letter names, stay. "
        "Ended in the middle, the next run goes on."
    ),
)
def purge_job() -> None:
    purge_op()


@dg.schedule(
    name=PURGE_JOB,
    cron_schedule=CRON,
    job_name=PURGE_JOB,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Purges every hour. Off, Dagster's storage and the database grow without end.",
)
def purge_schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    at_work = purge_at_work(context.instance, SystemClock().now_ms())
    if at_work:
        return dg.SkipReason(f"run {at_work} is still at work; terminate it if it isn't")
    return dg.RunRequest()


def purge_at_work(instance: dg.DagsterInstance, now_ms: int) -> str | None:
    """The run of a purge that hasn't ended; None when there is none.

    One that is older than any can get is failed here. Its process was killed, and Dagster would show it at work, and
    nothing would be purged any more, until somebody noticed.
    """
    for record in instance.get_run_records(dg.RunsFilter(job_name=PURGE_JOB, statuses=LIVE)):
        run = record.dagster_run
        begun_s = record.start_time or record.create_timestamp.timestamp()
        is_queued = run.status is dg.DagsterRunStatus.QUEUED  # no process has it yet
        if is_queued or now_ms - begun_s * 1000 < LONGEST_MS:
            return run.run_id
        instance.report_run_failed(run, f"not ended after {exact_duration(LONGEST_MS)}: its process is gone")
    return None


def words(removed: Removed) -> str:
    """`12 rows, 3 files, 1.4 MB`."""
    parts = [_counted(removed.rows, "row")] if removed.rows or not removed.files else []
    parts += [_counted(removed.files, "file")] if removed.files else []
    return ", ".join([*parts, f"{removed.bytes / 1e6:.1f} MB"] if removed.bytes else parts)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def told_lines(report: PurgeReport) -> Iterator[str]:
    """A purge as a person reads it, a line a sweep."""
    for name, removed in report.removed.items():
        why = report.skipped.get(name)
        yield f"{name}: {words(removed)}" + (f"; skipped: {why}" if why else "")
    if report.stopped:
        yield f"ended early: {report.stopped}; the next purge goes on"


def metadata(report: PurgeReport, smaller: int) -> Mapping[str, dg.MetadataValue]:
    """The figures of a run, one name each, so that they plot."""
    figures: dict[str, dg.MetadataValue] = {}
    for name, removed in report.removed.items():
        figures |= {
            f"{name}_{what}": dg.MetadataValue.int(count)
            for what, count in (("rows", removed.rows), ("files", removed.files), ("bytes", removed.bytes))
            if count
        }
    figures["removed_bytes"] = dg.MetadataValue.int(report.total.bytes)
    figures["files_smaller_by_bytes"] = dg.MetadataValue.int(smaller)
    told = {**{f"skipped_{name}": why for name, why in report.skipped.items()}, "stopped": report.stopped}
    return figures | {name: dg.MetadataValue.text(why) for name, why in told.items() if why}
