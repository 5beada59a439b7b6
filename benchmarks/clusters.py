"""Clusters of a stream of known events: B-cubed, seconds, and how both go on as the stream grows.

    python -m benchmarks.clusters [--contents 1000 2000 4000] [--seed 1] [--two-workers]

Extraction, clustering, verification and scoring as a worker does them, over the stores in memory; with `--two-workers`
by two workers at once on one SQLite file.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from tests.migrated import sqlite_at
from tests.stages.bcubed import bcubed
from tests.stages.event_stream import START_MS, event_stream
from tests.stages.newsroom import Newsroom, Order, arrivals, enriching

ORDERS: tuple[Order, ...] = ("in order", "late", "shuffled")


def main() -> None:
    """Print a line for each length and order."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=__doc__)
    parser.add_argument("--contents", type=int, nargs="+", default=[1_000, 2_000, 4_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--two-workers", action="store_true")
    options = parser.parse_args()
    for count in options.contents:
        for order in ORDERS:
            with TemporaryDirectory() as folder:
                room, workers = _by_two(folder) if options.two_workers else _by_one()
                print(f"{count} {order:9} {_measured(room, workers, count, order, options.seed)}", flush=True)


def _by_one() -> tuple[Newsroom, list[Callable[[int], object]]]:
    stores, clock = MemoryStores(), FakeClock(START_MS)
    room = Newsroom(stores.contents, stores.issues, clock)
    return room, [enriching(EnrichHandler(stores.contents, stores.issues, clock))]


def _by_two(folder: str) -> tuple[Newsroom, list[Callable[[int], object]]]:
    url, clock = sqlite_at(Path(folder) / "stream.db"), FakeClock(START_MS)
    desks = [SqlStores(connect(url)) for _ in range(2)]
    room = Newsroom(desks[0].contents, desks[0].issues, clock)
    return room, [enriching(EnrichHandler(desk.contents, desk.issues, clock)) for desk in desks]


def _measured(room: Newsroom, workers: list[Callable[[int], object]], count: int, order: Order, seed: int) -> str:
    coming = arrivals(event_stream(count, seed), order)
    started_s, started_cpu_s = time.monotonic(), time.process_time()
    room.arrive(coming, *workers)
    took_s, cpu_s = time.monotonic() - started_s, time.process_time() - started_cpu_s
    found = room.found()
    clusters = f"{len(set(found.values()))} issues for {len(set(room.known.values()))} events"
    cost = f"{took_s:.1f} s, {cpu_s:.1f} s of a core, {cpu_s / count * 1000:.1f} ms a content"
    return f"{bcubed(room.known, found)}, {clusters}, {cost}"


if __name__ == "__main__":
    main()
