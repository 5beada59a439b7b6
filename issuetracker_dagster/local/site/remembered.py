"""What the site keeps between runs, so that the same stories stay under the same URLs: ports, start time and seed."""

import json
import logging
import os
import zlib
from pathlib import Path

import msgspec

from issuetracker_dagster.local.ports import choose_ports
from issuetracker_dagster.local.site.hosts import HOSTS

logger = logging.getLogger(__name__)

_LOWEST_PORT = 20_000
_HOMES = 1_000
_PORTS_A_HOME = 10


class Remembered(msgspec.Struct, frozen=True):
    """`epoch_ms` is when the first run began (Unix milliseconds), `ports` are by host key."""

    seed: int
    epoch_ms: int
    ports: dict[str, int]

    def url(self, key: str, path: str = "") -> str:
        """A URL on that host."""
        return f"http://{key}.localhost:{self.ports[key]}{path}"


def settle(home: Path, seed: int, now_ms: int) -> Remembered:
    """What holds for a run that begins now, written to `<home>/run/site.json`.

    Ports are those of last time as long as they are free. Another seed begins anew at `now_ms`, on the same ports.
    """
    known = recall(home)
    preferred = tuple(known.ports.get(host.key, 0) for host in HOSTS) if known else _first_choice(home)
    ports = dict(zip((host.key for host in HOSTS), choose_ports(len(HOSTS), preferred), strict=True))
    epoch_ms = known.epoch_ms if known and known.seed == seed else now_ms
    found = Remembered(seed, epoch_ms, ports)
    if found != known:
        _write(home, found)
    return found


def _first_choice(home: Path) -> tuple[int, ...]:
    """Ports below those that systems hand out to clients, so that they are still free next time; others a home."""
    first = _LOWEST_PORT + zlib.crc32(str(home.resolve()).encode()) % _HOMES * _PORTS_A_HOME
    return tuple(range(first, first + len(HOSTS)))


def recall(home: Path) -> Remembered | None:
    """What the last run of this home wrote; None when there was none."""
    try:
        return msgspec.json.decode(_file(home).read_bytes(), type=Remembered)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError):
        logger.warning("%s can't be read; the demo site begins anew.", _file(home), exc_info=True)
        return None


def _write(home: Path, found: Remembered) -> None:
    file = _file(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(msgspec.to_builtins(found), indent=2) + "\n")
    fresh.replace(file)


def _file(home: Path) -> Path:
    return home / "run" / "site.json"
