"""The storage of ticks and toggles that `issuetracker dev` gives to Dagster: the same data, fewer questions."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from issuetracker_dagster.defs.schedule_storage import SteadyScheduleStorage
from issuetracker_dagster.local.pipeline import dagster_home


@contextmanager
def storage_of(folder: Path) -> Iterator[Any]:
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        yield instance.schedule_storage


def dagsters_own(folder: Path) -> Path:
    """The same folder as an instance without the setting has it."""
    (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    return folder


def toggled(name: str, status: InstigatorStatus) -> InstigatorState:
    code = ManagedGrpcPythonEnvCodeLocationOrigin(LoadableTargetOrigin(module_name="code"))
    origin = RemoteInstigatorOrigin(RemoteRepositoryOrigin(code, "repository"), name)
    return InstigatorState(origin, InstigatorType.SENSOR, status, SensorInstigatorData(min_interval=5))


def ticked(storage: Any, state: InstigatorState) -> None:
    tick = storage.create_tick(
        TickData(
            state.instigator_origin_id,
            state.instigator_name,
            InstigatorType.SENSOR,
            TickStatus.STARTED,
            1.0,
            selector_id=state.selector_id,
        )
    )
    storage.update_tick(tick.with_status(TickStatus.SKIPPED))
    storage.update_instigator_state(state)


def test_a_home_keeps_the_toggles_that_it_has(tmp_path: Path) -> None:
    folder = tmp_path / "dagster"
    folder.mkdir()
    state = toggled("intake", InstigatorStatus.STOPPED)
    with storage_of(dagsters_own(folder)) as storage:
        storage.add_instigator_state(state)

    with storage_of(dagster_home(tmp_path)) as storage:
        assert isinstance(storage, SteadyScheduleStorage)
        assert storage.get_instigator_state(state.instigator_origin_id, state.selector_id) == state
        ticked(storage, state.with_status(InstigatorStatus.RUNNING))

    with storage_of(dagsters_own(folder)) as storage:
        (found,) = storage.all_instigator_state()
        assert found.status is InstigatorStatus.RUNNING
        (tick,) = storage.get_ticks(state.instigator_origin_id, state.selector_id)
        assert tick.status is TickStatus.SKIPPED


def test_a_folder_whose_name_yaml_would_misread_is_found(tmp_path: Path) -> None:
    home = tmp_path / 'a: "b" #c {d}'
    home.mkdir()
    with storage_of(dagster_home(home)):
        assert (home / "dagster" / "schedules" / "schedules.db").is_file()


def test_what_is_there_for_ever_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = toggled("intake", InstigatorStatus.RUNNING)
    with storage_of(dagster_home(tmp_path)) as storage:
        storage.add_instigator_state(state)
        ticked(storage, state)

        def refuse(*_: object) -> None:
            raise AssertionError("the schema was looked at again")

        monkeypatch.setattr(sqlalchemy, "inspect", refuse)
        ticked(storage, state)
        assert len(storage.get_ticks(state.instigator_origin_id, state.selector_id)) == 2


def test_threads_write_beside_each_other(tmp_path: Path) -> None:
    states = [toggled(f"sensor {number}", InstigatorStatus.RUNNING) for number in range(12)]
    with storage_of(dagster_home(tmp_path)) as storage:
        for state in states:
            storage.add_instigator_state(state)
        with ThreadPoolExecutor(12) as threads:
            list(threads.map(lambda state: ticked(storage, state), states * 5))
        for state in states:
            assert len(storage.get_ticks(state.instigator_origin_id, state.selector_id)) == 5
