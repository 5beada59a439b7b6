"""The DLQ in Dagster: the sensor that indexes it, the job that redrives, the checks that say when too much dies."""

import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.defs.dlq import REDRIVE_JOB
from issuetracker_dagster.defs.dlq_checks import (
    dlq_health,
    judge_pauses,
    judge_rate,
    judge_share,
    look_at_dlq,
    paused_runs,
)
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.redrive import LOCK
from issuetracker_dagster.model.dlq_health import DlqHealth
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.dead_letters import written
from tests.defs.looking import ticked
from tests.migrated import sqlite_at
from tests.waiting import eventually

LIMITS = Settings(None).check
WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


@pytest.fixture
def on_kafka(bare_environment: Path, kafka_bootstrap: str, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> Wiring:
    """Kafka and SQL of this test's own; Redis is out."""
    sqlite_at(bare_environment / "issuetracker.db")
    environment = {
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "KAFKA_TOPIC_PREFIX": f"{uuid.uuid4().hex[:8]}.",
        "REDIS_URL": f"redis://127.0.0.1:{closed_port}/0",
    } | {f"KAFKA_PARTITIONS_{name}": "2" for name in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ")}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return Wiring(Settings(env_file=None))


def bury(wiring: Wiring, count: int, **given: Any) -> None:
    at_ms = wiring.clock.now_ms()
    wiring.producer.publish([written(f"root{n}", at_ms=at_ms, **given) for n in range(count)])


def redriven(defs: dg.Definitions, instance: dg.DagsterInstance, **config: object) -> dict[str, Any]:
    """Run the job; its metadata."""
    ops = {"ops": {"redrive_dead_letters_op": {"config": config}}}
    result = defs.get_repository_def().get_job(REDRIVE_JOB).execute_in_process(instance=instance, run_config=ops)
    metadata = result.filter_events(lambda event: event.is_successful_output)[0].step_output_data.metadata
    return {name: value.value for name, value in metadata.items()}


@pytest.mark.services
def test_letters_are_indexed_by_a_tick_and_redriven_by_the_job_also_without_redis(
    on_kafka: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    bury(on_kafka, 5)
    bury(on_kafka, 3, stage=Stage.FETCH, reason="expired", source=None)
    on_kafka.producer.publish([Outgoing(Topic.DLQ, b"\xff", b"\x00random\xff", [("root_id", b"\xff")])])
    defs = load_definitions()
    assert ticked(defs, "dlq_index", instance).skip_message == "9 letters indexed"
    assert ticked(defs, "dlq_index", instance).skip_message == "0 letters indexed"
    said = redriven(defs, instance)
    assert said == {"would_redrive": 8, "meant": 9, "left_no_identity": 1, "to_fetched": 5, "to_crawl_high": 3}
    assert on_kafka.stores.dead_letters.count(LetterFilter()) == 9
    health = dlq_health(on_kafka)
    assert (health.total, health.unindexed) == (9, 0)
    assert (health.of_stage(Stage.PARSER), health.handled(Stage.PARSER)) == (5, 5)
    only = redriven(defs, instance, dry_run=False, stages=["fetch"], reasons=["expired"], newer_than="1h", limit=2)
    assert (only["redriven"], only["meant"], only["to_crawl_high"]) == (2, 3, 2)
    rest = redriven(defs, instance, dry_run=False, limit=0, rate=1_000)
    assert (rest["redriven"], rest["left_no_identity"]) == (6, 1)
    # What was redriven is dealt with, and its stage has it before it again.
    health = dlq_health(on_kafka)
    assert (health.total, health.unindexed) == (1, 0)
    assert (health.of_stage(Stage.PARSER), health.handled(Stage.PARSER)) == (0, 5)
    _, words = look_at_dlq(on_kafka)
    assert words == "1 open letters of the last hour"


@pytest.mark.services
def test_letters_that_nobody_has_indexed_count_too(on_kafka: Wiring) -> None:
    bury(on_kafka, 4)
    health = dlq_health(on_kafka)
    assert (health.total, health.unindexed) == (4, 4)
    said = str(judge_rate(health, LIMITS).description)
    assert "see the ticks of the sensor dlq_index" in said
    assert "0 letters of the last hour are open" in said  # of these four nobody knows the age


@pytest.mark.services
def test_a_job_beside_another_redrive_fails_and_says_why(
    on_kafka: Wiring,
    clean_valkey_url: str,
    load_definitions: Any,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    defs, other = load_definitions(REDIS_URL=clean_valkey_url), Wiring(Settings(env_file=None))
    hold = other.locks.acquire(LOCK, 60_000)
    with pytest.raises(dg.Failure, match="another redrive is at work"):
        redriven(defs, instance, dry_run=False)
    assert redriven(defs, instance)["meant"] == 0
    assert hold is not None
    assert other.locks.release(hold)
    assert redriven(defs, instance, dry_run=False)["redriven"] == 0


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"stages": ["parse"]}, "isn't one of fetch, parser"),
        ({"older_than": "soon"}, "older_than: 'soon' isn't a duration such as"),
        ({"newer_than": "1 week"}, "newer_than"),
    ],
)
def test_a_config_that_means_nothing_fails_the_run_and_says_what_to_write(
    bare_environment: Path, load_definitions: Any, instance: dg.DagsterInstance, config: dict[str, object], told: str
) -> None:
    with pytest.raises(dg.Failure, match=told):
        redriven(load_definitions(), instance, **config)


