"""The same purge where Dagster keeps its history in PostgreSQL: no files but captured output, and rows there once."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import psycopg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import TickData, TickStatus
from sqlalchemy import make_url

from issuetracker_dagster.defs.dagster_history import KEPT_EVENTS, CheckResultSweep, RunlessEventSweep, TickSweep
from issuetracker_dagster.defs.history import dagster_sweeps, purged
from issuetracker_dagster.defs.run_history import OrphanSweep, RunSweep, run_files
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.defs.dagster_past import DAY_MS, KEY, now_ms, short_job, swept
from tests.migrated import sqlite_at
from tests.services import Postgres

pytestmark = pytest.mark.services

HOUR_MS = 3_600_000


@pytest.fixture(params=["UTC", "America/Los_Angeles"])
def dsn(request: pytest.FixtureRequest, postgres_url: str) -> str:
    """A database whose server lives in this zone."""
    url = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE \"{make_url(url).database}\" SET timezone TO '{request.param}'")
    return url


@pytest.fixture
def instance(dsn: str, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance with its storage there."""
    overrides = {"storage": {"postgres": {"postgres_url": dsn}}}
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides=overrides) as made:
        yield made


def rows(dsn: str, table: str) -> int:
    with psycopg.connect(dsn) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(found[0]) if found else 0


def test_an_old_run_goes_with_its_rows_and_its_output(instance: dg.DagsterInstance, dsn: str) -> None:
    runs = [short_job.execute_in_process(instance=instance).run_id for _ in range(2)]
    live = instance.create_run_for_job(short_job, status=dg.DagsterRunStatus.STARTED)
    files = [file for run in runs for file in run_files(instance, run)]
    assert {file.suffix for file in files} >= {".err", ".out", ".complete"}
    sweep = RunSweep(instance, DAY_MS)
    assert swept(sweep, now_ms() + DAY_MS - HOUR_MS) == Removed(), "an hour too young"
    counted = sweep.count(now_ms() + 2 * DAY_MS)
    assert swept(sweep, now_ms() + 2 * DAY_MS) == counted
    assert (counted.rows, counted.files) == (2, len(files))
    assert [run.run_id for run in instance.get_runs()] == [live.run_id]
    assert not [file for file in files if file.exists()]
    assert rows(dsn, "event_logs") == 0


def test_output_of_runs_that_are_gone_goes_too(instance: dg.DagsterInstance) -> None:
    stays, deleted = (short_job.execute_in_process(instance=instance).run_id for _ in range(2))
    instance.delete_run(deleted)
    left = list(run_files(instance, deleted))
    assert left
    assert swept(OrphanSweep(instance, DAY_MS, DAY_MS), now_ms() + 3 * DAY_MS).files == len(left)
    assert list(run_files(instance, stays))


def test_old_ticks_go(instance: dg.DagsterInstance) -> None:
    for age_ms in (DAY_MS + HOUR_MS, DAY_MS - HOUR_MS):
        at_s = (now_ms() - age_ms) / 1000
        instance.create_tick(
            TickData(
                "origin", "relay", InstigatorType.SENSOR, TickStatus.SKIPPED, at_s, run_ids=[], selector_id="selector"
            )
        )
    sweep = TickSweep(instance, DAY_MS)
    assert sweep.count(now_ms()).rows == 1
    found = swept(sweep, now_ms())
    assert (found.rows, found.bytes > 0) == (1, True)
    (tick,) = instance.get_ticks("origin", "selector")
    assert tick.timestamp > (now_ms() - DAY_MS) / 1000


def test_events_of_no_run_go_but_the_latest_of_each_asset_and_check(instance: dg.DagsterInstance, dsn: str) -> None:
    for number in range(KEPT_EVENTS + 5):
        instance.report_runless_asset_event(dg.AssetObservation(KEY, metadata={"rows": number}))
        instance.report_runless_asset_event(dg.AssetCheckEvaluation(asset_key=KEY, check_name="fresh", passed=True))
    events, checks = RunlessEventSweep(instance, DAY_MS), CheckResultSweep(instance, DAY_MS)
    young, old = now_ms() + DAY_MS - HOUR_MS, now_ms() + DAY_MS + HOUR_MS
    assert (swept(events, young), swept(checks, young)) == (Removed(), Removed()), "an hour too young"
    assert (events.count(old).rows, checks.count(old).rows) == (10, 5)
    assert (swept(events, old).rows, swept(checks, old).rows) == (10, 5)
    kept = instance.fetch_observations(KEY, limit=100).records
    shown = [record.asset_observation.metadata["rows"].value for record in kept if record.asset_observation]
    assert shown == list(range(KEPT_EVENTS + 4, 4, -1))
    assert rows(dsn, "asset_check_executions") == KEPT_EVENTS


def test_a_purge_runs_through_and_says_what_went(
    instance: dg.DagsterInstance, bare_environment: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    sqlite_at(bare_environment / "issuetracker.db")
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{closed_port}/0")
    monkeypatch.setenv("PURGE_RUNS_AFTER", "1ms")
    short_job.execute_in_process(instance=instance)
    wiring = Wiring(Settings(None))
    report, smaller = purged(wiring, instance, dry_run=False)
    assert {sweep.name for sweep in dagster_sweeps(wiring, instance)} <= set(report.removed)
    assert (report.removed["runs"].rows, smaller, report.stopped) == (1, 0, "")


@pytest.mark.slow
def test_a_server_that_is_gone_is_told_as_unavailable(postgres_server: Postgres, tmp_path: Path) -> None:
    name = f"test_{uuid.uuid4().hex}"
    url = make_url(postgres_server.new_database(name)).set(drivername="postgresql")
    overrides = {"storage": {"postgres": {"postgres_url": url.render_as_string(hide_password=False)}}}
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides=overrides) as instance:
        postgres_server.drop_database(name)
        with pytest.raises(Unavailable, match="Dagster's storage can't be used"):
            TickSweep(instance, DAY_MS).step(now_ms())
        postgres_server.new_database(name)  # what ends with the instance may want it
    postgres_server.drop_database(name)
