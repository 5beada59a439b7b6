"""The checks on topics, retries, workers and intakes: how they judge, and what they see of real servers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.defs.assets import RETRIES, queue_key, topic_key
from issuetracker_dagster.defs.lag_checks import LagState, judge_lag, lag_states
from issuetracker_dagster.defs.news import PATIENCE_MS
from issuetracker_dagster.defs.retry_checks import judge_waiting, retry_state
from issuetracker_dagster.defs.waiting import WaitingState
from issuetracker_dagster.defs.work_checks import (
    INTAKE,
    WORKERS,
    IntakeState,
    WorkersState,
    judge_intake,
    judge_workers,
)
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.limits import Limits
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.defs.looking import ticked

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
Judged = dg.AssetCheckSeverity | None


def judged(result: dg.AssetCheckResult) -> Judged:
    return None if result.passed else result.severity


@pytest.mark.parametrize(("lag", "wanted"), [(0, None), (1_000, None), (1_001, WARN), (10_000, WARN), (10_001, ERROR)])
def test_a_lag_is_judged_by_its_limits_and_says_who_should_read(lag: int, wanted: Judged) -> None:
    result = judge_lag(LagState(Topic.FETCHED, Stage.PARSER, lag, Limits(1_000, 10_000)))
    assert judged(result) is wanted
    said = result.description or ""
    assert f"{lag} messages unread by the group issuetracker-parsers" in said
    assert ("parser_intake" in said) is bool(wanted)


def test_a_topic_of_one_priority_has_its_limits_and_the_others_those_of_normal(bare_environment: Path) -> None:
    wiring = Wiring(Settings(None))
    topics = [topic for facts in FACTS.values() for topic in facts.inputs]
    warn = {state.topic: state.limits.warn for state in lag_states(wiring, dict.fromkeys(topics, 0))}
    assert warn == {
        **dict.fromkeys(topics, 10_000),
        Topic.CRAWL_HIGH: 1_000,
        Topic.CRAWL_LOW: 100_000,
    }


@pytest.mark.parametrize(
    ("waiting", "overdue_ms", "wanted", "told"),
    [
        (5_000, 120_000, None, "5000 messages wait"),
        (5_001, 0, WARN, "message.retried"),
        (50_001, 0, ERROR, "message.retried"),
        (1, 120_001, WARN, "retry_relay"),
        (1, 600_001, ERROR, "retry_relay"),
    ],
)
def test_retries_are_judged_by_their_number_and_by_the_one_that_is_due_longest(
    waiting: int, overdue_ms: int, wanted: Judged, told: str
) -> None:
    limits = {"limits": Limits(5_000, 50_000), "late_limits": Limits(120_000, 600_000)}
    result = judge_waiting(WaitingState(waiting=waiting, overdue_ms=overdue_ms, **limits))
    assert judged(result) is wanted
    assert told in (result.description or "")
    assert {name: value.value for name, value in result.metadata.items()} == {
        "waiting": waiting,
        "overdue_s": overdue_ms // 1000,
    }


@pytest.mark.parametrize(
    ("alive", "is_on", "waiting", "wanted", "told"),
    [
        (2, True, None, None, "2 of 2 worker runs of parser"),
        (1, True, 7, WARN, "7 messages wait"),
        (0, True, 0, ERROR, "parser_workers"),
        (0, True, None, ERROR, "isn't known"),
        (0, False, 0, None, "switched off"),
        (1, False, 7, WARN, "STAGES_PARSER_ENABLED=false"),
        (0, False, None, WARN, "parser_workers switches it on"),
    ],
)
def test_workers_are_missing_unless_the_stage_is_off_and_nothing_waits(
    alive: int, is_on: bool, waiting: int | None, wanted: Judged, told: str
) -> None:
    state = WorkersState(stage=Stage.PARSER, alive=alive, wanted=2, is_on=is_on, waiting=waiting)
    result = judge_workers(state)
    assert judged(result) is wanted
    assert told in (result.description or "")
    assert result.asset_key == topic_key(Topic.NORMALIZED)


@pytest.mark.parametrize(
    ("is_on", "silent_ms", "wanted", "told"),
    [
        (False, None, None, "PARSER_PRIORITY_QUEUE_ENABLED"),
        (False, 10_000_000, None, "reads Kafka itself"),
        (True, 120_000, None, "last worked 2m ago"),
        (True, 120_001, WARN, "its ticks say why"),
        (True, 600_001, ERROR, "its ticks say why"),
        (True, None, ERROR, "has never filled the queue"),
    ],
)
def test_an_intake_that_is_on_has_to_work(is_on: bool, silent_ms: int | None, wanted: Judged, told: str) -> None:
    state = IntakeState(stage=Stage.PARSER, is_on=is_on, silent_ms=silent_ms, limits=Limits(120_000, 600_000))
    result = judge_intake(state)
    assert judged(result) is wanted
    assert told in (result.description or "")
    assert ("silent_s" in result.metadata) is (silent_ms is not None)  # never isn't just now


@pytest.fixture
def on_servers(on_servers: Wiring) -> Wiring:
    """With its topics."""
    on_servers.ready()
    return on_servers


@pytest.fixture
def by_hand(instance: dg.DagsterInstance) -> Callable[[dg.Definitions, dg.AssetKey, str], dg.AssetCheckEvaluation]:
    """Runs a check as the UI does."""

    def run(defs: dg.Definitions, key: dg.AssetKey, name: str) -> Any:
        job: Any = defs.get_repository_def().get_implicit_job_def_for_assets([key])
        chosen = job.get_subset(asset_selection=set(), asset_check_selection={dg.AssetCheckKey(key, name)})
        (evaluation,) = chosen.execute_in_process(instance=instance).get_asset_check_evaluations()
        return evaluation

    return run


@pytest.mark.services
def test_by_hand_a_stage_is_judged_by_the_signs_of_life_of_its_workers(
    on_servers: Wiring, load_definitions: Any, by_hand: Any
) -> None:
    defs, key = load_definitions(PARSER_SLOTS="2"), topic_key(Topic.NORMALIZED)
    dead = by_hand(defs, key, WORKERS)
    assert (dead.passed, dead.severity) == (False, ERROR)
    assert dead.metadata["waiting"].value == 0
    on_servers.heartbeats.beat("parser", 0, "run0", {"mode": "queue"})
    some = by_hand(defs, key, WORKERS)
    assert (some.passed, some.severity, some.metadata["alive"].value) == (False, WARN, 1)
    on_servers.heartbeats.beat("parser", 1, "run1", {"mode": "queue"})
    assert by_hand(defs, key, WORKERS).passed
    off = load_definitions(STAGES_ENRICH_ENABLED="false")
    assert by_hand(off, topic_key(Topic.ENRICHED), WORKERS).passed  # nothing waits for it


@pytest.mark.services
def test_an_intake_counts_as_at_work_once_it_has_filled_the_queue_and_not_by_skipping(
    on_servers: Wiring, load_definitions: Any, by_hand: Any, instance: dg.DagsterInstance
) -> None:
    defs, key = load_definitions(PARSER_PRIORITY_QUEUE_ENABLED="true"), queue_key(Stage.PARSER)
    assert "retry_relay is off or silent" in (ticked(defs, "parser_intake", instance).skip_message or "")
    idle = by_hand(defs, key, INTAKE)
    assert (idle.passed, idle.severity) == (False, ERROR)
    ticked(defs, "retry_relay", instance)
    assert "stored in the queue" in (ticked(defs, "parser_intake", instance).skip_message or "")
    working = by_hand(defs, key, INTAKE)
    assert (working.passed, working.metadata["is_on"].value) == (True, True)
    assert by_hand(defs, queue_key(Stage.ENRICH), INTAKE).metadata["is_on"].value is False


@pytest.mark.services
def test_a_retry_that_nobody_sends_is_overdue(on_servers: Wiring, load_definitions: Any, by_hand: Any) -> None:
    now_ms = on_servers.clock.now_ms()
    late = Message(Headers(root_id="late"), b"key", b'{"v":1}')
    on_servers.retry_set.schedule(RetryEntry(now_ms - 700_000, "fetched", Stage.PARSER, now_ms, late))
    assert retry_state(on_servers).overdue_ms >= 700_000
    evaluation = by_hand(load_definitions(), RETRIES, "waiting")
    assert (evaluation.passed, evaluation.severity) == (False, ERROR)
    assert evaluation.metadata["waiting"].value == 1


@pytest.mark.services
def test_by_hand_a_topic_is_judged_by_its_lag(on_servers: Wiring, load_definitions: Any, by_hand: Any) -> None:
    evaluation = by_hand(load_definitions(), topic_key(Topic.FETCHED), "lag")
    assert (evaluation.passed, evaluation.metadata["lag"].value) == (True, 0)


@pytest.mark.services
def test_the_probe_tells_of_every_one_of_these_checks_and_counts_workers_in_words(
    on_servers: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    for stage in Stage:
        on_servers.heartbeats.beat(stage.value, 0, "run", {"mode": "queue"})
    data = ticked(load_definitions(), "health_probe", instance)
    told = {
        (event.asset_key, event.check_name): event.passed
        for event in data.asset_events
        if isinstance(event, dg.AssetCheckEvaluation)
    }
    wanted = {(topic_key(topic), "lag") for facts in FACTS.values() for topic in facts.inputs}
    wanted |= {(topic_key(FACTS[stage].output), WORKERS) for stage in Stage}
    wanted |= {(queue_key(stage), INTAKE) for stage in QUEUED_STAGES} | {(RETRIES, "waiting")}
    assert {key: told.get(key) for key in wanted} == dict.fromkeys(wanted, True)
    assert "4 of 4 worker runs alive" in (data.skip_message or "")
    assert PATIENCE_MS < 120_000  # what is told of an outage is told within two minutes
