"""Drain runs on real servers: what they move, how they end, and what the toggle in the UI does to publishers."""

import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.sensor import execute_sensor_iteration

from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.cli.status import status
from issuetracker_dagster.defs import drain as drain_defs
from issuetracker_dagster.defs.drain import DRAIN_JOB, VARIABLE
from issuetracker_dagster.defs.flags import DRAIN_SCHEDULE
from issuetracker_dagster.flow import drain as drain_flow
from issuetracker_dagster.flow.drain import BUSY, DRAIN_LOCK, EMPTIED
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.buffering import DRAINER
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay
from tests.faults.proxy import FaultProxy
from tests.flow.world import crawl_message
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

LOCATION = "issuetracker"
JOBS = 250


@pytest.fixture
def on_servers(
    bare_environment: Path, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str
) -> Iterator[Wiring]:
    for name, value in {
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "KAFKA_TOPIC_PREFIX": f"{uuid.uuid4().hex}.",
        "REDIS_URL": clean_valkey_url,
        "WORKER_HEARTBEAT": "200ms",
    }.items():
        monkeypatch.setenv(name, value)
    wiring = Wiring(Settings(None))
    upgrade(wiring.endpoints.database)
    wiring.ready()
    yield wiring
    wiring.close()


def fill(wiring: Wiring, count: int = JOBS) -> None:
    """Jobs in the buffer of normal ones, one second old."""
    wiring.buffers[Topic.CRAWL_NORMAL].push([entry(wiring, f"job-{number}") for number in range(count)])


def entry(wiring: Wiring, name: str) -> bytes:
    record = Outgoing.of(Topic.CRAWL_NORMAL, crawl_message(f"https://news.example.com/{name}", name))
    return encode_buffered(BufferedJob(wiring.clock.now_ms() - 1_000, record))


def backlog(wiring: Wiring) -> int:
    return wiring.buffers[Topic.CRAWL_NORMAL].state().backlog


def drained(load_definitions: Any, instance: dg.DagsterInstance, **environment: str) -> dict[str, Any]:
    """What a run in this process tells at its end."""
    job = load_definitions(**environment).resolve_job_def(DRAIN_JOB)
    result = job.execute_in_process(instance=instance)
    assert result.success
    (step,) = [event for event in result.all_events if event.is_successful_output]
    return {name: value.value for name, value in step.step_output_data.metadata.items()}


def test_a_run_started_by_hand_while_the_toggle_is_off_empties_the_buffer_and_ends(
    on_servers: Wiring, load_definitions: Any, stored_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain_flow, "QUIET_S", 0.5)
    on_servers.buffer_switch.turn(on=True)
    fill(on_servers)
    told = drained(load_definitions, stored_instance)
    assert told["reason"] == EMPTIED
    assert told["published_normal"] == JOBS
    assert told["dwell_p50_ms"] >= 1_000
    assert on_servers.buffer_switch.is_on() is False
    assert backlog(on_servers) == 0
    assert on_servers.lags()[Topic.CRAWL_NORMAL] == JOBS
    (beat,) = on_servers.heartbeats.alive(DRAINER)
    assert beat.info["mode"] == "emptying"


def test_a_run_whose_toggle_is_on_switches_publishers_on_and_leaves_them_so(
    on_servers: Wiring, load_definitions: Any, stored_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain_defs, "RUN_MS", 2_000)
    told = drained(load_definitions, stored_instance, **{VARIABLE: "true"})
    assert told["reason"] == drain_flow.OVER
    assert on_servers.buffer_switch.is_on() is True


@pytest.mark.parametrize("variable", ["REDIS_URL", "KAFKA_BOOTSTRAP_SERVERS"])
def test_a_run_that_begins_while_a_server_is_out_waits_for_it(
    variable: str,
    on_servers: Wiring,
    load_definitions: Any,
    stored_instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drain_flow, "QUIET_S", 0.5)
    fill(on_servers)
    there = on_servers.endpoints.redis if variable == "REDIS_URL" else on_servers.endpoints.kafka
    port = int(there.removesuffix("/0").rpartition(":")[2])
    with FaultProxy(port, advertised=variable != "REDIS_URL") as proxy, ThreadPoolExecutor(1) as thread:
        through = {variable: there.replace(str(port), str(proxy.port))}
        with proxy.down():
            running = thread.submit(drained, load_definitions, stored_instance, **through)
            eventually(lambda: proxy.connections > 10 or running.done(), timeout_s=90)
        assert running.result(90)["reason"] == EMPTIED
    assert backlog(on_servers) == 0


