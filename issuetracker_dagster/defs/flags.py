"""Toggles of sensors and schedules as feature flags: the three values of a setting, and the live state of a toggle.

Reading a toggle from inside a run is no public API of Dagster (its issue 12825), so the one place that does it is here,
and `tests/defs` notice when a new version changes it.
"""

import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress

import dagster as dg
from dagster._core.definitions.selector import InstigatorSelector, RepositorySelector
from dagster._core.scheduler.instigation import InstigatorStatus

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.settings.load import Settings

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
"""How old what is known of a toggle may get: Dagster's own ticks come no closer, and a look opens four connections."""

DRAIN_SCHEDULE = "drain_backlog"
"""The schedule whose toggle is the flag of the buffer."""

_READERS: "weakref.WeakKeyDictionary[dg.DagsterInstance, dict[str, Toggles]]" = weakref.WeakKeyDictionary()

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


class Toggles:
    """All toggles of one code location that somebody has set, read in one go and at most every five seconds."""

    def __init__(self, instance: dg.DagsterInstance, location: RepositorySelector) -> None:
        # Not the instance itself: whoever keeps a Toggles by its instance would keep that alive.
        self._instance = weakref.ref(instance)
        self._location_id = location.selector_id
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._found: Mapping[str, bool] | None = None

    def state(self, name: str) -> bool | None:
        """Whether the toggle is on, or None when nobody has set it; raises `Unavailable` when that can't be read."""
        with self._lock:
            if time.monotonic() - self._read_at > LOOK_EVERY_S:
                self._read_at = time.monotonic()
                self._found = self._read()
            if self._found is None:
                raise Unavailable("the toggles in Dagster's storage could not be read")
            return self._found.get(name)

    def _read(self) -> Mapping[str, bool] | None:
        instance = self._instance()
        if instance is None:
            return None
        try:
            states = instance.all_instigator_state(
                repository_selector_id=self._location_id,
                instigator_statuses={InstigatorStatus.RUNNING, InstigatorStatus.STOPPED},
            )
        except Exception:
            # Dagster's storage out for a moment, in whatever way it says so, mustn't switch a stage over.
            logger.warning("unreadable toggles stay as they were", exc_info=True, extra=action("shift.unfenced"))
            return None
        return {state.name: state.status is InstigatorStatus.RUNNING for state in states}


class LiveToggle:
    """The present state of the toggle of one sensor or schedule."""

    def __init__(
        self, toggles: Toggles, name: str, *, setting: bool | None, unset: bool, before: bool | None = None
    ) -> None:
        """`before` is what somebody saw last, which stands until the toggle can be read."""
        self._toggles = toggles
        self._name = name
        self._setting = setting
        self._default = unset if setting is None else setting
        self._is_on = self._default if before is None else before

    def __call__(self) -> bool:
        """Whether it is on; `false` in the environment wins over the toggle. Unreadable, it stays as it was."""
        if self._setting is False:
            return False
        with suppress(Unavailable):
            state = self._toggles.state(self._name)
            self._is_on = self._default if state is None else state
        return self._is_on


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
    return LiveToggle(_toggles(context.instance, location), name, setting=setting, unset=unset, before=before)


def _toggles(instance: dg.DagsterInstance, location: RepositorySelector) -> Toggles:
    """One reader for all that ask within a run or a tick."""
    return _READERS.setdefault(instance, {}).setdefault(location.selector_id, Toggles(instance, location))


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
