"""The metrics endpoint beside `dev`: there when it can be, and in nobody's way when it can't."""

import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.local import children, family
from issuetracker_dagster.local.exporter import start_exporter
from issuetracker_dagster.local.ports import choose_ports, is_listening
from issuetracker_dagster.local.report import Step
from tests.waiting import eventually


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    (folder / "logs").mkdir(parents=True)
    yield folder
    family.end(folder, grace_s=1)


@pytest.mark.slow
def test_it_serves_until_the_family_of_the_home_ends(home: Path) -> None:
    port, closed = choose_ports(2)
    nobody = f"127.0.0.1:{closed}"
    environment = {
        "ISSUETRACKER_HOME": str(home), "KAFKA_BOOTSTRAP_SERVERS": nobody, "REDIS_URL": f"redis://{nobody}/0",
        "DATABASE_URL": f"sqlite:///{home / 'none.db'}",
    }  # fmt: skip
    steps: list[Step] = []
    (child,) = start_exporter(home, environment, f"127.0.0.1:{port}", steps.append)
    assert [(step.phase, step.text) for step in steps] == [("note", f"http://127.0.0.1:{port}/metrics")]
    eventually(lambda: is_listening(port), timeout_s=90)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        assert b'issuetracker_up{server="redis"} 0.0' in answer.read()
    family.end(home, grace_s=30)
    assert not children.is_alive(child)
    assert not is_listening(port)


def said(home: Path, addr: str) -> list[Step]:
    steps: list[Step] = []
    assert start_exporter(home, {}, addr, steps.append) == ()
    return steps


def test_a_port_that_is_taken_is_named_and_nothing_is_started(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (step,) = said(home, f"127.0.0.1:{port}")
    assert step.phase == "warning"
    assert f"port {port} is taken" in step.text
    assert "METRICS_ADDR" in step.text


def test_an_address_that_others_reach_isnt_served_by_the_way(home: Path) -> None:
    (step,) = said(home, "0.0.0.0:9464")
    assert step.phase == "warning"
    assert "--exposed" in step.text


def test_without_an_address_nothing_is_said(home: Path) -> None:
    assert said(home, "") == []
