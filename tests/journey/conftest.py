"""A pipeline on real servers for one test: topics, queues and a database of its own."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring


@pytest.fixture
def journey_environment(kafka_bootstrap: str, clean_valkey_url: str, tmp_path: Path) -> dict[str, str]:
    """The variables that point a process at the servers of the session and at names that only this test uses."""
    mine = uuid.uuid4().hex[:8]
    return {
        "ISSUETRACKER_HOME": str(tmp_path / "home"),
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "KAFKA_TOPIC_PREFIX": f"{mine}.",
        "REDIS_URL": clean_valkey_url,
        "DATABASE_URL": f"sqlite:///{tmp_path / 'journey.db'}",
        "FETCH_ALLOW_PRIVATE_ADDRESSES": "true",
    } | {f"KAFKA_PARTITIONS_{name}": "2" for name in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ")}


@pytest.fixture
def wiring(journey_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Wiring]:
    """The parts of a process, its topics created and its database migrated."""
    for name, value in journey_environment.items():
        monkeypatch.setenv(name, value)
    upgrade(journey_environment["DATABASE_URL"])
    made = Wiring(Settings(env_file=None))
    made.ready()
    yield made
    made.close()
