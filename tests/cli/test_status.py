"""`issuetracker status`: what it tells of Dagster and the demo site."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.local import children, family
from issuetracker_dagster.local.pipeline import Ui
from issuetracker_dagster.local.ports import choose_ports, is_listening
from issuetracker_dagster.local.site.hosts import HOSTS
from issuetracker_dagster.local.site.remembered import settle
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.cli.terminal import Terminal
from tests.waiting import eventually

LISTENS = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
os.fork()
server.serve_forever()
"""
"""Stands in for a server; the words behind its port are those by which the real one is known."""

Start = Callable[..., int]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    home = tmp_path / "home"

    def member(port: int, *words: str) -> int:
        argv = [sys.executable, "-c", LISTENS, str(port), *words]
        started = children.spawn(
            argv, log=tmp_path / "log", cwd=tmp_path, env={**os.environ, children.FAMILY_MARK: str(home.resolve())}
        )
        eventually(lambda: is_listening(port), timeout_s=20)
        return started.pid

    yield member
    family.end(home.resolve(), grace_s=1)


def row(said: str, name: str) -> list[str]:
    """The cells of a service's line, put together again where they were folded."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines() if line.startswith("│")]
    at = next(at for at, cells in enumerate(rows) if cells[0] == name)
    found = rows[at]
    for cells in rows[at + 1 :]:
        if cells[0] and not name.startswith(f"{found[0]} "):
            break
        found = [a + b for a, b in zip(found, cells, strict=True)]
    return found


def test_a_home_on_which_nothing_runs_says_so(terminal: Terminal) -> None:
    said = terminal.does("status")
    assert row(said, "dagster") == ["dagster", "", "stopped", "", ""]
    assert "demo site" not in said


def test_dev_is_told_from_demo_and_both_give_addresses_to_open(terminal: Terminal, start: Start) -> None:
    (ui,) = choose_ports(1)
    pid = start(ui, *Ui("127.0.0.1", ui).command()[1:])
    assert row(terminal.does("status"), "dagster")[1:] == ["dev", "running", f"http://127.0.0.1:{ui}", str(pid)]
    home = terminal.folder / "home"
    site = settle(home.resolve(), 7, 1)
    assert row(terminal.does("status"), "demo site")[2] == "stopped"
    start(site.ports[HOSTS[0].key], "-m", "issuetracker_dagster.local.site", "--home", str(home))
    said = terminal.does("status")
    assert row(said, "dagster")[1] == "demo"
    assert row(said, "demo site")[1:4] == ["http", "running", site.url(HOSTS[0].key, "/")]


@pytest.mark.services
def test_a_stage_that_pauses_is_told_with_the_command_that_says_why(
    terminal: Terminal, clean_valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{choose_ports(1)[0]}")
    wiring = Wiring(Settings())
    wiring.heartbeats.beat("parser", 0, "run0", {"mode": "paused"})
    wiring.heartbeats.beat("enrich", 0, "run1", {"mode": "direct"})
    said = terminal.does("status")
    assert row(said, "parser")[1:] == ["1", "paused; why: issuetracker dlq list --stage parser"]
    assert row(said, "enrich")[1:] == ["1", "direct"]


def test_an_address_is_folded_in_a_narrow_terminal_and_never_cut(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    url = f"sqlite:///{terminal.folder / ('long' * 30)}.db"
    monkeypatch.setenv("DATABASE_URL", url)
    assert row(terminal.does("status"), "database")[3] == url
