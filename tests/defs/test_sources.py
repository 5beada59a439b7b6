"""The check `freshness`: by hand, by the health probe, and in words."""

import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.defs.sources import CHECK, NAMED, SEEDS, judge_freshness, look_at_sources
from issuetracker_dagster.flow.freshness import Breach, Freshness
from issuetracker_dagster.flow.schedule import ScheduleReport
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.defs.looking import ticked
from tests.migrated import sqlite_at

H = 3_600_000


def seed(name: str = "wire", **fields: Any) -> Seed:
    return Seed(**{"url": f"https://{name}.example.com/", "source": name, "freshness_ms": H, "since_ms": 1, **fields})


def test_without_a_breach_the_check_is_green_and_counts() -> None:
    result = judge_freshness(Freshness(7, 0, ()))
    assert result.passed
    assert "all 7 pages" in (result.description or "")


def test_without_a_target_the_check_is_green_and_says_why() -> None:
    result = judge_freshness(Freshness(0, 0, ()))
    assert (result.passed, result.description) == (True, "no seed has a freshness target")


def test_a_breach_turns_it_red_with_names_ages_and_what_to_do() -> None:
    breaches = tuple(Breach(seed(f"s{number:02}"), 1, 5 * H, 1) for number in range(NAMED + 3))
    result = judge_freshness(Freshness(40, 20, breaches))
    assert not result.passed
    assert result.severity is dg.AssetCheckSeverity.ERROR
    said = result.description or ""
    assert "s00: not fetched for 5h, target 1h (https://s00.example.com/)" in said
    assert f"s{NAMED - 1:02}" in said
    assert f"s{NAMED:02}" not in said
    assert "and 3 more sources" in said
    assert "issuetracker seeds list --stale" in said
    assert {name: value.value for name, value in result.metadata.items()} == {
        "watched": 40,
        "stale": 20,
        "sources_in_breach": 13,
    }


@pytest.fixture
def wiring(bare_environment: Path) -> Wiring:
    sqlite_at(bare_environment / "issuetracker.db")
    return Wiring(Settings(None))


def test_the_check_runs_from_the_ui_and_in_the_probe_with_no_server_but_the_database(
    wiring: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    wiring.stores.seeds.add([seed(), seed("other", since_ms=wiring.clock.now_ms())])
    job = load_definitions().get_repository_def().get_implicit_job_def_for_assets([SEEDS])
    chosen = dg.AssetCheckKey(SEEDS, CHECK)
    result = job.get_subset(asset_selection=set(), asset_check_selection={chosen}).execute_in_process(instance=instance)
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.passed is False
    assert "wire: never fetched" in (evaluation.description or "")
    events, said = look_at_sources(wiring)
    (told,) = events
    assert isinstance(told, dg.AssetCheckEvaluation)
    assert (told.asset_key, told.check_name, told.passed) == (SEEDS, CHECK, False)
    assert said == "1 page of a source is stale"


@pytest.mark.services
def test_the_seed_scheduler_says_how_many_went_out_and_who_waits_and_why(
    bare_environment: Path,
    monkeypatch: pytest.MonkeyPatch,
    clean_valkey_url: str,
    kafka_bootstrap: str,
    load_definitions: Any,
    instance: dg.DagsterInstance,
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka_bootstrap)
    monkeypatch.setenv("KAFKA_TOPIC_PREFIX", f"{uuid.uuid4().hex}.")
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    wiring = Wiring(Settings(None))
    upgrade(wiring.endpoints.database)
    now_ms = wiring.clock.now_ms()
    wiring.stores.seeds.add(
        [seed(since_ms=now_ms), seed("later", since_ms=now_ms, next_due_ms=now_ms + H), seed("old")]
    )
    said = ticked(load_definitions(), "seed_scheduler", instance).skip_message or ""
    assert said == str(ScheduleReport(due=2, published=2, stale=1))
    assert ticked(load_definitions(), "seed_scheduler", instance).skip_message == "0 of 0 due seeds published"
