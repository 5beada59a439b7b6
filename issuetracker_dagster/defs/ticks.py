"""What every tick has in common: it never overlaps itself, and a server that is out is a reason to skip, no error."""

import functools
import logging
import threading
from collections.abc import Callable
from typing import TypeVar

import dagster as dg

from issuetracker_dagster.defs.resources import Parts
from issuetracker_dagster.errors import ConfigError, TransientError
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.wiring.parts import Wiring

logger = logging.getLogger(__name__)

R = TypeVar("R")

HELP = "`issuetracker status` shows what runs, `issuetracker up` starts what is missing"


def guarded(
    tick: Callable[[dg.SensorEvaluationContext, Wiring], R],
) -> Callable[[dg.SensorEvaluationContext, Parts], R | dg.SkipReason]:
    """A sensor's tick, given the wiring of this process.

    A tick that Dagster gave up on goes on running; the next one then skips instead of running beside it. Kafka, Redis
    or SQL out of reach, or a setting that is wrong, are told as the reason of a skip, with what helps.
    """
    lock = threading.Lock()

    @functools.wraps(tick)
    def guard(context: dg.SensorEvaluationContext, parts: Parts) -> R | dg.SkipReason:
        if not lock.acquire(blocking=False):
            return dg.SkipReason("the tick before this one is still at work")
        try:
            return tick(context, parts.wiring())
        except (TransientError, ConfigError) as error:
            logger.warning("%s skips: %s", context.sensor_name, error, extra=action("kafka.unavailable"))
            return dg.SkipReason(f"{error}. {HELP}")
        finally:
            lock.release()

    # Dagster reads resources off the signature, which `wraps` would give it from the inner function.
    del guard.__dict__["__wrapped__"]
    guard.__annotations__ = {"context": dg.SensorEvaluationContext, "parts": Parts}
    return guard
