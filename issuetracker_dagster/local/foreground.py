"""What `issuetracker dev`, `up` and `down` do: `dagster dev` in the foreground on services that are there or started.

Whatever ends them, nothing is left running that wasn't asked to stay.
"""

import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import children, family, state
from issuetracker_dagster.local.endpoints import Endpoints
from issuetracker_dagster.local.ports import choose_ports, is_free
from issuetracker_dagster.local.report import Report, Step, silent
from issuetracker_dagster.local.services import LocalServices
from issuetracker_dagster.local.signals import Interrupts, interrupts

logger = logging.getLogger(__name__)

UI_PORT = 3000
# Longer than SHIFT_DRAIN_TIMEOUT, so that runs finish what they hold.
STOP_GRACE_S = 30.0
_POLL_S = 0.2
_PROJECT = Path(__file__).resolve().parents[2]

Prepare = Callable[[Endpoints], Mapping[str, str]]


def dev(
    services: LocalServices,
    *,
    prepare: Prepare = lambda _: {},
    host: str = "127.0.0.1",
    port: int | None = None,
    report: Report = silent,
) -> int:
    """Start what is missing, call `prepare` (migrations, topics, seeds), run `dagster dev`, stop what was started.

    `prepare` gets the endpoints and returns further environment variables for Dagster. Returns the exit code: 0 after
    Ctrl-C, SIGTERM or a closed terminal, else Dagster's own. Services that `up` started stay.
    Raises ConfigError when another `dev` runs on this home or the port is taken, StartFailed when a service doesn't
    start.
    """
    with interrupts() as received, alone(services.home, report):
        try:
            ui_port = choose_ui_port(services.home, port)
            endpoints = services.start(report)
            extra = prepare(endpoints)
            return _run(endpoints, services.home, host, ui_port, extra, received, report)
        except KeyboardInterrupt:
            return 0
        finally:
            with received.held():
                services.release(report)


@contextmanager
def alone(home: Path, report: Report = silent) -> Iterator[None]:
    """Be the only `dev` of this home for the length of the block.

    What a killed one left running is ended first. Raises ConfigError, naming the pid, when another one lives.
    """
    with state.locked(home, "dev") as handle:
        if handle is None:
            raise ConfigError(_refusal(home))
        left = family.members(home)
        if left:
            report(Step("dagster", "working", f"ending {len(left)} processes that a killed dev left behind"))
            family.end(home, grace_s=STOP_GRACE_S)
        yield


def up(services: LocalServices, report: Report = silent) -> Endpoints:
    """Start or join every service of a home and leave them running. What is half started when interrupted is stopped.

    Raises ConfigError, StartFailed; KeyboardInterrupt after Ctrl-C, SIGTERM or a closed terminal.
    """
    with interrupts():
        # Beside a running dev it only brings back what died: that dev still stops everything at its end.
        with state.locked(services.home, "dev") as nobody_else:
            keep = nobody_else is not None
        return services.start(report, keep=keep)


def down(services: LocalServices, report: Report = silent) -> tuple[str, ...]:
    """Stop every service of a home, and what a killed `dev` left running; returns the names of the services that ran.

    Raises ConfigError while a `dev` runs there, which would lose its servers under its feet.
    """
    with alone(services.home, report):
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


def dagster_home(home: Path) -> Path:
    """The folder of Dagster's own state, with the instance settings of the project as they are now."""
    folder = home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    settings = _PROJECT / "dagster.yaml"
    if settings.exists():
        shutil.copyfile(settings, folder / "dagster.yaml")
    else:
        (folder / "dagster.yaml").touch()
    return folder


def dagster_environment(endpoints: Endpoints, home: Path) -> dict[str, str]:
    """The variables with which `dagster` commands, this one's or a user's own, meet this home."""
    return {
        **endpoints.environment(),
        "ISSUETRACKER_HOME": str(home),
        "DAGSTER_HOME": str(dagster_home(home)),
        # The default is the number of cores + 4: sensors of one stage would wait for those of another.
        "DAGSTER_GRPC_MAX_WORKERS": "24",
        "DAGSTER_CODE_SERVER_MAX_WORKERS": "24",
    }


def _run(
    endpoints: Endpoints,
    home: Path,
    host: str,
    port: int,
    extra: Mapping[str, str],
    received: Interrupts,
    report: Report,
) -> int:
    argv = [sys.executable, "-m", "dagster", "dev", "--host", host, "--port", str(port), *_target()]
    env = {**os.environ, **dagster_environment(endpoints, home), **extra, children.FAMILY_MARK: str(home)}
    with received.held():
        parent = children.spawn(argv, log=None, cwd=Path.cwd(), env=env)
        try:
            report(Step("dagster", "note", f"starting on http://{host}:{port} (pid {parent.pid}); Ctrl-C stops all"))
            while children.is_alive(parent) and not received.count:
                time.sleep(_POLL_S)
            asked = received.count
        finally:
            seen = received.count
            if seen:
                report(Step("dagster", "note", "stopping; once more Ctrl-C kills what still works"))
            else:
                report(Step("dagster", "warning", f"ended by itself with exit code {children.exit_code(parent)}"))
            killed = family.end(home, grace_s=STOP_GRACE_S, hurry=lambda: received.count > seen)
            if killed:
                report(Step("dagster", "warning", f"{killed} processes didn't end in time and were killed"))
            report(Step("dagster", "stopped", "stopped"))
        code = children.exit_code(parent)
    return 0 if asked else code or 1


def _target() -> list[str]:
    if (Path.cwd() / "workspace.yaml").exists():
        return []
    workspace = _PROJECT / "workspace.yaml"
    return ["--workspace", str(workspace)] if workspace.exists() else ["-m", "issuetracker_dagster.definitions"]


def _refusal(home: Path) -> str:
    other = state.holder(home, "dev")
    who = f"pid {other.pid}" if other else "a process that can't be seen from here"
    how = f"stop it with Ctrl-C in its terminal or `kill {other.pid}`" if other else "stop it"
    return (
        f"`issuetracker dev` already runs on {home} ({who}). Use that one, or {how}; for a second one beside it, give "
        "ISSUETRACKER_HOME another folder."
    )
