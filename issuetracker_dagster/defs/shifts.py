"""The long-running ops: one shift of one stage in a run of its own.

A shift shows signs of life in Redis, fences itself when its run was ended behind its back, and ends in order on the
first interrupt; a second one changes nothing.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import dagster as dg

from issuetracker_dagster.defs.flags import intake_toggle, stage_toggle
from issuetracker_dagster.defs.resources import Parts
from issuetracker_dagster.flow.shift import Shift
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.crews import opened_shift
from issuetracker_dagster.wiring.lifesigns import signs_of_life

STAGE_TAG = "issuetracker/stage"
SLOT_TAG = "issuetracker/slot"
STATUS_EVERY_S = 3.0


class SlotConfig(dg.Config):
    """Which slot of its stage a shift fills; given by the supervising sensor."""

    slot: int = 0


def shift_job(stage: Stage) -> dg.JobDefinition:
    """The job whose runs are the shifts of `stage`."""

    @dg.op(name=f"{stage.value}_shift_op", description=f"Works as {stage.value} until the shift's time is over.")
    def work(context: dg.OpExecutionContext, config: SlotConfig, parts: Parts) -> None:
        run_shift(context, stage, config.slot, parts)

    @dg.job(
        name=f"{stage.value}_shift",
        executor_def=dg.in_process_executor,
        tags={STAGE_TAG: stage.value},
        description=f"One worker run of {stage.value}; the sensor {stage.value}_workers keeps its slots filled.",
    )
    def job() -> None:
        work()

    return job


def run_shift(context: dg.OpExecutionContext, stage: Stage, slot: int, parts: Parts) -> None:
    """Run one shift to its end and leave its figures as run metadata."""
    wiring = parts.wiring()
    settings = wiring.settings
    flag = intake_toggle(context, stage, settings)
    fence = Fence(context, stage_toggle(context, stage, settings))
    with (
        signs_of_life(wiring, stage, slot, context.run_id) as signs,
        opened_shift(
            wiring, stage, flag_is_on=flag, control=fence.reason, duration_ms=spread(settings.shift.shift_duration)
        ) as shift,
        ending_on_signals(shift),
    ):
        signs.shift = shift
        summary = shift.run()
    context.log.info(f"{summary.reason}; modes {', '.join(summary.modes)}; {summary.counts}")
    context.add_output_metadata({"reason": summary.reason, "modes": ", ".join(summary.modes), **summary.counts})
    if fence.is_canceling():
        raise dg.DagsterExecutionInterruptedError


def spread(duration_ms: int) -> int:
    """The duration +-20 %, so that the shifts of all slots don't end at once."""
    return int(duration_ms * random.uniform(0.8, 1.2))


class Fence:
    """Notices that this run isn't wanted any more: its status changed, or the process that started it is gone."""

    def __init__(self, context: dg.OpExecutionContext, stage_is_on: Callable[[], bool]) -> None:
        self._stage_is_on = stage_is_on
        self._instance = context.instance
        self._run_id = context.run_id
        self._parent = os.getppid()
        self._looked_at = time.monotonic()

    def reason(self) -> str | None:
        """Why to end, or None; asks the instance every few seconds."""
        if os.getppid() != self._parent:
            return "the process that started this run is gone"
        if time.monotonic() - self._looked_at < STATUS_EVERY_S:
            return None
        self._looked_at = time.monotonic()
        status = self._status()
        if status is not None and status is not dg.DagsterRunStatus.STARTED:
            return f"the run is {status.value}"
        return None if self._stage_is_on() else "the stage is switched off"

    def is_canceling(self) -> bool:
        """Whether somebody asked for the end of this run."""
        return self._status() is dg.DagsterRunStatus.CANCELING

    def _status(self) -> dg.DagsterRunStatus | None:
        run = self._instance.get_run_by_id(self._run_id)
        return run.status if run else None


@contextmanager
def ending_on_signals(shift: Shift) -> Iterator[None]:
    """SIGINT and SIGTERM ask the shift to end; repeated ones are no news, so a drain is never cut short by them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        shift.stop(f"interrupted by {signal.Signals(signum).name}")

    before = {signum: signal.signal(signum, end) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def shift_jobs() -> list[dg.JobDefinition]:
    """One for each stage."""
    return [shift_job(stage) for stage in Stage]
