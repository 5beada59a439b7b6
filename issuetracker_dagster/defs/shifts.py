"""The long-running ops: one shift of one stage in a run of its own.

A shift shows signs of life in Redis, fences itself when its run was ended behind its back, and ends in order on the
first interrupt; a second one changes nothing.
"""

import random

import dagster as dg
from pydantic import Field

from issuetracker_dagster.defs.fence import Fence, counted, interrupts
from issuetracker_dagster.defs.flags import intake_toggle, stage_toggle
from issuetracker_dagster.defs.patience import once_there
from issuetracker_dagster.defs.supervisor import SlotJob, holder_of_slot
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.crews import opened_shift
from issuetracker_dagster.wiring.lifesigns import signs_of_life
from issuetracker_dagster.wiring.parts import Wiring

STAGE_TAG = "issuetracker/stage"


class SlotConfig(dg.Config):
    """Which slot of its stage a shift fills; given by the supervising sensor."""

    slot: int = Field(
        0, ge=0, description="Place of this run among those of its stage, from 0 (default) to *_SLOTS - 1"
    )


def shift_job_name(stage: Stage) -> str:
    """The job whose runs are the shifts of `stage`."""
    return f"{stage.value}_shift"


def shift_op_name(stage: Stage) -> str:
    """Its one op, by which the slot is configured."""
    return f"{stage.value}_shift_op"


def supervised(stage: Stage) -> SlotJob:
    """The same job as its supervisor knows it."""
    return SlotJob(shift_job_name(stage), stage.value, {STAGE_TAG: stage.value}, shift_op_name(stage))


def shift_job(stage: Stage) -> dg.JobDefinition:
    """The job whose runs are the shifts of `stage`."""

    @dg.op(name=shift_op_name(stage), description=f"Works as {stage.value} until the shift's time is over.")
    def work(context: dg.OpExecutionContext, config: SlotConfig, wiring: dg.ResourceParam[Wiring]) -> None:
        run_shift(context, stage, config.slot, wiring)

    @dg.job(
        name=shift_job_name(stage),
        executor_def=dg.in_process_executor,
        tags={STAGE_TAG: stage.value},
        description=(
            f"One worker run of {stage.value}, about SHIFT_DURATION long. The sensor {stage.value}_workers keeps its "
            "slots filled: a run started by hand on a slot that is taken is ended by it. Terminate drains, then ends."
        ),
    )
    def job() -> None:
        work()

    return job


def run_shift(context: dg.OpExecutionContext, stage: Stage, slot: int, wiring: Wiring) -> None:
    """Run one shift to its end and leave its figures as run metadata.

    Ends as canceled when somebody asked for that, as failed when the run was ended from outside, else as a success. One
    whose slot is another's ends at once; one that begins while Kafka is out waits for it.
    """
    holder = holder_of_slot(context.instance, supervised(stage), context.run_id)
    if holder:
        context.log.warning(f"slot {slot} of {stage.value} is held by run {holder}; this one ends without any work")
        context.add_output_metadata({"reason": f"the slot is held by run {holder}"})
        return
    settings = wiring.settings
    flag = intake_toggle(context, stage, settings)
    fence = Fence(context.instance, context.run_id, stage_toggle(context, stage, settings))
    with interrupts() as interrupted, signs_of_life(wiring, stage.value, slot, context.run_id) as signs:

        def control() -> str | None:
            return interrupted() or fence.reason()

        def is_there() -> bool:
            wiring.ready()
            return True

        summary = None
        if once_there(wiring.machine_clock, control, is_there):
            duration_ms = spread(settings.shift.shift_duration)
            with opened_shift(wiring, stage, flag_is_on=flag, control=control, duration_ms=duration_ms) as shift:
                signs.tell = lambda: {"mode": shift.mode, **shift.counts()}
                summary = shift.run()
    if summary is None:
        context.add_output_metadata({"reason": "ended before Kafka was there"})
    else:
        context.log.info(f"{summary.reason}; modes {', '.join(summary.modes)}; {counted(summary.counts)}")
        context.add_output_metadata({"reason": summary.reason, "modes": ", ".join(summary.modes), **summary.counts})
    fence.raise_if_ended()


def spread(duration_ms: int) -> int:
    """The duration +-20 %, so that the shifts of all slots don't end at once."""
    return int(duration_ms * random.uniform(0.8, 1.2))


def shift_jobs() -> list[dg.JobDefinition]:
    """One for each stage."""
    return [shift_job(stage) for stage in Stage]
