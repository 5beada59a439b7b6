"""The health probe under Dagster's daemon: what it couldn't store is told by the next tick."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import create_test_daemon_workspace_context, freeze_time
from dagster._core.workspace.load_target import ModuleTarget
from dagster._daemon.sensor import execute_sensor_iteration
from dagster._time import get_current_datetime

from issuetracker_dagster.defs.assets import server_key
from tests.migrated import sqlite_at

LOCATION = "issuetracker"
PROBE = "health_probe"
BETWEEN_TICKS = timedelta(seconds=30)
KAFKA_OUT = dg.AssetCheckKey(server_key("kafka"), "reachable")
_LOG = dg.get_dagster_logger("tests")


class Daemon:
    """Dagster's daemon of sensors with the code location in a process of its own; only the probe is on."""

    def __init__(self, stack: ExitStack) -> None:
        self.instance = stack.enter_context(dg.instance_for_test())
        target = ModuleTarget("issuetracker_dagster.definitions", None, None, LOCATION)
        self._workspace = stack.enter_context(create_test_daemon_workspace_context(target, self.instance))
        location = self._workspace.create_request_context().get_code_location(LOCATION)
        for sensor in location.get_repository("__repository__").get_sensors():
            if sensor.name == PROBE:
                self._probe = sensor
                self.instance.start_sensor(sensor)
            else:
                self.instance.stop_sensor(sensor.get_remote_origin_id(), sensor.selector_id, sensor)
        self._now = get_current_datetime()

    def tick(self) -> str:
        """What the next tick of the probe ends with."""
        self._now += BETWEEN_TICKS
        with freeze_time(self._now):
            list(execute_sensor_iteration(self._workspace, _LOG, None, None))
        (tick,) = self.instance.get_ticks(self._probe.get_remote_origin_id(), self._probe.selector_id, limit=1)
        return str(tick.status.value)

    def told(self, check: dg.AssetCheckKey) -> int:
        """How often a result of that check was stored."""
        storage = self.instance.event_log_storage
        return len(storage.get_asset_check_execution_history(check, limit=100))

    def events_file(self) -> Path:
        return Path(self.instance.storage_directory()).parent / "history" / "runs" / "index.db"


@pytest.fixture
def daemon(bare_environment: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """On a database; nobody listens where Kafka and Redis should be."""
    sqlite_at(bare_environment / "issuetracker.db")
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{closed_port}/0")
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed_port}")
    with ExitStack() as stack:
        yield Daemon(stack)


@pytest.mark.slow
def test_a_check_that_turned_while_dagsters_storage_was_locked_is_told_by_the_next_tick_and_once(
    daemon: Daemon,
) -> None:
    with closing(sqlite3.connect(daemon.events_file())) as locking:
        locking.execute("BEGIN EXCLUSIVE")
        assert daemon.tick() == "FAILURE"
    assert daemon.told(KAFKA_OUT) == 0
    assert daemon.tick() == "SKIPPED"
    assert daemon.told(KAFKA_OUT) == 1
    assert daemon.tick() == "SKIPPED"
    assert daemon.told(KAFKA_OUT) == 1