def test_a_second_run_ends_at_once_while_another_is_alive(
    on_servers: Wiring, load_definitions: Any, stored_instance: dg.DagsterInstance
) -> None:
    fill(on_servers)
    on_servers.heartbeats.beat(DRAINER, 0, "another", {})
    assert on_servers.locks.acquire(DRAIN_LOCK, 60_000)
    assert drained(load_definitions, stored_instance)["reason"] == BUSY
    assert backlog(on_servers) == JOBS


def mode(wiring: Wiring) -> str:
    """What the latest sign of a drain run says that it does."""
    return next((beat.info.get("mode", "") for beat in wiring.heartbeats.alive(DRAINER)), "")


def test_a_run_waits_for_the_lock_that_a_dead_one_has_left_and_says_so(
    on_servers: Wiring, load_definitions: Any, stored_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain_flow, "QUIET_S", 0.5)
    fill(on_servers)
    assert on_servers.locks.acquire(DRAIN_LOCK, 4_000)
    with ThreadPoolExecutor(1) as pool:
        waited = pool.submit(eventually, lambda: mode(on_servers) == "waiting", 30)
        assert drained(load_definitions, stored_instance)["reason"] == EMPTIED
    assert waited.result()
    assert mode(on_servers) == "emptying"
    assert backlog(on_servers) == 0


def test_the_relay_sends_what_fell_out_of_a_full_buffer_to_the_dlq(
    on_servers: Wiring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBLISHER_REDIS_BUFFER_MAX_LEN", "10")
    small = Wiring(Settings(None))
    fill(small, 13)
    report = relay(small, 1_000)
    assert (report.trimmed, report.buried) == (3, 3)
    assert small.buffers[Topic.CRAWL_NORMAL].state().outbox == 0
    assert backlog(small) == 10
    small.close()


@pytest.fixture
def dagster_home(bare_environment: Path) -> Path:
    home = bare_environment / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    return home


def test_terminated_and_interrupted_twice_a_run_gives_back_what_it_holds_and_leaves_publishers_buffering(
    on_servers: Wiring, dagster_home: Path
) -> None:
    fill(on_servers)
    command = [sys.executable, "-m", "dagster", "job", "execute", "-m", "issuetracker_dagster.definitions"]
    environment = {"DAGSTER_HOME": str(dagster_home), VARIABLE: "true", "PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG": "150"}
    with (dagster_home / "run.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "-j", DRAIN_JOB],
            env={**os.environ, **environment},
            cwd=Path(__file__).resolve().parents[2],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        eventually(lambda: backlog(on_servers) == JOBS - 150, timeout_s=60, interval_s=0.1)
        with dg.DagsterInstance.from_config(str(dagster_home)) as instance:
            (run,) = instance.get_runs()
            instance.report_run_canceling(run)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=15)
            (run,) = instance.get_runs()
            assert run.status is dg.DagsterRunStatus.CANCELED
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(timeout=10)
    state = on_servers.buffers[Topic.CRAWL_NORMAL].state()
    assert (state.waiting, state.draining) == (JOBS - 150, 0)
    assert on_servers.lags()[Topic.CRAWL_NORMAL] == 150
    assert on_servers.buffer_switch.is_on() is True
    assert on_servers.locks.acquire(DRAIN_LOCK, 1_000), "the lock was left behind"


@pytest.mark.parametrize(
    ("buffering", "drainer_lives", "waits"), [(False, True, True), (True, False, True), (True, True, False)]
)
def test_seeds_wait_for_kafka_unless_a_buffer_that_is_drained_takes_their_jobs(
    on_servers: Wiring, monkeypatch: pytest.MonkeyPatch, buffering: bool, drainer_lives: bool, waits: bool
) -> None:
    monkeypatch.setenv("SCHEDULER_MAX_BACKLOG", "5")
    wiring = Wiring(Settings(None))
    jobs = [crawl_message(f"https://news.example.com/{number}", str(number)) for number in range(6)]
    wiring.producer.publish([Outgoing.of(Topic.CRAWL_NORMAL, job) for job in jobs])
    wiring.buffer_switch.turn(on=buffering)
    if drainer_lives:
        wiring.heartbeats.beat(DRAINER, 0, "run", {})
    assert (wiring.throttler.hold_back(Priority.LOW) is not None) is waits
    assert wiring.throttler.hold_back(Priority.HIGH) is None
    wiring.close()


def test_the_status_command_shows_the_buffers_the_switch_and_the_drainer(on_servers: Wiring) -> None:
    fill(on_servers, 7)
    on_servers.buffer_switch.turn(on=True)
    shown = CliRunner().invoke(status, env={"COLUMNS": "140"}).output
    assert "Buffers before Kafka" in shown
    assert any(line.split()[1:4:2] == ["crawl.normal", "7"] for line in shown.splitlines() if "crawl.normal" in line)
    assert "buffering on; last sign of a drain run: never" in shown
    on_servers.heartbeats.beat(DRAINER, 0, "run", {"mode": "waiting"})
    assert re.search(r"\d+s ago \(waiting\)", CliRunner().invoke(status, env={"COLUMNS": "140"}).output)


@pytest.mark.usefixtures("on_servers")
def test_the_status_of_the_first_seconds_tells_what_is_still_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "true")
    monkeypatch.setenv("KAFKA_TOPIC_PREFIX", f"{uuid.uuid4().hex}.")
    shown = CliRunner().invoke(status, env={"COLUMNS": "140"}).output
    assert "buffering on at the next drain run" in shown
    assert "no topics yet; the first worker makes them" in shown
    assert "can't be" not in shown


