"""The crash matrix: every arrow by every signal. Run as `python -m tests.crash.matrix > docs/crash-matrix.md`.

Arguments are words that the title of an arrow must contain; then no page is written, only what came of each cell.
"""

import queue
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests import services
from tests.crash.arrows import MATRIX, Arrow, Blow
from tests.crash.cells import Bench
from tests.crash.results import Result, Servers
from tests.crash.table import page

LANES = 4
"""Cells at once, each in a Redis database of its own: most of their time they wait for leases and locks to run out."""


def run(
    servers: Servers, cells: Sequence[tuple[Arrow, Blow]], told: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """Those cells, in their order. Uses the Redis databases 1 to 4."""
    bench = Bench(servers)
    databases: queue.Queue[int] = queue.Queue()
    for number in range(LANES):
        databases.put(number + 1)

    def cell(asked: tuple[Arrow, Blow]) -> Result:
        database = databases.get()
        try:
            result = bench.run(*asked, database)
        finally:
            databases.put(database)
        told(result)
        return result

    with ThreadPoolExecutor(LANES) as threads:
        return list(threads.map(cell, cells))


def main(words: Sequence[str]) -> int:
    """Run and print; the exit code tells whether every cell is as it must be."""
    cells = [(arrow, blow) for arrow, blow in MATRIX if all(word in arrow.title for word in words)]
    with tempfile.TemporaryDirectory(prefix="issuetracker-crash-") as made:
        folder = Path(made)
        with services.running_valkey(folder / "valkey") as redis, services.running_kafka(folder / "kafka") as kafka:
            results = run(Servers(kafka, redis, folder), cells, _tell)
    if not words:
        print(page(results), end="")
    return 0 if all(result.is_fine for result in results) else 1


def _tell(result: Result) -> None:
    words = "fine" if result.is_fine else f"NOT FINE: {result.lost=} {result.strangers=} {result.amiss=}"
    title = f"{result.arrow.title}, {result.blow.value}"
    print(f"{result.seconds:5.1f} s  {title}: repeated {result.repeated}, {words}", file=sys.stderr, flush=True)
    if result.problem:
        print(result.problem, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
