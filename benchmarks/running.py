"""Runs benchmarks one after the other, each run in a process of its own, so that none inherits another's heap."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.figures import Result


def results_of(name: str, runs: int) -> Sequence[Result]:
    """What so many runs found; a run that fails has said why, and is left out."""
    found = (_result_of(name) for _ in range(runs))
    return [result for result in found if result is not None]


def _result_of(name: str) -> Result | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        done = subprocess.run([sys.executable, "-m", "benchmarks.once", name, str(file)], check=False)
        return msgspec.json.decode(file.read_bytes(), type=Result) if done.returncode == 0 else None
