"""Ticks say in numbers what they did, also when that was nothing."""

import logging
import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.defs.drain import DRAIN_JOB
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.defs.looking import sensors, ticked
from tests.migrated import sqlite_at


@pytest.fixture
def at_rest(
    bare_environment: Path, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str
) -> Wiring:
    """Servers of this test's own, with nothing to do."""
    sqlite_at(bare_environment / "issuetracker.db")
    environment = {
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "KAFKA_TOPIC_PREFIX": f"{uuid.uuid4().hex[:8]}.",
        "REDIS_URL": clean_valkey_url,
        "INTAKE_TICK_BUDGET": "1s",
    } | {f"KAFKA_PARTITIONS_{name}": "1" for name in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ")}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    wiring = Wiring(Settings(env_file=None))
    wiring.ready()
    return wiring


@pytest.mark.services
@pytest.mark.slow
def test_every_sensor_tells_numbers_or_asks_for_runs(
    at_rest: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions()
    first = "retry_relay"  # without its sign of life intakes only say that they wait for it
    for name in [first, *sorted(sensors(defs).keys() - {first})]:
        data = ticked(defs, name, instance)
        told = data.skip_message or ""
        assert data.run_requests or any(sign.isdigit() for sign in told), f"{name}: {told}"


class Heard(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.mark.services
def test_the_relay_tells_its_numbers_also_when_it_asks_for_a_drain_run(
    at_rest: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    at_rest.buffers[Topic.CRAWL_LOW].push([b"left over"])
    defs = load_definitions()
    resources, heard = dict(defs.resources or {}), Heard()
    with dg.build_sensor_context(instance=instance, resources=resources, sensor_name="retry_relay") as context:
        context.log.addHandler(heard)
        data = sensors(defs)["retry_relay"].evaluate_tick(context)
    assert [request.job_name or DRAIN_JOB for request in data.run_requests or []] == [DRAIN_JOB]
    assert any("0 due retries published" in line for line in heard.lines)
