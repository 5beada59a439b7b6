"""The instance settings of the project: accepted by this version of Dagster, and what we rely on."""

import shutil
import warnings
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.run_coordinator import QueuedRunCoordinator

from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from tests.defs.looking import sensors

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> dg.DagsterInstance:
    folder = tmp_path_factory.mktemp("dagster")
    shutil.copy(PROJECT / "dagster.yaml", folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What earlier tests left open may be collected at this moment; it says nothing about the settings.
        warnings.simplefilter("ignore", ResourceWarning)
        return dg.DagsterInstance.from_config(str(folder))


def test_dagster_takes_the_settings_without_a_warning(configured: dg.DagsterInstance) -> None:
    assert configured.telemetry_enabled is False
    assert configured.get_settings("sensors")["use_threads"] is True


def test_runs_are_dequeued_within_a_second_and_all_slots_fit_beside_each_other(
    configured: dg.DagsterInstance, bare_environment: Path
) -> None:
    coordinator = configured.run_coordinator
    assert isinstance(coordinator, QueuedRunCoordinator)
    assert coordinator.dequeue_interval_seconds == 1
    assert coordinator.dequeue_use_threads
    queue = configured.get_concurrency_config().run_queue_config
    assert queue is not None
    assert queue.max_concurrent_runs > 2 * sum(Settings(None).slots(stage.value) for stage in Stage)


@pytest.mark.parametrize("kind", [InstigatorType.SENSOR, InstigatorType.SCHEDULE])
def test_no_kind_of_tick_is_kept_for_ever(configured: dg.DagsterInstance, kind: InstigatorType) -> None:
    kept_days = configured.get_tick_retention_settings(kind)
    assert kept_days
    assert all(0 < days <= 7 for days in kept_days.values())


def test_there_are_threads_for_every_sensor(configured: dg.DagsterInstance, load_definitions: Any) -> None:
    assert configured.get_settings("sensors")["num_workers"] >= len(sensors(load_definitions()))


def test_the_workspace_names_the_one_code_location() -> None:
    (entry,) = yaml.safe_load((PROJECT / "workspace.yaml").read_text())["load_from"]
    assert entry == {
        "python_module": {"module_name": "issuetracker_dagster.definitions", "location_name": "issuetracker"}
    }
