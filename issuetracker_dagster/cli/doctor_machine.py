"""Rules of `issuetracker doctor` about this machine: Python, Java, room on the disk, a UI that anybody can open."""

import ipaddress
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local.java import find_java, major_version
from issuetracker_dagster.model.finding import Finding, fail, ok, warn
from issuetracker_dagster.settings.load import Settings

PYTHONS = ((3, 11), (3, 12))
LITTLE_BYTES, SCARCE_BYTES = 5_000_000_000, 500_000_000
_WEB_SERVERS = ("dagster_webserver", "dagster-webserver")


class Listener(NamedTuple):
    """A process of Dagster's web UI, and an address on which it listens."""

    pid: int
    address: str
    port: int


def machine_findings(settings: Settings) -> Iterator[Finding]:
    """What is to say of this machine."""
    yield python_finding(sys.version_info[:2])
    if not settings.kafka.bootstrap_servers:
        yield java_finding(find_java)
    yield disk_finding(settings.home, free_bytes(settings.home))
    yield from ui_findings(list(web_servers()))


def python_finding(version: tuple[int, ...]) -> Finding:
    said = ".".join(map(str, version))
    if version[:2] not in PYTHONS:
        return fail("python", f"this is Python {said}", "install it with Python 3.11 or 3.12")
    return ok("python", f"Python {said}")


def java_finding(find: Callable[[], Path]) -> Finding:
    """Asked only where the embedded Kafka is used."""
    try:
        java = find()
    except ConfigError as error:
        return fail("java", str(error), "install Java 17 or newer, or set KAFKA_BOOTSTRAP_SERVERS")
    return ok("java", f"Java {major_version(java)} for the embedded Kafka ({java})")


def free_bytes(home: Path) -> int:
    """Room on the disk of a folder, which needn't be there yet."""
    return shutil.disk_usage(next(each for each in (home, *home.parents) if each.exists())).free


def disk_finding(home: Path, free: int) -> Finding:
    """Room for the embedded services' data and Dagster's storage."""
    said = f"{free / 1e9:.1f} GB free in {home}"
    fix = "make room, run `issuetracker purge`, or set ISSUETRACKER_HOME to another disk"
    if free < SCARCE_BYTES:
        return fail("disk", f"{said}: Kafka and Redis stop when it is full", fix)
    if free < LITTLE_BYTES:
        return warn("disk", said, fix)
    return ok("disk", said)


def web_servers() -> Iterator[Listener]:
    """The web servers of Dagster on this machine, as far as this user may see them."""
    for one in psutil.process_iter():
        try:
            if not any(name in word for word in one.cmdline() for name in _WEB_SERVERS):
                continue
            for connection in one.net_connections(kind="inet"):
                if connection.status == psutil.CONN_LISTEN:
                    yield Listener(one.pid, connection.laddr.ip, connection.laddr.port)
        except psutil.Error:
            continue  # gone by now, or another user's


def ui_findings(listeners: Sequence[Listener]) -> Iterator[Finding]:
    """The UI has no log-in: whoever reaches it can start and stop everything."""
    open_to_all = [each for each in listeners if not ipaddress.ip_address(each.address).is_loopback]
    for each in open_to_all:
        yield warn(
            "ui.exposed",
            f"Dagster's UI (pid {each.pid}) listens on {each.address}:{each.port}: everybody who reaches this machine "
            "can start and stop everything",
            "bind it to 127.0.0.1 (`--host`), and put a proxy with a log-in before it",
        )
    if not open_to_all:
        where = ", ".join(sorted({f"{each.address}:{each.port}" for each in listeners}))
        yield ok("ui.exposed", f"the UI listens on {where} only" if where else "no UI runs on this machine")
