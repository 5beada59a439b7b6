"""What the tests of the Dagster layer share: an environment without anything configured, and fresh definitions."""

import importlib.util
import logging
import os
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest

from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.settings.load import Settings, variables
from issuetracker_dagster.wiring.parts import Wiring

LoadDefinitions = Callable[..., dg.Definitions]


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No setting is set, no `.env` is found, and the home folder, which is returned, is empty."""
    for name, _, _ in variables():
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISSUETRACKER_HOME", str(home))
    return home


@pytest.fixture
def untouched_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a code location does to this package's loggers ends with the test."""
    ours = logging.getLogger("issuetracker_dagster")
    monkeypatch.setattr(ours, "propagate", ours.propagate)
    monkeypatch.setattr(ours, "level", ours.level)
    monkeypatch.setattr(ours, "handlers", list(ours.handlers))


@pytest.fixture
def load_definitions(
    bare_environment: Path, untouched_logging: None, monkeypatch: pytest.MonkeyPatch
) -> LoadDefinitions:
    """Loads the code location anew, with these variables set."""

    def load(**environment: str) -> dg.Definitions:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        spec = importlib.util.find_spec("issuetracker_dagster.definitions")
        assert spec
        assert spec.loader
        fresh = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(fresh)
        found: dg.Definitions = fresh.defs
        return found

    return load


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance of its own, in memory."""
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture(scope="session")
def dagster_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Dagster instance that nothing has run in; to make its tables takes longer than most tests."""
    folder = tmp_path_factory.mktemp("dagster")
    with dg.instance_for_test(temp_dir=str(folder)):
        return folder


@pytest.fixture
def stored_instance(dagster_files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance of its own, on files that other processes can open."""
    folder = tmp_path_factory.mktemp("instance")
    shutil.copytree(dagster_files, folder, dirs_exist_ok=True)
    with dg.instance_for_test(temp_dir=str(folder)) as made:
        yield made


@pytest.fixture
def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(autouse=True)
def no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instances of tests tell nobody that they exist."""
    monkeypatch.setitem(os.environ, "DAGSTER_DISABLE_TELEMETRY", "1")


@pytest.fixture
def on_servers(
    bare_environment: Path, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str
) -> Wiring:
    """The parts on real servers: topics of their own, not made yet, an empty Redis, a migrated database."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka_bootstrap)
    monkeypatch.setenv("KAFKA_TOPIC_PREFIX", f"{uuid.uuid4().hex}.")
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    wiring = Wiring(Settings(None))
    upgrade(wiring.endpoints.database)
    return wiring