def health(letters: dict[tuple[str, str], int], arrived: dict[str, int] | None = None, unindexed: int = 0) -> DlqHealth:
    return DlqHealth(letters=letters, arrived=arrived or {}, unindexed=unindexed)


@pytest.mark.parametrize(
    ("letters", "unindexed", "passed", "severity"),
    [(100, 0, True, WARN), (99, 2, False, WARN), (101, 0, False, WARN), (1_001, 0, False, ERROR)],
)
def test_the_rate_is_judged_by_letters_an_hour(
    letters: int, unindexed: int, passed: bool, severity: dg.AssetCheckSeverity
) -> None:
    found = judge_rate(health({("fetch", "http_404"): letters}, unindexed=unindexed), LIMITS)
    assert (found.passed, found.severity) == (passed, severity)
    assert "would be" not in str(found.description)
    assert ("more than" in str(found.description)) is not passed


@pytest.mark.parametrize(
    ("letters", "came", "passed_on", "passed", "severity"),
    [
        (19, 20, 0, True, WARN),
        (50, 1_000, 0, True, WARN),
        (51, 1_000, 0, False, WARN),
        (51, 10, 1_000, True, WARN),
        (260, 1_000, 0, False, ERROR),
        (260, 0, 0, False, ERROR),
    ],
)
def test_the_share_is_judged_against_what_the_stage_handled(
    letters: int, came: int, passed_on: int, passed: bool, severity: dg.AssetCheckSeverity
) -> None:
    found = judge_share(health({("parser", "empty"): letters}, {"fetched": came, "normalized": passed_on}), LIMITS)
    assert (found.passed, found.severity) == (passed, severity)


def test_the_limits_of_dead_letters_are_settings_and_zero_is_never(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DEAD_WARN": "0", "DEAD_ERROR": "5", "DEAD_SHARE_WARN": "0.5", "DEAD_SHARE_ERROR": "0"}.items():
        monkeypatch.setenv(f"CHECK_{name}", value)
    limits = Settings(None).check
    five, six = (health({("parser", "empty"): count}) for count in (5, 6))
    assert judge_rate(five, limits).passed
    assert judge_rate(six, limits).severity is ERROR
    assert judge_share(health({("parser", "empty"): 50}, {"fetched": 100}), limits).passed
    found = judge_share(health({("parser", "empty"): 90}, {"fetched": 100}), limits)
    assert (found.passed, found.severity) == (False, WARN)


@pytest.mark.services
def test_a_shift_that_pauses_turns_a_check_red_until_it_goes_on_or_is_gone(
    on_kafka: Wiring, clean_valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unavailable, match="REDIS_URL"):
        paused_runs(on_kafka)  # without Redis nothing is known, and nothing is told to be well
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    monkeypatch.setenv("WORKER_DEAD_AFTER", "1s")
    monkeypatch.setenv("WORKER_HEARTBEAT", "300ms")
    wiring = Wiring(Settings(env_file=None))
    for slot, mode in enumerate(["paused", "queue", "paused"]):
        wiring.heartbeats.beat("parser", slot, f"run{slot}", {"mode": mode})
    found = judge_pauses(paused_runs(wiring))
    assert not found.passed
    said = str(found.description)
    assert "2 worker runs of parser pause" in said
    assert "`issuetracker dlq list --stage parser --newer-than 1h`" in said
    wiring.heartbeats.beat("parser", 0, "run0", {"mode": "queue"})
    assert "1 worker runs of parser pause" in str(judge_pauses(paused_runs(wiring)).description)
    eventually(lambda: judge_pauses(paused_runs(wiring)).passed)


def test_a_red_check_names_the_commonest_reason_and_the_commands_for_it() -> None:
    found = judge_rate(health({("fetch", "http_404"): 3, ("parser", "empty"): 300, ("enrich", "$(rm)"): 1}), LIMITS)
    said = str(found.description)
    assert "Most: 300 x empty in parser, 3 x http_404 in fetch" in said
    assert "`issuetracker dlq list --stage parser --newer-than 1h --reason empty`" in said
    assert "parser_workers off" in said
    assert "issuetracker dlq redrive" in said
    unreadable = str(judge_rate(health({("parser", "malformed"): 300}), LIMITS).description)
    assert "issuetracker dlq purge --stage parser --newer-than 1h --reason malformed" in unreadable
    assert "redrive" not in unreadable
    evil = str(judge_rate(health({("fetch", "$(rm)"): 300}), LIMITS).description)
    assert "--reason" not in evil
