"""Rules in Dagster: the schedule asks for a run when they changed, the run tells what it did, the check what is old."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.defs.rules import CHECK, JOB, RULES, judge_rules, refusal_table
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.ports.rules import RuleSnapshot
from tests.migrated import sqlite_at

INTERVAL_MS = 300_000


@pytest.fixture
def stores(bare_environment: Path) -> SqlStores:
    return SqlStores(connect(sqlite_at(bare_environment / "issuetracker.db")))


def ticked(defs: dg.Definitions, instance: dg.DagsterInstance) -> ScheduleExecutionData:
    """What one tick of the schedule comes to."""
    resources: dict[str, Any] = dict(defs.resources or {})
    schedule = defs.get_repository_def().get_schedule_def(JOB)
    with dg.build_schedule_context(instance=instance, resources=resources) as context:
        return schedule.evaluate_tick(context)


def refreshed(defs: dg.Definitions, instance: dg.DagsterInstance) -> dict[str, Any]:
    """Run the job; its metadata."""
    result = defs.get_repository_def().get_job(JOB).execute_in_process(instance=instance)
    metadata = result.filter_events(lambda event: event.is_successful_output)[0].step_output_data.metadata
    return {name: value.value for name, value in metadata.items()}


def breaking(path: str = "^/breaking/", priority: int = 1, host: str = "a.com") -> ParserRule:
    return ParserRule(host_pattern=host, path_pattern=path, crawl_priority=priority)


def test_the_schedule_requests_a_run_at_first_and_when_rules_changed_and_skips_while_they_are_the_same(
    stores: SqlStores, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    # Each tick is then due: the time since the last look is a matter of `flow.refresh`.
    defs = load_definitions(PRIORITY_RULES_REFRESH_INTERVAL="1s")
    stores.parser_rules.save(breaking())
    assert len(ticked(defs, instance).run_requests or []) == 1
    refreshed(defs, instance)
    assert ticked(defs, instance).skip_message == "unchanged, version 1, 1 rules"
    saved = stores.parser_rules.save(breaking("^/archive/", 3))
    (request,) = ticked(defs, instance).run_requests or []
    assert request.run_key is None
    refreshed(defs, instance)
    stores.parser_rules.set_priority(saved.rule_id, 2)
    assert len(ticked(defs, instance).run_requests or []) == 1


def test_between_two_looks_the_schedule_says_when_the_last_one_was(
    stores: SqlStores, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions()
    refreshed(defs, instance)
    stores.parser_rules.save(breaking())
    data = ticked(defs, instance)
    assert not data.run_requests
    assert "version 1 was checked" in (data.skip_message or "")


def test_a_database_that_is_out_is_a_skip_with_the_reason(load_definitions: Any, instance: dg.DagsterInstance) -> None:
    defs = load_definitions(DATABASE_URL="sqlite:////nowhere/at/all.db")
    data = ticked(defs, instance)
    assert not data.run_requests
    assert "DATABASE_URL" in (data.skip_message or "")


def test_a_run_tells_version_bands_what_moved_and_who_was_refused(
    stores: SqlStores, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions()
    stores.parser_rules.save(breaking())
    stores.parser_rules.save(breaking("^/archive/", 3))
    with stores.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO parser_rules (host_pattern, path_pattern, target_type, crawl_priority)"
            " VALUES ('Bad|Host', '', 'article', 1)"
        )
    found = refreshed(defs, instance)
    refused = found.pop("refused")
    assert found == {
        "version": 1, "rules": 2, "high": 1, "normal": 0, "low": 1, "added": 2, "removed": 0, "changed": 0,
        "truncated": False,
    }  # fmt: skip
    assert refused.splitlines()[:2] == ["| rule | refused because |", "|---|---|"]
    assert refused.splitlines()[2].startswith("| 3 | host 'Bad\\|Host': write it in lower case")


def test_a_refresh_that_fails_is_a_failed_run_and_the_last_snapshot_stays(
    stores: SqlStores, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions()
    stores.parser_rules.save(breaking())
    refreshed(defs, instance)
    with stores.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE parser_rules RENAME TO elsewhere")
    job = defs.get_repository_def().get_job(JOB)
    assert not job.execute_in_process(instance=instance, raise_on_error=False).success
    latest = stores.rule_snapshots.latest()
    assert latest is not None
    assert (latest.version, len(latest.rules)) == (1, 1)


def test_many_refused_rows_make_a_table_of_bounded_length() -> None:
    table = refusal_table([f"rule {number}: no host" for number in range(300)])
    assert len(table.splitlines()) < 110
    assert table.endswith("| … | 200 more |")
    assert refusal_table([]) == "none"


def snapshot(checked_ms: int, *refused: str) -> RuleSnapshot:
    return RuleSnapshot(version=4, fingerprint="f", rules=(), checked_ms=checked_ms, refused=refused)


LIMIT_MS = 3 * INTERVAL_MS + 120_000


@pytest.mark.parametrize(
    ("latest", "passed", "severity", "words"),
    [
        (None, False, dg.AssetCheckSeverity.ERROR, "never read"),
        (snapshot(1), True, dg.AssetCheckSeverity.WARN, "version 4, 0 rules; checked at 00:00:00 UTC on 1970-01-01"),
        (snapshot(0), False, dg.AssetCheckSeverity.ERROR, "more than 17m ago"),
        (snapshot(1, "rule 5: no host"), False, dg.AssetCheckSeverity.WARN, "1 refused: rule 5: no host"),
        (snapshot(0, "rule 5: no host"), False, dg.AssetCheckSeverity.ERROR, "1 refused: rule 5: no host"),
    ],
)
def test_stale_rules_turn_the_check_red_and_refused_ones_yellow(
    latest: RuleSnapshot | None, passed: bool, severity: dg.AssetCheckSeverity, words: str
) -> None:
    result = judge_rules(latest, LIMIT_MS + 1, INTERVAL_MS)
    assert (result.passed, result.severity) == (passed, severity)
    assert words in (result.description or "")
    age = result.metadata.get("checked_age_s")
    assert (age and age.value) == (latest and (LIMIT_MS + 1 - latest.checked_ms) // 1000)


def test_the_check_runs_from_the_ui_with_no_server_but_the_database(
    stores: SqlStores, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions()
    job = defs.get_repository_def().get_implicit_job_def_for_assets([RULES])
    chosen = dg.AssetCheckKey(RULES, CHECK)

    def passes() -> bool:
        subset = job.get_subset(asset_selection=set(), asset_check_selection={chosen})
        (evaluation,) = subset.execute_in_process(instance=instance).get_asset_check_evaluations()
        return bool(evaluation.passed)

    assert not passes()
    refreshed(defs, instance)
    assert passes()
