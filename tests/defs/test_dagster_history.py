"""What Dagster keeps: old runs, ticks and events go with their files, live ones and the latest stay.

Also the alarm for a version of Dagster whose tables or files are others.
"""

import os
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import TickData, TickStatus

from issuetracker_dagster.defs.dagster_history import (
    KEPT_EVENTS,
    CheckResultSweep,
    RunlessEventSweep,
    TickSweep,
    storage_errors,
)
from issuetracker_dagster.defs.run_history import (
    FINISHED,
    OrphanSweep,
    RunSweep,
    run_files,
    shards_folder,
    sqlite_files,
)
from issuetracker_dagster.defs.supervisor import LIVE
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.history import Removed
from tests.defs.dagster_past import DAY_MS, KEY, now_ms, short_job, swept


def in_three_days() -> int:
    return now_ms() + 3 * DAY_MS


def test_an_old_run_goes_with_its_rows_and_every_file(stored_instance: dg.DagsterInstance) -> None:
    runs = [short_job.execute_in_process(instance=stored_instance).run_id for _ in range(3)]
    files = [file for run in runs for file in run_files(stored_instance, run)]
    assert {file.suffix for file in files} >= {".db", ".err", ".out", ".complete"}
    sweep = RunSweep(stored_instance, 2 * DAY_MS)
    assert swept(sweep, now_ms()) == Removed()
    counted = sweep.count(in_three_days())
    assert swept(sweep, in_three_days()) == counted
    assert (counted.rows, counted.files >= len(files)) == (3, True)
    assert stored_instance.get_runs_count() == 0
    assert not [file for file in files if file.exists()]
    storage: Any = stored_instance.event_log_storage
    with storage.index_connection() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM event_logs").scalar() == 0


def test_a_run_is_live_or_finished() -> None:
    assert {*FINISHED, *LIVE} >= {
        status for status in dg.DagsterRunStatus if status.value not in ("MANAGED", "SUSPENDED")
    }
    assert not {*FINISHED} & {*LIVE}


# A queued one needs a code location to come from; to the sweep it is as the others.
@pytest.mark.parametrize("status", [status for status in LIVE if status is not dg.DagsterRunStatus.QUEUED])
def test_a_run_that_is_not_finished_stays_however_old(
    stored_instance: dg.DagsterInstance, status: dg.DagsterRunStatus
) -> None:
    live = stored_instance.create_run_for_job(short_job, status=status)
    stored_instance.report_engine_event("at work", live)
    kept = list(run_files(stored_instance, live.run_id))
    assert kept
    assert swept(RunSweep(stored_instance, DAY_MS), in_three_days()) == Removed()
    assert swept(OrphanSweep(stored_instance, DAY_MS, DAY_MS), in_three_days()) == Removed()
    assert stored_instance.get_run_by_id(live.run_id) is not None
    assert all(file.exists() for file in kept)


def test_files_of_runs_that_are_gone_go_too(stored_instance: dg.DagsterInstance) -> None:
    stays = short_job.execute_in_process(instance=stored_instance).run_id
    deleted = short_job.execute_in_process(instance=stored_instance).run_id
    stored_instance.delete_run(deleted)
    left = list(run_files(stored_instance, deleted))
    assert left, "Dagster removes the files itself now"
    tick_log = Path(stored_instance.storage_directory()) / "__repository__" / "retry_relay" / "17.err"
    tick_log.parent.mkdir(parents=True)
    tick_log.write_text("a line")
    result = Path(stored_instance.storage_directory()) / "some_asset"
    result.write_text("what an asset stored")
    sweep = OrphanSweep(stored_instance, DAY_MS, DAY_MS)
    assert swept(sweep, now_ms()) == Removed()
    sweep = OrphanSweep(stored_instance, DAY_MS, DAY_MS)
    assert sweep.count(in_three_days()).files == len(left) + 1
    assert swept(sweep, in_three_days()).files == len(left) + 1
    assert not [file for file in (*left, tick_log) if file.exists()]
    assert result.exists()
    assert list(run_files(stored_instance, stays))
    assert all(file.exists() for file in sqlite_files(stored_instance)[:1])


