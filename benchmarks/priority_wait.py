"""How long a message of high priority waits in a stage queue while every slot is busy with low ones.

Run as `python -m benchmarks.priority_wait [--check]`. An embedded Valkey with its append-only file on, one crew of 6
slots, handlers of 20 ms, low messages that never run out, and a high message every 50 ms or so. The wait goes from the
call of push to the start of the handler, so the push's own round trip is part of it.
"""

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.readers import MemoryProducer
from issuetracker_dagster.adapters.memory.starts import MemoryStarts
from issuetracker_dagster.adapters.memory.topics import MemoryBroker
from issuetracker_dagster.adapters.redis.client import connect
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.settle import Done, Settlement
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import Delivery, QueueSource
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.local import children, valkey
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, encode_envelope
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, QueueLimits
from issuetracker_dagster.model.stage import Stage, Topic

SLOTS = 6
HANDLER_S = 0.020
HIGHS = 400
SPREAD_S = 0.05
MARGIN_S = 0.005


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 when p99 is over one handler + 5 ms")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (port,) = choose_ports(1, ())
        server = valkey.start(Path(folder) / "valkey", port, log=Path(folder) / "valkey.log")
        try:
            waits, handled, took_s = measure(f"redis://{LOOPBACK}:{port}/0")
        finally:
            children.stop(server, grace_s=10)
    return report(waits, handled, took_s, check=options.check)


def measure(url: str) -> tuple[list[float], int, float]:
    """The waits of the high messages in seconds, how many messages were handled, and in how many seconds."""
    queue = PriorityZSetQueue(connect(url), "parser:zset:queue", QueueLimits())
    queue.open()
    low = int(HIGHS * SPREAD_S * 2 * SLOTS / HANDLER_S)
    for first in range(0, low, 500):
        queue.push([entry(f"low{number}", Priority.LOW) for number in range(first, min(first + 500, low))])
    pushed: dict[str, float] = {}
    waits: list[float] = []
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
        pushed[f"high{number}"] = time.monotonic()
        queue.push([entry(f"high{number}", Priority.HIGH)])
    took_s = time.monotonic() - began
    done = handled
    crew.finish(5)
    return waits, done, took_s


class _Doing:
    """The work of a crew made of a function."""

    def __init__(self, run: Callable[[Delivery], Settlement]) -> None:
        self.run = run

    def fail(self, delivery: Delivery, error: IssueTrackerError) -> Settlement:
        raise AssertionError(f"{delivery.message.identity}: {error}")


def entry(root_id: str, priority: Priority) -> QueueEntry:
    """A queue entry with an envelope of about 600 bytes."""
    message = Message(Headers(root_id=root_id, priority=priority, trace_id="t" * 24), None, b"x" * 450)
    return QueueEntry(message.identity, priority, 0, encode_envelope(message))


def report(waits: list[float], handled: int, took_s: float, *, check: bool) -> int:
    """Print the figures; 1 when they are checked and too high."""
    centiles = statistics.quantiles(waits, n=100)
    ideal = took_s * SLOTS / HANDLER_S
    limit_s = HANDLER_S + MARGIN_S
    print(f"{len(waits)} high messages while {SLOTS} slots work on low ones of {HANDLER_S * 1000:.0f} ms each")
    print(f"wait in the queue: p50 {centiles[49] * 1000:.1f} ms, p95 {centiles[94] * 1000:.1f} ms, ", end="")
    print(
        f"p99 {centiles[98] * 1000:.1f} ms, longest {max(waits) * 1000:.1f} ms; target p99 <= {limit_s * 1000:.0f} ms"
    )
    print(f"throughput: {handled / took_s:.0f} messages/s, {handled / ideal:.2f} of slots / handler time")
    return 1 if check and centiles[98] > limit_s else 0


if __name__ == "__main__":
    sys.exit(main())
