"""Toggles of sensors as flags: three values of a setting, and what a run sees of a toggle."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.selector import RepositorySelector
from dagster._core.remote_representation.external import RemoteSensor
from dagster._core.scheduler.instigation import SensorInstigatorData
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.load_target import ModuleTarget

from issuetracker_dagster.defs.flags import LOOK_EVERY_S, LiveToggle, Toggles, cursor_left, refusal
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from tests.defs.looking import sensors, ticked
from tests.waiting import eventually

LOCATION = "issuetracker"
FLAGS = [
    *((f"{stage.value}_intake", f"{stage.name}_PRIORITY_QUEUE_ENABLED", False) for stage in QUEUED_STAGES),
    *((f"{stage.value}_workers", f"STAGES_{stage.name}_ENABLED", True) for stage in Stage),
    ("seed_scheduler", "STAGES_SCHEDULER_ENABLED", True),
]


@pytest.mark.parametrize(("sensor_name", "variable", "on_when_unset"), FLAGS)
def test_the_default_of_a_toggle_follows_its_setting(
    sensor_name: str, variable: str, on_when_unset: bool, load_definitions: Any
) -> None:
    def is_on(**environment: str) -> bool:
        sensor = sensors(load_definitions(**environment))[sensor_name]
        return sensor.default_status is dg.DefaultSensorStatus.RUNNING

    assert is_on() is on_when_unset
    assert is_on(**{variable: "unset"}) is on_when_unset
    assert is_on(**{variable: "true"}) is True
    assert is_on(**{variable: "false"}) is False


@pytest.mark.parametrize(("sensor_name", "variable", "on_when_unset"), FLAGS)
def test_false_wins_over_the_toggle_at_tick_time(
    sensor_name: str, variable: str, on_when_unset: bool, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions(**{variable: "false"})
    # Nothing runs here, so a tick that looked any further than the setting would tell that instead.
    told = ticked(defs, sensor_name, instance).skip_message
    assert told == f"{variable}=false switches this off whatever the toggle says; unset it to use the toggle"


def test_only_false_is_a_refusal() -> None:
    assert refusal(None, "X") is None
    assert refusal(True, "X") is None
    assert refusal(False, "X") is not None


class ToggledByHand:
    """A sensor of the code location as the UI sees it, in an instance of its own."""

    def __init__(self, instance: dg.DagsterInstance, sensors: dict[str, RemoteSensor]) -> None:
        self.instance = instance
        self._sensors = sensors

    def switch_on(self, name: str) -> None:
        self.instance.start_sensor(self._sensors[name])

    def switch_off(self, name: str) -> None:
        sensor = self._sensors[name]
        self.instance.stop_sensor(sensor.get_remote_origin_id(), sensor.selector_id, sensor)

    def reset(self, name: str) -> None:
        self.instance.reset_sensor(self._sensors[name])

    def ticked_with(self, name: str, cursor: str) -> None:
        """A tick has left that cursor."""
        sensor = self._sensors[name]
        state = self.instance.get_instigator_state(sensor.get_remote_origin_id(), sensor.selector_id)
        assert state is not None
        self.instance.update_instigator_state(state.with_data(SensorInstigatorData(cursor=cursor)))

    def seen_by_a_run(self, name: str, *, setting: bool | None, unset: bool) -> LiveToggle:
        selector = RepositorySelector(location_name=LOCATION, repository_name="__repository__")
        return LiveToggle(Toggles(self.instance, selector), name, setting=setting, unset=unset)


@pytest.fixture(scope="module")
def by_hand() -> Iterator[ToggledByHand]:
    with ExitStack() as stack:
        instance = stack.enter_context(dg.instance_for_test())
        target = ModuleTarget("issuetracker_dagster.definitions", None, None, LOCATION)
        workspace = stack.enter_context(create_test_daemon_workspace_context(target, instance))
        location = workspace.create_request_context().get_code_location(LOCATION)
        sensors = location.get_repository("__repository__").get_sensors()
        yield ToggledByHand(instance, {sensor.name: sensor for sensor in sensors})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "unset"), [("parser_intake", False), ("enrich_workers", True)])
def test_a_run_sees_a_toggle_within_the_time_of_its_cache(by_hand: ToggledByHand, name: str, unset: bool) -> None:
    toggle = by_hand.seen_by_a_run(name, setting=None, unset=unset)
    assert toggle() is unset
    by_hand.switch_off(name)
    eventually(lambda: toggle() is False, timeout_s=LOOK_EVERY_S + 1)
    by_hand.switch_on(name)
    eventually(lambda: toggle() is True, timeout_s=LOOK_EVERY_S + 1)
    by_hand.switch_off(name)
    eventually(lambda: toggle() is False, timeout_s=LOOK_EVERY_S + 1)


@pytest.mark.slow
def test_an_untouched_or_reset_toggle_means_the_default(by_hand: ToggledByHand) -> None:
    name = "validate_intake"

    def seen(setting: bool | None, unset: bool) -> bool:
        return by_hand.seen_by_a_run(name, setting=setting, unset=unset)()

    assert seen(None, False) is False
    assert seen(None, True) is True
    assert seen(True, False) is True
    by_hand.switch_on(name)
    assert seen(None, False) is True
    by_hand.reset(name)
    assert seen(None, False) is False
    assert seen(True, False) is True


@pytest.mark.slow
def test_false_wins_over_a_toggle_that_is_on_in_a_run_too(by_hand: ToggledByHand) -> None:
    by_hand.switch_on("validate_workers")
    assert by_hand.seen_by_a_run("validate_workers", setting=None, unset=True)() is True
    assert by_hand.seen_by_a_run("validate_workers", setting=False, unset=True)() is False


@pytest.mark.slow
def test_a_check_run_from_the_ui_finds_the_cursor_that_a_sensor_left(by_hand: ToggledByHand) -> None:
    selector = RepositorySelector(location_name=LOCATION, repository_name="__repository__")
    assert cursor_left(by_hand.instance, selector, "health_probe") == ""
    by_hand.switch_off("health_probe")
    assert cursor_left(by_hand.instance, selector, "health_probe") == ""
    by_hand.ticked_with("health_probe", "what was seen")
    assert cursor_left(by_hand.instance, selector, "health_probe") == "what was seen"


def test_an_unreadable_toggle_stays_as_it_was(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    selector = RepositorySelector(location_name=LOCATION, repository_name="__repository__")
    toggle = LiveToggle(Toggles(instance, selector), "parser_workers", setting=None, unset=True)

    def out(*_: object, **__: object) -> None:
        raise OSError("the storage is out")

    monkeypatch.setattr(instance, "all_instigator_state", out)
    assert toggle() is True
    for seen_before in (True, False):
        again = LiveToggle(Toggles(instance, selector), "parser_workers", setting=None, unset=True, before=seen_before)
        assert again() is seen_before


def test_all_toggles_of_a_run_are_read_in_one_go(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    toggles = Toggles(instance, RepositorySelector(location_name=LOCATION, repository_name="__repository__"))
    read, looks = instance.all_instigator_state, []

    def counted(**options: Any) -> object:
        looks.append(options)
        return read(**options)

    monkeypatch.setattr(instance, "all_instigator_state", counted)
    names = ("parser_workers", "parser_intake", "drain_backlog")
    assert [LiveToggle(toggles, name, setting=None, unset=True)() for name in names] == [True, True, True]
    assert len(looks) == 1
