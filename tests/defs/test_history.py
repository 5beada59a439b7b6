"""`purge_history` in Dagster and from a terminal: what it reports, and that it never stands beside itself."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.cli.purge import purge
from issuetracker_dagster.defs.history import LONGEST_MS, PURGE_JOB, purge_at_work, purge_job, purge_schedule
from issuetracker_dagster.flow.purge import BUDGET_MS
from tests.migrated import sqlite_at


@pytest.fixture
def old_times(bare_environment: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything counts as old at once; Redis is out."""
    sqlite_at(bare_environment / "issuetracker.db")
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{closed_port}/0")
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed_port}")
    for what in ("RUNS", "TICKS", "RAW_CONTENTS", "DEAD_LETTERS"):
        monkeypatch.setenv(f"PURGE_{what}_AFTER", "1ms")


@dg.op
def nothing() -> None:
    pass


@dg.job
def quick_job() -> None:
    nothing()


def purged(defs: dg.Definitions, instance: dg.DagsterInstance, **config: object) -> dict[str, Any]:
    ops = {"ops": {"purge_history_op": {"config": config}}}
    result = defs.get_repository_def().get_job(PURGE_JOB).execute_in_process(instance=instance, run_config=ops)
    metadata = result.filter_events(lambda event: event.is_successful_output)[0].step_output_data.metadata
    return {name: value.value for name, value in metadata.items()}


def test_the_job_reports_what_went_and_what_could_not_be_done(
    old_times: None, load_definitions: Any, stored_instance: dg.DagsterInstance
) -> None:
    quick_job.execute_in_process(instance=stored_instance)
    defs = load_definitions()
    said = purged(defs, stored_instance, dry_run=True)
    assert (said["runs_rows"], said["runs_files"] > 1) == (1, True)
    assert stored_instance.get_runs_count() == 2, "a dry run removes nothing"
    did = purged(defs, stored_instance)
    assert did["runs_rows"] == 2, "the run that purges stays, the dry run before it goes"
    assert did["removed_bytes"] > 100_000
    assert "Redis" in did["skipped_raw_contents"]
    assert [run.job_name for run in stored_instance.get_runs()] == [PURGE_JOB]


def test_the_schedule_starts_no_second_purge(stored_instance: dg.DagsterInstance) -> None:
    asked = purge_schedule(dg.build_schedule_context(stored_instance))
    assert isinstance(asked, dg.RunRequest)
    stored_instance.create_run_for_job(purge_job, status=dg.DagsterRunStatus.STARTED)
    asked = purge_schedule(dg.build_schedule_context(stored_instance))
    assert isinstance(asked, dg.SkipReason)
    assert "still at work" in str(asked.skip_message)


def test_a_purge_whose_process_was_killed_is_failed_when_none_can_last_that_long(
    stored_instance: dg.DagsterInstance,
) -> None:
    run = stored_instance.create_run_for_job(purge_job, status=dg.DagsterRunStatus.STARTED)
    begun_ms = SystemClock().now_ms()
    assert purge_at_work(stored_instance, begun_ms + LONGEST_MS // 2) == run.run_id
    assert purge_at_work(stored_instance, begun_ms + LONGEST_MS + 1_000) is None
    (ended,) = stored_instance.get_runs()
    assert ended.status is dg.DagsterRunStatus.FAILURE
    told = [str(entry.dagster_event.message) for entry in stored_instance.all_logs(run.run_id) if entry.dagster_event]
    assert any("not ended after 2h" in text for text in told)
    assert BUDGET_MS < LONGEST_MS / 2, "one that is alive is far from it"


def test_the_command_purges_the_instance_of_the_home(
    old_times: None, stored_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_job.execute_in_process(instance=stored_instance)
    monkeypatch.setenv("DAGSTER_HOME", stored_instance.root_directory)
    said = CliRunner().invoke(purge, ["--dry-run"]).output
    assert "runs: 1 row, " in said
    said = CliRunner().invoke(purge).output
    assert "raw_contents: 0 rows; skipped: " in said
    assert stored_instance.get_runs_count() == 0
    monkeypatch.delenv("DAGSTER_HOME")
    assert "No Dagster home" in CliRunner().invoke(purge).output
