"""The code location loads whatever runs, and its sensors then say what is missing."""

import json
import logging
import os
import socket
import subprocess
import sys
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.model.trace import action
from tests.defs.looking import sensors, ticked

STAGE_LIBRARIES = ("sklearn", "scipy", "numpy", "trafilatura", "lxml", "aiohttp", "dateparser", "datasketch", "pebble")
INTAKES = {f"{stage.value}_intake" for stage in QUEUED_STAGES}
WORKERS = {f"{stage.value}_workers" for stage in Stage}
SENSORS = INTAKES | WORKERS | {"retry_relay", "seed_scheduler", "health_probe", "dlq_index"}


def skip_text(defs: dg.Definitions, name: str, instance: dg.DagsterInstance) -> str:
    data = ticked(defs, name, instance)
    assert not data.run_requests
    return data.skip_message or ""


def test_loading_connects_to_nothing(load_definitions: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        defs = load_definitions(KAFKA_BOOTSTRAP_SERVERS=f"127.0.0.1:{port}", REDIS_URL=f"redis://127.0.0.1:{port}/0")
        defs.get_repository_def().load_all_definitions()
        with pytest.raises(BlockingIOError):
            server.accept()


def test_every_sensor_and_job_is_there_and_describes_itself(load_definitions: Any) -> None:
    repository = load_definitions().get_repository_def()
    by_name = {sensor.name: sensor for sensor in repository.sensor_defs}
    jobs = {job.name: job for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert by_name.keys() == SENSORS
    assert jobs.keys() == {f"{stage.value}_shift" for stage in Stage} | {
        "drain_backlog", "refresh_priority_rules", "redrive_dead_letters", "purge_history", "reparse_contents",
        "issue_digest", "move_queue_entries",
    }  # fmt: skip
    for thing in (*by_name.values(), *jobs.values()):
        assert len(thing.description or "") > 40, thing.name


def test_each_workers_sensor_targets_the_job_of_its_stage(load_definitions: Any) -> None:
    by_name = sensors(load_definitions())
    for stage in Stage:
        assert by_name[f"{stage.value}_workers"].job_name == f"{stage.value}_shift"


def test_with_nothing_running_every_sensor_names_the_settings_and_the_command(
    load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions()
    for name in sorted(SENSORS):
        told = skip_text(defs, name, instance)
        assert "KAFKA_BOOTSTRAP_SERVERS" in told, name
        assert "REDIS_URL" in told, name
        assert "`issuetracker up`" in told, name


@pytest.mark.slow
def test_with_servers_that_are_down_every_sensor_names_the_setting_and_the_command(
    load_definitions: Any, instance: dg.DagsterInstance, closed_port: int
) -> None:
    defs = load_definitions(
        KAFKA_BOOTSTRAP_SERVERS=f"127.0.0.1:{closed_port}", REDIS_URL=f"redis://127.0.0.1:{closed_port}/0"
    )
    for name in sorted(SENSORS):
        told = skip_text(defs, name, instance)
        assert "KAFKA_BOOTSTRAP_SERVERS" in told or "REDIS_URL" in told, name
        assert "`issuetracker up`" in told, name


def test_log_lines_look_as_the_settings_say(load_definitions: Any, capsys: pytest.CaptureFixture[str]) -> None:
    load_definitions(LOG_FORMAT="json", LOG_LEVEL="warning")
    logger = logging.getLogger("issuetracker_dagster.defs")
    logger.info("quiet")
    logger.warning("loud", extra=action("tick.skipped"))
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["action"] == "tick.skipped"


def test_all_stages_switched_off_is_refused_at_load(load_definitions: Any) -> None:
    off = {f"STAGES_{stage.name}_ENABLED": "false" for stage in Stage}
    with pytest.raises(ConfigError, match="nothing would ever run") as refused:
        load_definitions(**off)
    for name in off:
        assert name in str(refused.value)


def test_a_bad_setting_is_refused_at_load_by_its_name(load_definitions: Any) -> None:
    with pytest.raises(ConfigError, match="SHIFT_DURATION='soon' isn't accepted"):
        load_definitions(SHIFT_DURATION="soon")


@pytest.mark.slow
def test_the_code_server_loads_no_library_of_a_stage_and_prints_no_warning() -> None:
    code = (
        "import sys, issuetracker_dagster.definitions as location; location.defs.get_repository_def();"
        f"sys.exit(' '.join(name for name in {STAGE_LIBRARIES!r} if name in sys.modules) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert found.stderr.strip() == ""
    assert found.returncode == 0