class Daemon:
    """Dagster's daemon with the code location in a process of its own, as the UI's toggles reach it."""

    def __init__(self, stack: ExitStack) -> None:
        self.instance = stack.enter_context(dg.instance_for_test())
        target = ModuleTarget("issuetracker_dagster.definitions", None, None, LOCATION)
        self._workspace = stack.enter_context(create_test_daemon_workspace_context(target, self.instance))
        location = self._workspace.create_request_context().get_code_location(LOCATION)
        self._repository = location.get_repository("__repository__")
        for sensor in self._repository.get_sensors():
            if sensor.name == "retry_relay":
                self.instance.start_sensor(sensor)
            else:
                self.instance.stop_sensor(sensor.get_remote_origin_id(), sensor.selector_id, sensor)

    def switch_on(self) -> None:
        self.instance.start_schedule(self._repository.get_schedule(DRAIN_SCHEDULE))

    def switch_off(self) -> None:
        schedule = self._repository.get_schedule(DRAIN_SCHEDULE)
        self.instance.stop_schedule(schedule.get_remote_origin_id(), schedule.selector_id, schedule)

    def relay_ticks(self) -> None:
        """One round of the daemon, in which the relay ticks if it is due."""
        for problem in execute_sensor_iteration(self._workspace, _LOG, None, None):
            assert problem is None, problem

    def runs(self) -> list[str]:
        return [run.job_name for run in self.instance.get_runs()]


_LOG = dg.get_dagster_logger("tests")


@pytest.fixture
def daemon(on_servers: Wiring) -> Iterator[Daemon]:
    with ExitStack() as stack:
        yield Daemon(stack)


def test_the_toggle_decides_for_publishers_through_the_relay_while_no_drain_run_lives(
    on_servers: Wiring, daemon: Daemon
) -> None:
    daemon.switch_on()
    on_servers.buffer_switch.turn(on=True)
    fill(on_servers)

    def relayed() -> bool:
        daemon.relay_ticks()
        return bool(on_servers.heartbeats.alive("retry_relay"))

    eventually(relayed, timeout_s=60, interval_s=1)
    assert on_servers.buffer_switch.is_on() is True
    assert daemon.runs() == []

    daemon.switch_off()

    def switched_off() -> bool:
        daemon.relay_ticks()
        return not on_servers.buffer_switch.is_on()

    eventually(switched_off, timeout_s=30, interval_s=1)

    def started() -> bool:
        daemon.relay_ticks()
        return daemon.runs() == [DRAIN_JOB]

    eventually(started, timeout_s=30, interval_s=1)
