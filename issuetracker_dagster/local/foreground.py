"""What `issuetracker dev`, `up` and `down` do: `dagster dev` in the foreground on services that are there or started.

Whatever ends them, nothing is left running that wasn't asked to stay.
"""

import os
from collections.abc import Callable
from pathlib import Path

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import state
from issuetracker_dagster.local.alone import alone, sign
from issuetracker_dagster.local.clearing import Clearing
from issuetracker_dagster.local.dagster_dev import DagsterDev
from issuetracker_dagster.local.endpoints import Endpoints
from issuetracker_dagster.local.pipeline import Prepared, Ui, dagster_environment
from issuetracker_dagster.local.ports import choose_ports, is_free
from issuetracker_dagster.local.report import Report, silent
from issuetracker_dagster.local.services import LocalServices
from issuetracker_dagster.local.signals import interrupts

UI_PORT = 3000

Prepare = Callable[[Endpoints], Prepared]


def dev(
    services: LocalServices,
    *,
    prepare: Prepare = lambda _: Prepared(),
    host: str = "127.0.0.1",
    port: int | None = None,
    verbose: bool = False,
    command: str = "dev",
    report: Report = silent,
) -> int:
    """Start what is missing, call `prepare` (migrations, topics, seeds), run `dagster dev`, stop what was started.

    `prepare` gets the endpoints. `command` is what others are told of the one that runs here. Returns the exit code:
    0 after Ctrl-C, SIGTERM or a closed terminal, else Dagster's own when it ended too often to be started again.
    Services that `up` started stay.
    Raises ConfigError when another one runs on this home or the port is taken, StartFailed when a service doesn't
    start.
    """
    with interrupts() as received, alone(services.home, report, command):
        try:
            ui = Ui(host, choose_ui_port(services.home, port), verbose)
            clearing = Clearing(services.home)
            endpoints = services.start(report)
            env = {**os.environ, **dagster_environment(endpoints, services.home)}
            return DagsterDev(services.home, ui, env, prepare(endpoints), report).run(received, clearing)
        except KeyboardInterrupt:
            return 0
        finally:
            with received.held():
                services.release(report)


def up(services: LocalServices, report: Report = silent) -> Endpoints:
    """Start or join every service of a home and leave them running. What is half started when interrupted is stopped.

    Raises ConfigError, StartFailed; KeyboardInterrupt after Ctrl-C, SIGTERM or a closed terminal.
    """
    with interrupts():
        # Beside a running dev it only brings back what died: that dev still stops everything at its end.
        with state.locked(services.home, "dev") as nobody_else:
            keep = nobody_else is not None
            if nobody_else is not None:
                sign(nobody_else, "up")
        return services.start(report, keep=keep)


def down(services: LocalServices, report: Report = silent) -> tuple[str, ...]:
    """Stop every service of a home, and what a killed `dev` left running; returns the names of the services that ran.

    Raises ConfigError while a `dev` or `demo` runs there, which would lose its servers under its feet.
    """
    with alone(services.home, report, "down"):
        return services.stop(report)


def choose_ui_port(home: Path, wanted: int | None) -> int:
    """The port of the web UI: the wanted one, else the one of last time, else 3000, else any free one.

    Raises ConfigError when a wanted port is taken.
    """
    if wanted is not None:
        if not is_free(wanted):
            raise ConfigError(f"Port {wanted} is taken by another program. Choose another one with --port.")
        return wanted
    with state.changing(home):
        known = state.read(home)
        (port,) = choose_ports(1, known.ports.get("ui", (UI_PORT,)))
        state.write(home, known.remembering("ui", port))
    return port
