"""What every tick has in common: it never overlaps itself, and a server that is out is a reason to skip, no error."""

import functools
import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import dagster as dg

from issuetracker_dagster.errors import ConfigError, TransientError
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.wiring.parts import Wiring

logger = logging.getLogger(__name__)

R = TypeVar("R")
C = TypeVar("C", dg.SensorEvaluationContext, dg.ScheduleEvaluationContext)

HELP = (
    "`issuetracker status` shows what runs, `issuetracker up` starts embedded servers that are missing; one of your "
    "own is yours to start"
)


def guarded(tick: Callable[[C, Wiring], R]) -> Callable[[C, Wiring], R | dg.SkipReason]:
    """A tick of a sensor or a schedule that skips when it can't work. Its second parameter is a
    `dg.ResourceParam[Wiring]`.

    A tick that Dagster gave up on goes on running; the next one then skips instead of running beside it. Kafka, Redis
    or SQL out of reach, or a setting that is wrong, are told as the reason of a skip, with what helps. Anything else
    is a bug: it fails the tick.
    """
    lock = threading.Lock()
    began = 0.0

    @functools.wraps(tick)
    def guard(context: C, wiring: Wiring) -> R | dg.SkipReason:
        nonlocal began
        if not lock.acquire(blocking=False):
            return dg.SkipReason(f"a tick before this one is still at work after {time.monotonic() - began:.0f} s")
        try:
            began = time.monotonic()
            return tick(context, wiring)
        except (TransientError, ConfigError) as error:
            logger.warning("%s skips: %s", _name(context), error, extra=action("tick.skipped"))
            return dg.SkipReason(f"{error}. {HELP}")
        finally:
            lock.release()

    return guard


def _name(context: dg.SensorEvaluationContext | dg.ScheduleEvaluationContext) -> str:
    # A schedule's context doesn't tell its name.
    return context.sensor_name if isinstance(context, dg.SensorEvaluationContext) else "a schedule"
