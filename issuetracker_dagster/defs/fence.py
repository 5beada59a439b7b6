"""What ends a shift before its time: its run isn't wanted any more, its parent is gone, or a signal asks."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

import dagster as dg

from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

STATUS_EVERY_S = 5.0


class Fence:
    """Notices that a run isn't wanted any more: its status changed, it was deleted, or the process that started it is
    gone."""

    def __init__(self, instance: dg.DagsterInstance, run_id: str, stage_is_on: Callable[[], bool]) -> None:
        self._stage_is_on = stage_is_on
        self._instance = instance
        self._run_id = run_id
        # The parent may have died while this process was still importing: then getppid() already names another one.
        parent = multiprocessing.parent_process()
        self._parent = parent.pid if parent else os.getppid()
        self._looked_at = time.monotonic()

    def reason(self) -> str | None:
        """Why to end, or None; asks the instance every few seconds. An instance that can't be asked changes nothing."""
        if os.getppid() != self._parent:
            return "the process that started this run is gone"
        if time.monotonic() - self._looked_at < STATUS_EVERY_S:
            return None
        self._looked_at = time.monotonic()
        try:
            status = self._status()
        except Exception:
            # Dagster's storage out for a moment, in whatever way it says so, is no reason to end every shift.
            logger.warning("the status of the run can't be read", exc_info=True, extra=action("shift.unfenced"))
            return None
        if status is None:
            return "the run was deleted"
        if status is not dg.DagsterRunStatus.STARTED:
            return f"the run is {status.value}"
        return None if self._stage_is_on() else "the stage is switched off"

    def raise_if_ended(self) -> None:
        """Let the run end as what others made of it: raises Dagster's interrupt when it is being canceled, and
        `dg.Failure` when it was failed meanwhile, which an orderly end would otherwise turn into a success."""
        status = self._status()
        if status is dg.DagsterRunStatus.CANCELING:
            raise dg.DagsterExecutionInterruptedError
        if status is dg.DagsterRunStatus.FAILURE:
            why = self._why_failed() or "no reason was given"
            raise dg.Failure(f"this run was failed from outside ({why}); it has drained and ended", allow_retries=False)

    def _why_failed(self) -> str | None:
        """What was written when the run was failed, by the supervisor or whoever did it."""
        failures = self._instance.all_logs(self._run_id, of_type=dg.DagsterEventType.RUN_FAILURE)
        return next((entry.dagster_event.message for entry in failures if entry.dagster_event), None)

    def _status(self) -> dg.DagsterRunStatus | None:
        # Not `get_run_by_id`, which looks up the columns of Dagster's tables each time before it asks.
        found = self._instance.get_runs(dg.RunsFilter(run_ids=[self._run_id]), limit=1)
        return found[0].status if found else None


def counted(counts: Mapping[str, int]) -> str:
    """Counts as a run's log tells them: `forwarded 10, deferred 2`. What didn't happen isn't told."""
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "nothing done"


@contextmanager
def interrupts() -> Iterator[Callable[[], str | None]]:
    """Within the block SIGINT and SIGTERM are only noted; the yielded function tells which came first, if any.

    Repeated ones are no news, so a drain is never cut short by them. Outside the main thread nothing changes.
    """
    received: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def note(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        received.append(signal.Signals(signum).name)

    before = {signum: signal.signal(signum, note) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: f"interrupted by {received[0]}" if received else None
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
