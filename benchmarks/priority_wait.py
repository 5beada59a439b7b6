"""How long a message of high priority waits in a stage queue while every slot is busy with low ones.

An embedded Valkey with its append-only file on, a million low messages, one crew of 6 slots, handlers of 20 ms, and a
high message every 50 ms or so. The wait goes from the call of push to the start of the handler, so the push's own round
trip is part of it. The crew's throughput is held against a loop without any regard for priorities: as many threads that
take 100 messages at once and handle them one after the other.
"""

import random
import secrets
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.entries import message_entry
from benchmarks.figures import Figure, Result, Say, against, centile
from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.readers import MemoryProducer
from issuetracker_dagster.adapters.memory.starts import MemoryStarts
from issuetracker_dagster.adapters.memory.topics import MemoryBroker
from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.settle import Done, Settlement
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import Delivery, QueueSource
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.local import children, valkey
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Lease, QueueLimits
from issuetracker_dagster.model.stage import Stage, Topic
from tests.waiting import eventually

LOW, PUSH = 1_000_000, 500
SLOTS, HANDLER_S = 6, 0.020
TURNS, HIGHS, SPREAD_S = 4, 150, 0.05
BATCH, BATCH_S, LEASE_MS = 100, 5.0, 60_000
WAIT_TARGET_MS = 1000 * HANDLER_S + 5
THROUGHPUT_TARGET = 0.95


def measure(say: Say) -> Result:
    """Waits of high messages, and the throughput meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        (port,) = choose_ports(1, ())
        server = valkey.start(Path(folder) / "valkey", port, log=Path(folder) / "valkey.log")
        try:
            client = connect(f"redis://{LOOPBACK}:{port}/0")
            queue = PriorityZSetQueue(client, "parser:zset:queue", QueueLimits(max_size=2 * LOW))
            queue.open()
            for first in range(0, LOW, PUSH):
                if first % (LOW // 5) == 0:
                    say(f"{first:,} of {LOW:,} low messages are queued")
                queue.push([message_entry(f"low{number}", Priority.LOW) for number in range(first, first + PUSH)])
            say("waiting until the server has rewritten its append-only file, as it does while that doubles")
            eventually(lambda: not _is_rewriting(client), timeout_s=120, interval_s=0.2)
            return _measured(queue, say)
        finally:
            children.stop(server, grace_s=10)


def _is_rewriting(client: RedisClient) -> bool:
    told = command(client, "INFO", "persistence")
    return bool(told["aof_rewrite_in_progress"] or told["aof_rewrite_scheduled"])


def _measured(queue: PriorityZSetQueue, say: Say) -> Result:
    waits: list[float] = []
    speeds, batch_speeds = [], []
    for turn in range(TURNS):
        say(f"turn {turn + 1} of {TURNS}: {SLOTS} threads by batches of {BATCH}, then a crew and {HIGHS} high messages")
        batch_speeds.append(_by_batches(queue))
        speeds.append(_by_priority(queue, turn, waits))
    return Result(
        figures=(
            Figure(
                name="high message's wait, p99",
                value=1000 * centile(waits, 99),
                unit="ms",
                target=WAIT_TARGET_MS,
                at_most=True,
            ),
            Figure(name="high message's wait, median", value=1000 * statistics.median(waits), unit="ms", at_most=True),
            against("throughput, of batch mode", "msg/s", speeds, batch_speeds, THROUGHPUT_TARGET),
            Figure(
                name="throughput, of slots / handler time", value=statistics.median(speeds) * HANDLER_S / SLOTS, unit=""
            ),
        )
    )


def _by_batches(queue: PriorityZSetQueue) -> float:
    """Messages a second of threads that claim many at once and look at the queue again when all are handled."""
    ended = threading.Event()
    handled = [0] * SLOTS

    def work(slot: int) -> None:
        held: tuple[Lease, ...] = ()
        while not ended.is_set():
            held = queue.claim(secrets.token_hex(8), BATCH, LEASE_MS, held).leases
            for place in range(len(held)):
                time.sleep(HANDLER_S)
                handled[slot] += 1
                if ended.is_set():
                    queue.release(held[place + 1 :])
                    held = held[: place + 1]
                    break
        queue.ack(held)

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(SLOTS)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    time.sleep(BATCH_S)
    done, took_s = sum(handled), time.monotonic() - began
    ended.set()
    for thread in threads:
        thread.join()
    return done / took_s


def _by_priority(queue: PriorityZSetQueue, turn: int, waits: list[float]) -> float:
    """Messages a second of a crew of the pipeline; the waits of the high ones are added, in seconds."""
    pushed: dict[str, float] = {}
    handled = 0
    lock = threading.Lock()

    def work(delivery: Delivery) -> Done:
        nonlocal handled
        began = time.monotonic()
        with lock:
            handled += 1
            if delivery.message.headers.priority is Priority.HIGH:
                waits.append(began - pushed[delivery.message.headers.root_id])
        time.sleep(HANDLER_S)
        return Done(succeeded=True, kind="forwarded")

    clock = SystemClock()
    nowhere = MemoryProducer(MemoryBroker({topic.value: 1 for topic in Topic}, clock))
    source = QueueSource(Stage.PARSER, queue, nowhere, clock, alone=StartCounts(MemoryStarts(), in_company=0))
    crew = Crew(_Doing(work), [Pool(source, SLOTS)], clock)
    crew.start()
    began = time.monotonic()
    for number in range(HIGHS):
        time.sleep(random.uniform(0, 2 * SPREAD_S))
        name = f"high{turn}-{number}"
        pushed[name] = time.monotonic()
        queue.push([message_entry(name, Priority.HIGH)])
    done, took_s = handled, time.monotonic() - began
    crew.finish(5)
    return done / took_s


class _Doing:
    """The work of a crew made of a function."""

    def __init__(self, run: Callable[[Delivery], Settlement]) -> None:
        self.run = run

    def fail(self, delivery: Delivery, error: IssueTrackerError) -> Settlement:
        raise AssertionError(f"{delivery.message.identity}: {error}")
