"""The metrics endpoint beside `dagster dev`: a child that lives as long as the command, where METRICS_ADDR says."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from issuetracker_dagster.local import children
from issuetracker_dagster.local.ports import is_free
from issuetracker_dagster.local.report import Phase, Report, Step
from issuetracker_dagster.settings.kinds import host_and_port, is_loopback


def start_exporter(
    home: Path, environment: Mapping[str, str], addr: str, report: Report
) -> tuple[children.Identity, ...]:
    """Start `issuetracker metrics` on `addr`, with variables that name the servers. It logs to
    `<home>/logs/metrics.log`.

    Returns nothing, and the report says why, when there is no address, when it is taken, or when others reach it: then
    nobody has said that this is meant. It belongs to the family of this home and ends with it.
    """
    if not addr:
        return ()
    host, port = host_and_port(addr)
    if not is_loopback(host):
        said = f"METRICS_ADDR {addr} is reached from outside; `issuetracker metrics --exposed` serves there"
        _tell(report, "warning", said)
        return ()
    if not is_free(port):
        said = f"port {port} is taken, so there are none here; METRICS_ADDR names another address, or off"
        _tell(report, "warning", said)
        return ()
    argv = [sys.executable, "-m", "issuetracker_dagster.cli.main", "metrics", "--addr", addr]
    env = {**os.environ, **environment, children.FAMILY_MARK: str(home)}
    child = children.spawn(argv, log=home / "logs" / "metrics.log", cwd=Path.cwd(), env=env)
    _tell(report, "note", f"http://{addr}/metrics")
    return (child,)


def _tell(report: Report, phase: Phase, text: str) -> None:
    report(Step("metrics", phase, text))
