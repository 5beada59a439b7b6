"""Processes that pass for those of a home's Dagster: commands look at the variables that they were started with."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from issuetracker_dagster.local import children
from tests.waiting import eventually

CODE_SERVER = ("dagster", "api", "grpc")


@contextmanager
def member(home: Path, *words: str, **variables: str) -> Iterator[None]:
    """A process of the Dagster of this home, with these words in its command line."""
    log = home / f"{'-'.join(words)}.log"
    argv = [sys.executable, "-c", "import time; print('in', flush=True); time.sleep(600)", *words]
    found = children.spawn(argv, log=log, cwd=home, env={**variables, children.FAMILY_MARK: str(home)})
    try:
        eventually(lambda: log.exists() and "in" in log.read_text(), timeout_s=60)
        yield
    finally:
        children.stop(found, grace_s=5)
