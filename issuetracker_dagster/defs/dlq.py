"""Sensor `dlq_index` and job `redrive_dead_letters`: what died can be searched, and sent round again."""

import dagster as dg
from pydantic import Field

from issuetracker_dagster.defs.fence import Fence, interrupts
from issuetracker_dagster.defs.progress import Progress
from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.defs.watched import watched
from issuetracker_dagster.errors import AlreadyRunning
from issuetracker_dagster.flow.dlq_index import IndexReport
from issuetracker_dagster.flow.redrive import RATE, RedriveOptions, RedriveReport
from issuetracker_dagster.model.letters import STAGES, LetterFilter
from issuetracker_dagster.model.redrive import EXPLAINED
from issuetracker_dagster.settings.kinds import duration_ms
from issuetracker_dagster.wiring.parts import Wiring

REDRIVE_JOB = "redrive_dead_letters"
TICK_BUDGET_MS = 8_000
DEFAULT_LIMIT = 1_000


@dg.sensor(
    name="dlq_index",
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description=(
        "Notes in SQL what lies in Kafka's topic dlq, so that `issuetracker dlq` and redrive_dead_letters find it. "
        "Off, letters wait in Kafka until its retention ends."
    ),
)
@guarded
def dlq_index(context: dg.SensorEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.SkipReason:  # noqa: ARG001
    return dg.SkipReason(told(wiring.dead_letter_indexer.tick(TICK_BUDGET_MS)))


def told(report: IndexReport) -> str:
    """A tick in one sentence, for the sensor's page."""
    parts = [f"{report.stored} letters indexed"]
    for count, what in (
        (report.known, "were known"),
        (report.removed, "rows were older than PURGE_DEAD_LETTERS_AFTER and went"),
        (report.lost_to_retention, "letters were removed by retention before anybody read them"),
    ):
        if count:
            parts.append(f"{count} {what}")
    return ", ".join(parts)


class RedriveConfig(dg.Config):
    """What the launchpad asks for."""

    dry_run: bool = Field(True, description="true (default) only says what would happen; false redrives")
    stages: list[str] = Field([], description=f"Stages that gave up, of {', '.join(STAGES)}; empty: all")
    reasons: list[str] = Field([], description="Reasons, such as http_404 or attempts_exhausted; empty: all")
    host: str = Field("", description="Host; *.example.com means every host below example.com; empty: all")
    older_than: str = Field("", description="Died longer ago than this, such as 30m or 2d; empty: any")
    newer_than: str = Field("", description="Died within this time, such as 6h; empty: any")
    limit: int = Field(
        DEFAULT_LIMIT, ge=0, description=f"Most letters redriven (default {DEFAULT_LIMIT}); 0: all that are meant"
    )
    rate: int = Field(RATE, ge=1, description=f"Most letters a second, 1 or more (default {RATE})")
    force: bool = Field(
        False, description="true also redrives those that were redriven too often already; default false"
    )

    def wanted(self, now_ms: int) -> LetterFilter:
        """The letters that are meant; raises `dg.Failure` that says what to write instead."""
        unknown = sorted(set(self.stages) - set(STAGES))
        if unknown:
            raise dg.Failure(f"stages: {', '.join(unknown)} isn't one of {', '.join(STAGES)}", allow_retries=False)
        older, newer = _duration("older_than", self.older_than), _duration("newer_than", self.newer_than)
        return LetterFilter(
            stages=tuple(self.stages),
            reasons=tuple(self.reasons),
            host=self.host.lower(),
            before_ms=now_ms - older if older else 0,
            since_ms=now_ms - newer if newer else 0,
        )


def _duration(name: str, text: str) -> int:
    try:
        return duration_ms(text) if text.strip() else 0
    except ValueError as error:
        raise dg.Failure(f"{name}: {text!r} isn't {error}", allow_retries=False) from None


@dg.op(name="redrive_dead_letters_op", description="Publishes open letters to where they failed, then marks them.")
def redrive_op(context: dg.OpExecutionContext, config: RedriveConfig, wiring: dg.ResourceParam[Wiring]) -> None:
    wanted = config.wanted(wiring.clock.now_ms())
    options = RedriveOptions(limit=config.limit, rate=config.rate, dry_run=config.dry_run, force=config.force)
    meant = wiring.stores.dead_letters.count(wanted)
    context.log.info(f"{meant} open letters are meant")
    fence = Fence(context.instance, context.run_id, lambda: True)
    progress = Progress(context, wiring.clock)

    def told(report: RedriveReport) -> None:
        progress.tell(f"{report.looked_at} of {meant} done, {report.redriven} redriven")

    with interrupts() as interrupted, watched(wiring, context.run):
        try:
            report = wiring.redriver.run(wanted, options, told=told, control=lambda: interrupted() or fence.reason())
        except AlreadyRunning as error:
            raise dg.Failure(str(error), allow_retries=False) from None
    done = "would be redriven" if config.dry_run else "redriven"
    context.log.info(f"{report.redriven} of {meant} {done}, {sum(report.left.values())} left")
    for left, count in report.left.items():
        context.log.info(f"{count} left, {left.value}: {EXPLAINED[left]}")
    context.add_output_metadata(
        {
            "would_redrive" if config.dry_run else "redriven": report.redriven,
            "meant": meant,
            **{f"left_{left.value}": count for left, count in report.left.items()},
            **{f"to_{topic.replace('.', '_')}": count for topic, count in report.by_topic.items()},
            **({"stopped": report.stopped} if report.stopped else {}),
        }
    )
    fence.raise_if_ended()


@dg.job(
    name=REDRIVE_JOB,
    executor_def=dg.in_process_executor,
    description=(
        "Sends dead letters back to where they failed, chosen in the launchpad; a dry run unless dry_run is set to "
        "false. Ended in the middle, another run goes on from there: none is lost, at most a hundred go round twice."
    ),
)
def redrive_job() -> None:
    redrive_op()
