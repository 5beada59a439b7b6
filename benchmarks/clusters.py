"""Clusters of a stream whose events are known: how well they are found, by how many workers, and what a content costs.

    python -m benchmarks.clusters [--contents 2000] [--seed 1 2 3] [--order late] [--workers 2]

prints a line for each stream and order; `python -m benchmarks clusters --check` holds all of it against its targets.
Clusters depend on extraction and placing only, so that these are what finds them, over the stores in memory. Several
workers, and whatever is told of costs, do all of enrich on an SQLite file.
"""

import argparse
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Curve, Figure, Result, Say
from tests.migrated import sqlite_at
from tests.stages.bcubed import bcubed
from tests.stages.event_stream import event_stream
from tests.stages.newsroom import ORDERS, Desk, Order, arrivals, clustered, groups, replayed, split

CONTENTS = 2_000
SEEDS = (1, 2, 3, 7)
"""What counts how much was tried on the first three (and on 4 to 6), and nothing on the last."""
LENGTHS = (1_000, 2_000, 4_000)
F1_MIN = 0.90
COST_MS = 15.0
GROWTH = 1.0


def measure(say: Say) -> Result:
    """B-cubed by seed and order, events that two workers split, and the cost of a content by the stream's length."""
    found = [_found(say, seed, order) for seed in SEEDS for order in ORDERS]
    say(f"two workers on {CONTENTS:,} contents")
    halves = _split_by_two()
    points = []
    for count in LENGTHS:
        say(f"{count:,} contents by one worker on SQLite")
        points.append((float(count), _cost_ms(count)))
    curve = Curve(name="enriching a content", things="contents of the stream", unit="ms", points=tuple(points))
    costs = (
        Figure(
            name=f"a content of {CONTENTS:,}", value=dict(points)[CONTENTS], unit="ms", target=COST_MS, at_most=True
        ),
        Figure(
            name=f"{curve.name}: its rise, of that of log n", value=curve.growth, unit="", target=GROWTH, at_most=True
        ),
    )
    return Result(figures=(*found, halves, *costs), curves=(curve,))


def _found(say: Say, seed: int, order: Order) -> Figure:
    say(f"seed {seed}, {CONTENTS:,} contents {order}")
    room = clustered(arrivals(event_stream(CONTENTS, seed), order))
    value = bcubed(room.known, room.found()).f1
    return Figure(name=f"B-cubed F1, seed {seed}, {order}", value=value, unit="", target=F1_MIN)


def _split_by_two() -> Figure:
    with TemporaryDirectory() as folder:
        desk = _desk(folder, workers=2)
        desk.room.arrive(arrivals(event_stream(CONTENTS), "shuffled"), *desk.workers)
        events = split(desk.room.known, desk.room.found(), replayed(desk))
        desk.close()
    return Figure(name="events that two workers split", value=float(len(events)), unit="", target=0.0, at_most=True)


def _cost_ms(count: int) -> float:
    """Processor time of a content, all of enrich, its threads' and SQLite's included."""
    with TemporaryDirectory() as folder:
        desk = _desk(folder, workers=1)
        coming = arrivals(event_stream(count), "in order")
        began_s = time.process_time()
        desk.room.arrive(coming, *desk.workers)
        spent_s = time.process_time() - began_s
        desk.close()
    return spent_s / count * 1000


def _desk(folder: str, workers: int) -> Desk:
    return Desk(sqlite_at(Path(folder) / "stream.db"), workers)


def main() -> None:
    """Print a line for each length, seed and order."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=__doc__)
    parser.add_argument("--contents", type=int, nargs="+", default=[CONTENTS])
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--order", choices=ORDERS, nargs="+", default=ORDERS)
    parser.add_argument("--workers", type=int, help="so many at once, all of enrich on one SQLite file")
    options = parser.parse_args()
    for count, seed, order in product(options.contents, options.seed, options.order):
        line = _by_workers(count, seed, order, options.workers) if options.workers else _line(count, seed, order)
        print(f"{count} seed {seed} {order:9} {line}", flush=True)


def _line(count: int, seed: int, order: Order) -> str:
    room = clustered(arrivals(event_stream(count, seed), order))
    found = room.found()
    return f"{bcubed(room.known, found)}, {len(set(found.values()))} issues for {len(set(room.known.values()))} events"


def _by_workers(count: int, seed: int, order: Order, workers: int) -> str:
    coming = arrivals(event_stream(count, seed), order)
    with TemporaryDirectory() as folder:
        desk = _desk(folder, workers)
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        desk.room.arrive(coming, *desk.workers)
        took_s, spent_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
        found = desk.room.found()
        line = f"{bcubed(desk.room.known, found)}, {took_s:.1f} s, {spent_s / count * 1000:.1f} ms of a core a content"
        if order == "shuffled":
            by_one = replayed(desk)
            events = split(desk.room.known, found, by_one)
            same = "the same" if groups(found) == groups(by_one) else "not the same"
            line += f", {len(events)} events split, {same} issues as by one worker"
        desk.close()
    return line


if __name__ == "__main__":
    main()
