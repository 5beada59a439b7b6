"""Toggles of sensors and schedules as feature flags: the three values of a setting, and the live state of a toggle.

Reading a toggle from inside a run is no public API of Dagster (its issue 12825), so the one place that does it is here,
and `tests/defs` notice when a new version changes it.
"""

import logging
import threading
import time
from collections.abc import Callable

import dagster as dg
from dagster._core.definitions.selector import InstigatorSelector, RepositorySelector

from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.settings.load import Settings

logger = logging.getLogger(__name__)

CACHE_S = 2.0

DRAIN_SCHEDULE = "drain_backlog"
"""The schedule whose toggle is the flag of the buffer."""

RunOrTick = dg.OpExecutionContext | dg.SensorEvaluationContext


def default_status(setting: bool | None, *, unset: bool) -> dg.DefaultSensorStatus:
    """The state of a sensor that nobody has toggled: what the setting says, or `unset` when it says nothing."""
    running = unset if setting is None else setting
    return dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED


def default_schedule_status(setting: bool | None, *, unset: bool) -> dg.DefaultScheduleStatus:
    """The same for a schedule."""
    running = unset if setting is None else setting
    return dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED


def refusal(setting: bool | None, variable: str) -> dg.SkipReason | None:
    """Why a tick does nothing although the toggle is on: `false` in the environment is off whatever the UI says."""
    if setting is False:
        return dg.SkipReason(f"{variable}=false switches this off whatever the toggle says; unset it to use the toggle")
    return None


class LiveToggle:
    """The present state of the toggle of a sensor or a schedule, read at most every two seconds."""

    def __init__(
        self,
        instance: dg.DagsterInstance,
        location: RepositorySelector,
        name: str,
        *,
        setting: bool | None,
        unset: bool,
        before: bool | None = None,
    ) -> None:
        """`before` is what somebody saw last, which stands until the toggle can be read."""
        self._instance = instance
        self._selector_id = InstigatorSelector(
            location_name=location.location_name, repository_name=location.repository_name, name=name
        ).get_id()
        self._setting = setting
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._default = unset if setting is None else setting
        self._is_on = self._default if before is None else before

    def __call__(self) -> bool:
        """Whether it is on; `false` in the environment wins over the toggle."""
        if self._setting is False:
            return False
        with self._lock:
            if time.monotonic() - self._read_at > CACHE_S:
                self._read_at = time.monotonic()
                self._look()
            return self._is_on

    def _look(self) -> None:
        try:
            self._is_on = self._read()
        except Exception:
            # Dagster's storage out for a moment, in whatever way it says so, mustn't switch a stage over.
            logger.warning("an unreadable toggle stays as it was", exc_info=True, extra=action("shift.unfenced"))

    def _read(self) -> bool:
        state = self._instance.get_instigator_state("", self._selector_id)
        if state is None or state.status.value == "DECLARED_IN_CODE":
            return self._default
        return state.status.value == "RUNNING"


def intake_sensor_name(stage: Stage) -> str:
    """The sensor whose toggle is the flag of the stage's queue."""
    return f"{stage.value}_intake"


def worker_sensor_name(stage: Stage) -> str:
    """The sensor whose toggle switches the stage."""
    return f"{stage.value}_workers"


def intake_toggle(context: RunOrTick, stage: Stage, settings: Settings) -> Callable[[], bool]:
    """The flag of a stage's queue as a running op or a sensor's tick sees it; off for a stage without a queue."""
    if stage not in QUEUED_STAGES:
        return lambda: False
    setting = settings.queue(stage.value).priority_queue_enabled
    return _toggle(context, intake_sensor_name(stage), setting, unset=False)


def stage_toggle(context: RunOrTick, stage: Stage, settings: Settings) -> Callable[[], bool]:
    """Whether a stage is switched on, as a running op or a sensor's tick sees it."""
    return _toggle(context, worker_sensor_name(stage), settings.stage_enabled(stage.value), unset=True)


def buffer_toggle(context: RunOrTick, settings: Settings, before: bool | None = None) -> Callable[[], bool]:
    """Whether normal and low jobs are to be buffered, as a running op or a sensor's tick sees it. A tick, whose context
    ends with it, gives what the one before it saw.
    """
    setting = settings.publish.publisher_redis_buffer_enabled
    return _toggle(context, DRAIN_SCHEDULE, setting, unset=False, before=before)


def _toggle(
    context: RunOrTick, name: str, setting: bool | None, *, unset: bool, before: bool | None = None
) -> Callable[[], bool]:
    location = _location(context)
    if location is None:  # started in this process, as tests do: there is no UI whose toggle could be asked
        return lambda: unset if setting is None else setting
    return LiveToggle(context.instance, location, name, setting=setting, unset=unset, before=before)


def sensor_cursor(context: dg.AssetCheckExecutionContext, name: str) -> str:
    """The cursor that a sensor of this location left with its last tick, for a check run from the UI; empty if none."""
    location = _location(context.op_execution_context)
    return "" if location is None else cursor_left(context.instance, location, name)


def cursor_left(instance: dg.DagsterInstance, location: RepositorySelector, name: str) -> str:
    """The cursor of a sensor at that location; empty when it never ticked."""
    selector = InstigatorSelector(
        location_name=location.location_name, repository_name=location.repository_name, name=name
    )
    state = instance.get_instigator_state("", selector.get_id())
    return getattr(state.instigator_data, "cursor", None) or "" if state else ""


def _location(context: RunOrTick) -> RepositorySelector | None:
    """Where the definitions of a run or a tick were loaded: part of the name under which a toggle is stored."""
    if isinstance(context, dg.SensorEvaluationContext):
        origin, repository = context.code_location_origin, context.repository_name
        if origin is None or repository is None:
            return None
        return RepositorySelector(location_name=origin.location_name, repository_name=repository)
    job = context.run.remote_job_origin
    return job.repository_origin.get_selector() if job else None
