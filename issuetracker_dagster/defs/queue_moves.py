"""Job `move_queue_entries`: what `issuetracker queue move` does, from the launchpad."""

from collections.abc import Callable

import dagster as dg
from pydantic import Field

from issuetracker_dagster.defs.fence import Fence, interrupts
from issuetracker_dagster.defs.progress import Progress
from issuetracker_dagster.defs.watched import watched
from issuetracker_dagster.flow.move import move_members, move_ready, move_words
from issuetracker_dagster.model.priority import Priority, priority_from_label
from issuetracker_dagster.model.queue_view import MoveResult
from issuetracker_dagster.model.rules import check_host
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.roots import found_by_name
from issuetracker_dagster.wiring.steering import steering

MOVE_JOB = "move_queue_entries"
_STAGES = ", ".join(stage.value for stage in QUEUED_STAGES)


class MoveConfig(dg.Config):
    """What the launchpad asks for."""

    stage: str = Field(description=f"Whose queue: {_STAGES}")
    to: str = Field(description="The band to move to: high, normal or low")
    from_band: str = Field("", description="Only entries of this band: high, normal or low; empty: the other two")
    host: str = Field("", description="Only entries of this host; *.example.com: every host below; empty: all")
    ids: list[str] = Field(
        [], description="Only these messages, by identity or root id, without from_band and host; empty: all"
    )
    dry_run: bool = Field(True, description="true (default) only counts; set it to false to move")

    def queue_of(self) -> Stage:
        """The stage that is meant; raises `dg.Failure` that says what to write instead, as the others do."""
        if self.stage not in QUEUED_STAGES:
            raise dg.Failure(f"stage: {self.stage!r} isn't one of {_STAGES}", allow_retries=False)
        return Stage(self.stage)

    def target(self) -> Priority:
        """The band to move to."""
        return _band("to", self.to)

    def only_host(self) -> str:
        """The only host, or `*.` and a domain, if one is given."""
        try:
            return check_host(self.host.lower()) if self.host else ""
        except ValueError as error:
            raise dg.Failure(str(error), allow_retries=False) from None

    def source(self) -> Priority | None:
        """The only band to move from, if one is given."""
        if self.ids and (self.host or self.from_band):
            raise dg.Failure("give ids, or host and from_band, not both", allow_retries=False)
        return _band("from_band", self.from_band) if self.from_band else None


def _band(name: str, text: str) -> Priority:
    try:
        return priority_from_label(text)
    except ValueError as error:
        raise dg.Failure(f"{name}: {error}", allow_retries=False) from None


@dg.op(name="move_queue_entries_op", description="Moves waiting entries of a stage queue, 500 in one step.")
def move_op(context: dg.OpExecutionContext, config: MoveConfig, wiring: dg.ResourceParam[Wiring]) -> None:
    stage, to, from_band, host = config.queue_of(), config.target(), config.source(), config.only_host()
    queue = steering(wiring, stage)
    fence = Fence(context.instance, context.run_id, lambda: True)
    not_found: list[str] = []
    with interrupts() as interrupted, watched(wiring, context.run):
        if config.ids:
            found = found_by_name(queue, config.ids)
            not_found = [name for name, members in found.items() if not members]
            members = dict.fromkeys(member for members in found.values() for member in members)
            result = move_members(queue, list(members), to, dry_run=config.dry_run)
        else:
            told = _told(context, wiring, fence, lambda: interrupted() or fence.reason())
            result = move_ready(queue, to, from_band=from_band, host=host, dry_run=config.dry_run, told=told)
    for name in not_found:
        context.log.warning(f"{name} isn't found in {stage}; `issuetracker trace {name}` tells where it is")
    context.log.info(move_words(result, stage, to, dry_run=config.dry_run))
    context.add_output_metadata(
        {
            "would_move" if config.dry_run else "moved": result.moved,
            "there_already": result.same,
            "in_workers_hands": result.leased,
            "gone": result.gone,
            "not_found": len(not_found),
        }
    )
    fence.raise_if_ended()


def _told(
    context: dg.OpExecutionContext, wiring: Wiring, fence: Fence, control: Callable[[], str | None]
) -> Callable[[MoveResult], None]:
    """What tells the run's log every few seconds how far it is, and ends the run between two steps when asked."""
    progress = Progress(context, wiring.machine_clock)

    def told(result: MoveResult) -> None:
        why = control()
        if why:
            context.log.info(f"{why}; {result.moved} so far, another run goes on from there")
            fence.raise_if_ended()
            raise dg.Failure(f"{why} before all was moved; another run goes on from there", allow_retries=False)
        progress.tell(f"{result.moved} so far")

    return told


@dg.job(
    name=MOVE_JOB,
    executor_def=dg.in_process_executor,
    description=(
        "Puts waiting entries of a stage queue into another band, chosen in the launchpad; a dry run unless dry_run is "
        "set to false. Messages carry their new priority on, what workers hold stays. Ended in the middle, another run "
        "goes on from there."
    ),
)
def move_job() -> None:
    move_op()
