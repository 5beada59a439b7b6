"""A terminal for tests of commands, and a set-up in which all is well."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.servers import Operator, at_servers
from tests.cli.set_up import PROJECT, beat
from tests.cli.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """An empty one."""
    opened = Terminal(tmp_path, monkeypatch)
    yield opened
    opened.stores.close()


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
