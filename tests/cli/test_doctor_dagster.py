"""`issuetracker doctor` about Dagster: its instance, its daemon, and the toggles of sensors and schedules."""

import shutil
import sys
from pathlib import Path

import dagster as dg
import pytest
from msgspec.structs import replace

from issuetracker_dagster.cli.doctor_dagster import UPKEEP, flag_findings, grpc_finding, upkeep_findings
from issuetracker_dagster.cli.doctor_instance import (
    InstanceFacts,
    daemon_finding,
    instance_facts,
    instance_findings,
)
from issuetracker_dagster.local import children
from issuetracker_dagster.model.finding import Level
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.upkeep import RELAY
from tests.cli.servers import Operator
from tests.cli.set_up import PROJECT, beat, findings, ills, levels
from tests.cli.terminal import Terminal
from tests.cli.toggles import switches

QUEUED = "run_coordinator: {{module: dagster.core.run_coordinator, class: QueuedRunCoordinator, config: {config}}}"


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
