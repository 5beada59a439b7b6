"""`issuetracker queue drain-back`: a stage's queue goes back into its Kafka topic, once its intake is off."""

import click

from issuetracker_dagster.cli.progress import bar
from issuetracker_dagster.cli.running_flags import as_running
from issuetracker_dagster.errors import StaleLease, TransientError
from issuetracker_dagster.flow.drain_back import DrainBackReport
from issuetracker_dagster.local import family
from issuetracker_dagster.model.queue import QueueDepth
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.steering import drain_back


@click.command("drain-back", short_help="Give a queue back to its Kafka topic.")
@click.argument("stage", type=click.Choice([stage.value for stage in QUEUED_STAGES]))
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
def drain_back_command(stage: str, dry_run: bool) -> None:
    """Give everything that is ready in the queue of STAGE back to its Kafka topic: publish, then remove.

    For when its workers can't work from the queue; otherwise switching the intake off empties it, by their work. The
    intake has to be off. Ended in the middle (Ctrl-C, kill -9, a server out), the same command goes on: no message is
    lost, and at most a hundred are in both places, known by their identity. Kafka keeps no order of priority.
    """
    settings = Settings()
    refuse_while_on(settings, Stage(stage))
    wiring, topic = Wiring(settings), FACTS[Stage(stage)].inputs[0].value
    depth = wiring.queue(Stage(stage)).depth()
    if dry_run:
        click.echo(f"Would give back: {depth.ready} of {stage} to {topic}. {_left(depth)}".rstrip())
        return
    try:
        with bar(f"to {topic}", depth.ready) as done:
            report = drain_back(wiring, Stage(stage)).run(lambda so_far: done(so_far.returned))
    except (TransientError, StaleLease) as error:
        raise click.ClickException(f"{error}; nothing is lost, the same command goes on from there") from None
    click.echo(_said(report, stage, topic))


def refuse_while_on(settings: Settings, stage: Stage) -> None:
    """Raises a `ClickException` unless the intake of that stage is known to be off."""
    setting = settings.queue(stage.value).priority_queue_enabled
    variable = f"{stage.value.upper()}_PRIORITY_QUEUE_ENABLED"
    if setting is False:
        return
    # Dagster takes seconds to import.
    from issuetracker_dagster.defs.toggle_states import dagster_home, toggle_states

    sensor = f"{stage.value}_intake"
    folder = dagster_home(settings.home)
    if folder is None:
        raise click.ClickException(
            f"whether the sensor {sensor} is on can't be told: set DAGSTER_HOME to Dagster's folder, or, when it is "
            f"known to be off, {variable}=false for this command"
        )
    at_first = as_running(family.code_environment(settings.home), variable, setting)
    if at_first is not False and toggle_states(folder).get(sensor, bool(at_first)):
        raise click.ClickException(
            f"the sensor {sensor} is on and would fill the queue again: switch it off in the UI under Automation, or "
            f"restart Dagster with {variable}=false"
        )


def _left(depth: QueueDepth | DrainBackReport) -> str:
    parts = []
    if depth.leased:
        parts.append(f"{depth.leased} are being worked on")
    if depth.delayed:
        parts.append(f"{depth.delayed} are delayed")
    return f"{' and '.join(parts)}: they stay, and the same command takes what comes back." if parts else ""


def _said(report: DrainBackReport, stage: str, topic: str) -> str:
    parts = [f"Given back: {report.returned} of {stage} to {topic}."]
    if report.buried:
        parts.append(f"{report.buried} don't decode or are too large, and went to the DLQ.")
    if report.ready:
        parts.append(f"{report.ready} came meanwhile: the same command takes them.")
    return " ".join([*parts, _left(report)]).rstrip()
