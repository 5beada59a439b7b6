"""The storages that `issuetracker dev` gives to Dagster: the same data, fewer questions."""

import os
import subprocess
import sys
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

from issuetracker_dagster.defs.dagster_storage import (
    SteadyEventLogStorage,
    SteadyRunStorage,
    SteadyScheduleStorage,
)
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


@dg.job
def idle() -> None:
    """A job with nothing to do."""


CHECK = dg.AssetCheckKey(dg.AssetKey(["kafka", "dlq"]), "rate")


def checked(instance: dg.DagsterInstance, *, passed: bool) -> None:
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(asset_key=CHECK.asset_key, check_name=CHECK.name, passed=passed)
    )


def last_check(instance: Any) -> Any:
    (found,) = instance.event_log_storage.get_latest_asset_check_execution_by_key([CHECK]).values()
    return found.event.dagster_event.asset_check_evaluation_data.passed


def test_a_home_keeps_its_runs_and_events(tmp_path: Path) -> None:
    folder = tmp_path / "dagster"
    folder.mkdir()
    with dg.DagsterInstance.from_config(str(dagsters_own(folder))) as instance:
        before = instance.create_run_for_job(idle)
        checked(instance, passed=True)

    with dg.DagsterInstance.from_config(str(dagster_home(tmp_path))) as instance:
        assert isinstance(instance.run_storage, SteadyRunStorage)
        assert isinstance(instance.event_log_storage, SteadyEventLogStorage)
        assert instance.get_run_by_id(before.run_id) == before
        assert last_check(instance) is True
        since = idle.execute_in_process(instance=instance).run_id
        checked(instance, passed=False)

    with dg.DagsterInstance.from_config(str(dagsters_own(folder))) as instance:
        (run,) = instance.get_runs(dg.RunsFilter(run_ids=[since]))
        assert run.is_success
        assert instance.all_logs(since, of_type=dg.DagsterEventType.RUN_SUCCESS)
        assert last_check(instance) is False


def test_a_run_that_is_deleted_leaves_no_file_open(tmp_path: Path) -> None:
    with dg.DagsterInstance.from_config(str(dagster_home(tmp_path))) as instance:
        run_id = idle.execute_in_process(instance=instance).run_id
        file = tmp_path / "dagster" / "history" / "runs" / f"{run_id}.db"
        assert file.is_file()
        assert str(file) not in {os.path.realpath(handle) for handle in Path("/proc/self/fd").iterdir()}
        instance.delete_run(run_id)
        assert not instance.get_runs(dg.RunsFilter(run_ids=[run_id]))


REPORT = """
import sys, dagster as dg
with dg.DagsterInstance.from_config(sys.argv[1]) as instance:
    for number in range(5):
        event = dg.AssetObservation(dg.AssetKey(sys.argv[2]), metadata={"number": number})
        instance.report_runless_asset_event(event)
"""


def reported(folder: Path, *names: str) -> None:
    """By a process for each asset, all at once."""
    started = [subprocess.Popen([sys.executable, "-c", REPORT, str(folder), name]) for name in names]
    assert [process.wait(120) for process in started] == [0] * len(started)


@pytest.mark.slow
def test_processes_that_find_no_events_yet_all_write(tmp_path: Path) -> None:
    folder = dagster_home(tmp_path)
    reported(folder, "first")  # so that runs and ticks are there, which Dagster can't make in two processes at once
    for made in (folder / "history" / "runs").glob("*.db*"):
        made.unlink()
    names = [f"asset{number}" for number in range(4)]
    reported(folder, *names)
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        for name in names:
            assert len(instance.fetch_observations(dg.AssetKey(name), limit=10).records) == 5
