"""`issuetracker queue`: looking into the stage queues, moving entries between bands, giving them back to Kafka."""

import click
import msgspec

from issuetracker_dagster.cli.arguments import columns, host_name, priority_word
from issuetracker_dagster.cli.dlq_words import age, line_of
from issuetracker_dagster.cli.progress import bar
from issuetracker_dagster.cli.queue_drain_back import drain_back_command
from issuetracker_dagster.flow.move import move_members, move_ready, move_words, url_of
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueDepth
from issuetracker_dagster.model.queue_view import EntryView
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.roots import found_by_name
from issuetracker_dagster.wiring.steering import steering

_LONGEST = 2_000
_stage = click.argument("stage", type=click.Choice([stage.value for stage in QUEUED_STAGES]))


@click.group()
def queue() -> None:
    """The stage queues: look without taking, move entries between bands, give them back to Kafka.

    STAGE is parser, validate or enrich. Where a single message is, in whatever place, `issuetracker trace` tells.
    """


@queue.command(short_help="Show what is next, without taking it.")
@_stage
@click.option("--band", callback=priority_word, help="Only this one: high, normal or low.")
@click.option("-n", "limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Most entries shown.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def peek(stage: str, band: Priority | None, limit: int, as_json: bool) -> None:
    """Show what is ready in the queue of STAGE, in the order in which it will be worked on. Nothing is taken."""
    wiring = Wiring(Settings())
    found = steering(wiring, Stage(stage)).peek(band, limit)
    now_ms = wiring.heartbeats.now_ms()
    if as_json:
        for view in found:
            click.echo(msgspec.json.encode(entry_object(view, now_ms)))
        return
    if found:
        head = ("id", "band", "waits", "deliveries", "url")
        for line in columns([head, *(_row(view, now_ms) for view in found)]):
            click.echo(line)
    click.echo(_counted(stage, wiring.queue(Stage(stage)).depth(), band, len(found)))


def entry_object(view: EntryView, now_ms: int) -> dict[str, object]:
    """An entry as `--json` prints it."""
    url = url_of(view)
    return {
        "id": view.member,
        "state": view.state,
        "band": view.priority.label if view.priority else None,
        "age_ms": None if view.arrival_ms is None else max(0, int(now_ms - view.arrival_ms)),
        "deliveries": view.deliveries,
        "due_ms": view.due_ms or None,
        "url": url,
        "host": host_of(url),
    }


def _row(view: EntryView, now_ms: int) -> tuple[str, ...]:
    band = view.priority.label if view.priority else ""
    return (
        line_of(view.member, _LONGEST),
        band,
        age(int(view.arrival_ms or now_ms), now_ms),
        str(view.deliveries),
        line_of(url_of(view), _LONGEST) or "none in its payload",
    )


def _counted(stage: str, depth: QueueDepth, band: Priority | None, shown: int) -> str:
    ready = depth.ready if band is None else depth.bands[band].ready
    more = f"; the first {shown} {'is' if shown == 1 else 'are'} shown" if ready > shown else ""
    of_band = f" of {band.label}" if band else ""
    others = f"{depth.leased} are being worked on, {depth.delayed} delayed, {depth.outbox} on their way to the DLQ"
    return f"{ready}{of_band} ready in {stage}{more}. {others}."


@queue.command(short_help="Put waiting entries into another band.")
@_stage
@click.option("--to", required=True, callback=priority_word, help="The band: high, normal or low.")
@click.option("--from", "from_band", callback=priority_word, help="Only entries of this band.")
@click.option(
    "--host", default="", callback=host_name, help="Only entries of this host; *.example.com: every host below."
)
@click.option("--id", "ids", multiple=True, help="Only this message: its identity, or its root id; repeatable.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@click.option("--yes", is_flag=True, help="Don't ask, which is done when neither host nor id says which entries.")
def move(
    stage: str, to: Priority, from_band: Priority | None, host: str, ids: tuple[str, ...], dry_run: bool, yes: bool
) -> None:
    """Put waiting entries of STAGE into another band, in the order in which they arrived.

    Among those that were there already they line up by their arrival, too. The message's own priority changes with it,
    so the stages after this one follow. What a worker holds stays. Ended in the middle, the same command goes on.
    """
    if ids and (host or from_band):
        raise click.UsageError("give --id, or --host and --from, not both")
    wiring = Wiring(Settings())
    queue_of_stage, depth = steering(wiring, Stage(stage)), wiring.queue(Stage(stage)).depth()
    total = depth.bands[from_band].ready if from_band else depth.ready
    if not (host or ids or dry_run or yes) and total:
        meant = f"all {total} ready {from_band.label} entries" if from_band else f"all {total} ready entries"
        click.confirm(f"Neither host nor id is given. Move {meant} of {stage}?", abort=True)
    if ids:
        found = found_by_name(queue_of_stage, ids)
        for name in (name for name, members in found.items() if not members):
            click.echo(
                f"{name} isn't found in {stage}; `issuetracker trace {name}` tells its identity and place", err=True
            )
        members = dict.fromkeys(member for members in found.values() for member in members)
        result = move_members(queue_of_stage, list(members), to, dry_run=dry_run)
    else:
        with bar("looking" if dry_run else "moving", total) as done:
            result = move_ready(
                queue_of_stage,
                to,
                from_band=from_band,
                host=host,
                dry_run=dry_run,
                told=lambda so_far: done(so_far.moved),
            )
    click.echo(move_words(result, Stage(stage), to, dry_run=dry_run))


queue.add_command(drain_back_command)
