"""One run of one benchmark, in a process of its own: `python -m benchmarks.once NAME FILE` writes what it found."""

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.figures import Result, Say


def main() -> int:
    """Measure and write the result, encoded, into the file."""
    name, file = sys.argv[1:]
    measure: Callable[[Say], Result] = importlib.import_module(f"benchmarks.{name}").measure
    Path(file).write_bytes(msgspec.json.encode(measure(_progress(name))))
    return 0


def _progress(name: str) -> Say:
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"  {name} {time.monotonic() - began:4.0f} s  {text}", file=sys.stderr, flush=True)

    return say


if __name__ == "__main__":
    sys.exit(main())
