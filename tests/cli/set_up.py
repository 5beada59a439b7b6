"""A set-up as `issuetracker doctor` sees it: what it finds, and a Dagster whose daemon gives signs of life."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._daemon.types import DaemonHeartbeat

from issuetracker_dagster.model.finding import Finding, Level
from tests.cli.terminal import Terminal

PROJECT = Path(__file__).resolve().parents[2]


def findings(terminal: Terminal) -> list[dict[str, Any]]:
    _, output = terminal.run("doctor", "--json")
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def ills(terminal: Terminal) -> dict[str, str]:
    """The level of every rule that isn't well."""
    return {found["rule"]: found["level"] for found in findings(terminal) if found["level"] != "ok"}


def levels(found: Iterator[Finding] | list[Finding]) -> dict[str, str]:
    return {finding.rule: finding.level.value for finding in found if finding.level is not Level.OK}


def beat(folder: Path, ago_s: float = 0.0) -> None:
    """The daemon of the Dagster in that folder gave a sign of life then, and none since."""
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        for part in instance.get_required_daemon_types():
            instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - ago_s, part, "daemon"))
