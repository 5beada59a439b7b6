"""What the health probe tells while servers are out, hang or come back: closed ports, and a way that falls silent."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dagster as dg
import pytest

from issuetracker_dagster.defs.assets import queue_key, server_key, table_key, topic_key
from issuetracker_dagster.defs.health import HealthProbe, Look
from issuetracker_dagster.model.probe import decode_probe
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.servers import ANSWERS_WITHIN_S
from tests.contracts.redis_worlds import full
from tests.defs.looking import ticked
from tests.faults.proxy import FaultProxy
from tests.migrated import sqlite_at

DAGSTERS_PATIENCE_S = 60.0
"""A tick that takes longer is given up."""
Checks = dict[tuple[dg.AssetKey, str], dg.AssetCheckEvaluation]


def looked(
    probe: HealthProbe, wiring: Wiring, instance: dg.DagsterInstance, cursor: str = ""
) -> tuple[Checks, dg.SensorResult]:
    """What a tick after one that left this cursor tells of checks."""
    with dg.build_sensor_context(instance=instance, sensor_name="health_probe", cursor=cursor) as context:
        result = probe.tick(wiring, context)
    events = [event for event in result.asset_events if isinstance(event, dg.AssetCheckEvaluation)]
    return {(event.asset_key, event.check_name): event for event in events}, result


def said_by(result: dg.SensorResult) -> str:
    assert result.skip_reason
    return result.skip_reason.skip_message or ""


def reachable(checks: Checks) -> dict[str, bool]:
    return {key.path[-1]: check.passed for (key, name), check in checks.items() if name == "reachable"}


@pytest.fixture
def sql_only(bare_environment: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> Wiring:
    """A database; nobody listens where Kafka and Redis should be."""
    sqlite_at(bare_environment / "issuetracker.db")
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{closed_port}/0")
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed_port}")
    return Wiring(Settings(None))


def test_each_server_that_is_out_is_told_in_the_first_tick_with_what_to_do_and_the_others_are_looked_at(
    sql_only: Wiring, instance: dg.DagsterInstance
) -> None:
    checks, result = looked(HealthProbe(), sql_only, instance)
    assert reachable(checks) == {"kafka": False, "redis": False, "sql": True}
    for server, variable in (("kafka", "KAFKA_BOOTSTRAP_SERVERS"), ("redis", "REDIS_URL")):
        red = checks[server_key(server), "reachable"]
        assert red.severity is dg.AssetCheckSeverity.ERROR
        said = red.description or ""
        assert variable in said
        assert "`issuetracker up`" in said
        assert "`issuetracker doctor`" in said
    # Kafka's refusals take as long as a server that hangs; the database isn't taken for one.
    assert {(table_key("parser_rules"), "rules_match"), (table_key("contents"), "extraction")} <= checks.keys()
    assert "pages parsed within 2h" in said_by(result)
    assert [said_by(result).count(name) for name in ("(KAFKA_BOOTSTRAP_SERVERS)", "(REDIS_URL)")] == [1, 1]


@pytest.mark.parametrize(
    ("database", "helps"),
    [
        ("sqlite:///{folder}/never_upgraded.db", "`issuetracker db upgrade`"),
        ("postgresql://someone:secret@127.0.0.1:{port}/issues", "DATABASE_URL"),
    ],
)
def test_with_every_server_out_all_three_are_told_and_the_tick_says_what_helps(
    sql_only: Wiring,
    instance: dg.DagsterInstance,
    tmp_path: Path,
    closed_port: int,
    monkeypatch: pytest.MonkeyPatch,
    database: str,
    helps: str,
) -> None:
    monkeypatch.setenv("DATABASE_URL", database.format(folder=tmp_path, port=closed_port))
    checks, result = looked(HealthProbe(), Wiring(Settings(None)), instance)
    assert reachable(checks) == {"kafka": False, "redis": False, "sql": False}
    said = checks[server_key("sql"), "reachable"].description or ""
    assert helps in said
    assert "`issuetracker status`" in said_by(result)
    assert "secret" not in said + said_by(result)


@pytest.mark.slow
def test_a_look_at_parsing_that_was_left_out_is_made_up_for_at_the_next_tick(
    sql_only: Wiring, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = HealthProbe()
    with monkeypatch.context() as out:
        out.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'never upgraded.db'}")
        checks, result = looked(probe, Wiring(Settings(None)), instance)
    assert not any(name == "extraction" for _, name in checks)
    checks, _ = looked(probe, sql_only, instance, result.cursor or "")
    assert checks[table_key("contents"), "extraction"].passed


@pytest.mark.slow
def test_what_a_tick_told_is_told_again_unless_dagster_kept_its_cursor(
    sql_only: Wiring, instance: dg.DagsterInstance
) -> None:
    probe = HealthProbe()
    first, result = looked(probe, sql_only, instance)
    again, _ = looked(probe, sql_only, instance, "")  # given up on before its events were stored
    assert reachable(again) == reachable(first)
    _, result = looked(probe, sql_only, instance, "")
    kept, _ = looked(probe, sql_only, instance, result.cursor or "")
    assert reachable(kept) == {}


@pytest.fixture
def to_redis(clean_valkey_url: str) -> Iterator[FaultProxy]:
    with FaultProxy(int(urlsplit(clean_valkey_url).port or 0)) as proxy:
        yield proxy


@pytest.fixture
def through_proxy(on_servers: Wiring, to_redis: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> Wiring:
    """Real servers, Redis by a way that can fail."""
    on_servers.ready()
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{to_redis.port}/0")
    return Wiring(Settings(None))


@pytest.mark.services
def test_a_redis_that_goes_turns_its_check_and_only_it_and_turns_back(
    through_proxy: Wiring, to_redis: FaultProxy, instance: dg.DagsterInstance
) -> None:
    probe = HealthProbe()
    checks, result = looked(probe, through_proxy, instance)
    assert reachable(checks) == {"kafka": True, "redis": True, "sql": True}
    seen = decode_probe(result.cursor or "").seen
    assert seen
    with to_redis.refusing():
        checks, result = looked(probe, through_proxy, instance, result.cursor or "")
        assert {key for key, check in checks.items() if not check.passed} == {(server_key("redis"), "reachable")}
        # What was known of Redis isn't forgotten, and what isn't known isn't told to be well.
        assert decode_probe(result.cursor or "").seen == seen
        assert (topic_key(Topic.DLQ), "pauses") not in checks
    checks, _ = looked(probe, through_proxy, instance, result.cursor or "")
    assert reachable(checks) == {"redis": True}


@pytest.mark.services
def test_a_redis_that_is_full_is_told_with_what_makes_room_and_looked_at_like_one_with_room(
    through_proxy: Wiring, instance: dg.DagsterInstance
) -> None:
    probe = HealthProbe()
    with_room, _ = looked(HealthProbe(), through_proxy, instance)
    with full(through_proxy.redis):
        checks, result = looked(probe, through_proxy, instance)
        assert not probe.is_out("redis")
    assert reachable(checks) == {"kafka": True, "redis": False, "sql": True}
    said = checks[server_key("redis"), "reachable"].description or ""
    assert "CONFIG SET maxmemory" in said
    assert "fetch" not in said.lower()  # it goes on
    assert checks.keys() == with_room.keys()
    assert "ready for enrich" in said_by(result)
    assert "issuetracker up" not in said_by(result)
    checks, _ = looked(probe, through_proxy, instance, result.cursor or "")
    assert reachable(checks) == {"redis": True}


@pytest.mark.services
@pytest.mark.slow
def test_a_redis_that_hangs_is_told_in_time_for_the_tick(
    through_proxy: Wiring, to_redis: FaultProxy, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions(REDIS_URL=f"redis://127.0.0.1:{to_redis.port}/0")
    with to_redis.slow(DAGSTERS_PATIENCE_S):
        began = time.monotonic()
        data = ticked(defs, "health_probe", instance)
        took_s = time.monotonic() - began
    told = {
        (event.asset_key, event.check_name): event.passed
        for event in data.asset_events
        if isinstance(event, dg.AssetCheckEvaluation)
    }
    assert told[server_key("redis"), "reachable"] is False
    assert told[server_key("kafka"), "reachable"] is True
    assert told[topic_key(Topic.FETCHED), "lag"] is True
    assert took_s < 2 * ANSWERS_WITHIN_S


class FallsSilent(HealthProbe):
    """Redis hangs from the moment on in which it has answered that it is there."""

    def __init__(self, to_redis: FaultProxy) -> None:
        super().__init__()
        self._to_redis = to_redis

    def _looks(self, wiring: Wiring, context: dg.SensorEvaluationContext) -> Iterator[Look]:
        with self._to_redis.slow(DAGSTERS_PATIENCE_S):
            yield from super()._looks(wiring, context)


@pytest.mark.services
@pytest.mark.slow
def test_a_redis_that_falls_silent_between_two_looks_is_told_in_that_tick_and_costs_one_of_them(
    through_proxy: Wiring, to_redis: FaultProxy, instance: dg.DagsterInstance
) -> None:
    began = time.monotonic()
    checks, _ = looked(FallsSilent(to_redis), through_proxy, instance)
    assert time.monotonic() - began < 0.75 * DAGSTERS_PATIENCE_S
    assert reachable(checks) == {"kafka": True, "redis": False, "sql": True}
    assert {(table_key("contents"), "extraction"), (topic_key(Topic.DLQ), "rate")} <= checks.keys()


@pytest.mark.services
def test_with_kafka_out_queues_workers_and_tables_are_told_all_the_same(
    on_servers: Wiring, closed_port: int, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed_port}")
    wiring = Wiring(Settings(None))
    began = time.monotonic()
    checks, result = looked(HealthProbe(), wiring, instance)
    assert time.monotonic() - began < ANSWERS_WITHIN_S  # it was asked once, however many workers are missing
    assert reachable(checks) == {"kafka": False, "redis": True, "sql": True}
    wanted = {
        (queue_key(Stage.ENRICH), "depth"),
        (topic_key(Topic.DLQ), "pauses"),
        (table_key("contents"), "extraction"),
        (table_key("parser_rules"), "rules_fresh"),
    }
    assert wanted <= checks.keys()
    of_kafka = {name for key, name in checks if key.path[0] == "kafka"}
    assert of_kafka <= {"pauses", "workers"}
    assert "KAFKA_BOOTSTRAP_SERVERS" in said_by(result)


@pytest.mark.services
def test_run_from_the_ui_the_check_asks_the_server_of_the_moment(
    on_servers: Wiring, load_definitions: Any, instance: dg.DagsterInstance, closed_port: int
) -> None:
    def passes(defs: dg.Definitions, server: str) -> bool:
        job: Any = defs.get_repository_def().get_implicit_job_def_for_assets([server_key(server)])
        chosen = {dg.AssetCheckKey(server_key(server), "reachable")}
        subset = job.get_subset(asset_selection=set(), asset_check_selection=chosen)
        (evaluation,) = subset.execute_in_process(instance=instance).get_asset_check_evaluations()
        return bool(evaluation.passed)

    defs = load_definitions()
    assert [passes(defs, server) for server in ("kafka", "redis", "sql")] == [True, True, True]
    without = load_definitions(KAFKA_BOOTSTRAP_SERVERS=f"127.0.0.1:{closed_port}")
    assert [passes(without, server) for server in ("kafka", "redis")] == [False, True]