def test_what_somebody_else_removes_meanwhile_is_passed_over(
    stored_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a purge from a terminal does beside the job."""
    logs = Path(stored_instance.storage_directory())
    for name in ("goes", "stays"):
        (logs / name).mkdir(parents=True)
        (logs / name / "17.err").write_text("a line")
    scandir = os.scandir

    def without(place: Any = ".") -> Any:
        if str(place).endswith("goes"):
            shutil.rmtree(place, ignore_errors=True)
        return scandir(place)

    monkeypatch.setattr(os, "scandir", without)
    sweep = OrphanSweep(stored_instance, DAY_MS, DAY_MS)
    assert swept(sweep, in_three_days()).files == 1
    assert not (logs / "stays" / "17.err").exists()


def test_old_ticks_go_in_batches(stored_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("issuetracker_dagster.defs.dagster_history.TICKS_AT_ONCE", 4)
    old, young = time.time() - 3 * 86_400, time.time()
    for status, at_s in [*((TickStatus.SKIPPED, old),) * 8, (TickStatus.STARTED, old), (TickStatus.SUCCESS, young)]:
        stored_instance.create_tick(
            TickData("origin", "relay", InstigatorType.SENSOR, status, at_s, run_ids=[], selector_id="selector")
        )
    sweep = TickSweep(stored_instance, 2 * DAY_MS)
    assert sweep.count(now_ms()).rows == 9
    first = sweep.step(now_ms())
    assert first is not None
    assert (first.rows, first.bytes > 0) == (4, True)
    assert swept(sweep, now_ms()).rows == 5
    assert [tick.status for tick in stored_instance.get_ticks("origin", "selector")] == [TickStatus.SUCCESS]


def test_events_of_no_run_go_but_the_latest_of_each_asset_and_check(stored_instance: dg.DagsterInstance) -> None:
    other = dg.AssetKey("other")
    for number in range(KEPT_EVENTS + 5):
        stored_instance.report_runless_asset_event(dg.AssetObservation(KEY, metadata={"rows": number}))
        stored_instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(asset_key=KEY, check_name="fresh", passed=number % 2 == 0)
        )
    stored_instance.report_runless_asset_event(dg.AssetObservation(other))
    events, checks = RunlessEventSweep(stored_instance, DAY_MS), CheckResultSweep(stored_instance, DAY_MS)
    assert swept(events, now_ms()) == swept(checks, now_ms()) == Removed()
    # In the index and in the file of no run, observations and check results each.
    assert (events.count(in_three_days()).rows, checks.count(in_three_days()).rows) == (20, 5)
    assert (swept(events, in_three_days()).rows, swept(checks, in_three_days()).rows) == (20, 5)
    assert events.step(in_three_days()) is None
    kept = stored_instance.fetch_observations(KEY, limit=100).records
    shown = [record.asset_observation.metadata["rows"].value for record in kept if record.asset_observation]
    assert shown == list(range(KEPT_EVENTS + 4, 4, -1))
    assert len(stored_instance.fetch_observations(other, limit=9).records) == 1
    history = stored_instance.event_log_storage.get_asset_check_execution_history(dg.AssetCheckKey(KEY, "fresh"), 99)
    assert len(history) == KEPT_EVENTS


def test_a_storage_that_is_locked_is_told_as_unavailable(
    stored_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = shards_folder(stored_instance)
    assert shards is not None
    (shards.parent.parent / "schedules" / "schedules.db").unlink()
    (shards.parent.parent / "schedules" / "schedules.db").mkdir()
    with pytest.raises(Unavailable, match="Dagster's storage can't be used"):
        TickSweep(stored_instance, DAY_MS).step(now_ms())


def test_a_driver_that_says_nothing_is_told_by_its_name() -> None:
    with pytest.raises(Unavailable, match="OperationalError"), storage_errors():
        raise sqlite3.OperationalError
