"""What a home folder remembers between commands: who runs, on which ports, who may start now, which seeds rest."""

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO

import psutil

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local.children import Identity

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Service:
    """A service that was started. `kind` tells the brokers apart; `kept`: `up` asked for it, not only `dev`."""

    name: str
    kind: str
    identity: Identity
    ports: tuple[int, ...]
    log: str
    kept: bool = False

    @property
    def port(self) -> int:
        """The port that clients use."""
        return self.ports[0]


@dataclass(frozen=True)
class State:
    """Services by name, the ports that each one had last, and URLs of seeds that `dev` switched off for the demo."""

    services: dict[str, Service] = field(default_factory=dict)
    ports: dict[str, tuple[int, ...]] = field(default_factory=dict)
    resting_seeds: tuple[str, ...] = ()

    def having(self, service: Service) -> "State":
        """This state with one more, or another, service of that name."""
        services = self.services | {service.name: service}
        return replace(self, services=services, ports=self.ports | {service.name: service.ports})

    def without(self, name: str) -> "State":
        """This state without a service of that name; its ports stay remembered."""
        return replace(self, services={key: one for key, one in self.services.items() if key != name})

    def remembering(self, name: str, *ports: int) -> "State":
        """This state with these ports to prefer next time."""
        return replace(self, ports=self.ports | {name: ports})


def read(home: Path) -> State:
    """The state of a home; an empty one when there is none yet. An unreadable file counts as none, loudly."""
    file = _file(home)
    try:
        raw = json.loads(file.read_text())
        services = {
            name: Service(
                name=name,
                kind=str(one["kind"]),
                identity=Identity(int(one["identity"]["pid"]), float(one["identity"]["created_s"])),
                ports=tuple(int(port) for port in one["ports"]),
                log=str(one["log"]),
                kept=bool(one["kept"]),
            )
            for name, one in raw["services"].items()
        }
        ports = {name: tuple(int(port) for port in ports) for name, ports in raw["ports"].items()}
        return State(services, ports, tuple(str(url) for url in raw.get("resting_seeds", ())))
    except FileNotFoundError:
        return State()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Services that still run are found again by the locks they hold, so a lost file costs the ports only.
        logger.warning("The state file %s can't be read and is started anew.", file, exc_info=True)
        return State()


def write(home: Path, state: State) -> None:
    """Replace the state file at once, so that a reader or a crash never meets half of it."""
    file = _file(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(asdict(state), indent=2) + "\n")
    fresh.replace(file)


@contextlib.contextmanager
def locked(home: Path, name: str) -> Iterator[IO[str] | None]:
    """Take the lock of this name without waiting: yields its open file, or None when another process holds it.

    The lock ends with the processes that hold the file open, however they end; there is no stale one.
    """
    with _lock_file(home, name).open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield handle


@contextlib.contextmanager
def changing(home: Path) -> Iterator[None]:
    """One command at a time starts or stops the services of a home; a second one waits here."""
    with _lock_file(home, "services").open("a+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def holder(home: Path, name: str) -> Identity | None:
    """The process that holds the lock of this name by having its file open, this one excepted."""
    wanted = str(_lock_file(home, name).resolve())
    for found in psutil.process_iter():
        if found.pid == os.getpid():
            continue
        with contextlib.suppress(psutil.Error, OSError):
            if any(one.path == wanted for one in found.open_files()):
                return Identity.of(found.pid)
    return None


def signed(home: Path, name: str) -> str:
    """What the holder of the lock of this name wrote into it; empty when it wrote nothing."""
    try:
        return _lock_file(home, name).read_text().strip()
    except OSError:
        return ""


def _file(home: Path) -> Path:
    return home / "run" / "services.json"


def _lock_file(home: Path, name: str) -> Path:
    folder = home / "run"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"ISSUETRACKER_HOME={home} can't be used as a folder: {error}") from error
    return folder / f"{name}.lock"
