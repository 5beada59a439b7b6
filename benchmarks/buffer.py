"""The buffer before Kafka against bare lists: `python -m benchmarks.buffer [--check]`.

Starts a Valkey of its own with its append-only file on (fsync every second), since a push waits for its confirmation
and a bare LPUSH doesn't. Each figure takes turns with its limit, and medians of the ratios are printed. With `--check`
it exits with 1 when the target is missed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.queue import Stopwatch, line
from issuetracker_dagster.adapters.redis.buffer import RedisBuffer
from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect, wait_durable
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.local import children, valkey
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.message import Outgoing

JOBS, BATCH, TURN, ROUNDS, CONFIRMATIONS = 20_000, 100, 10, 5, 50
PUSH_TARGET = 0.35
VALUE = b'{"v":1,"url":"https://news.example.com/2025/06/15/' + b"x" * 400 + b'"}'


def main() -> int:
    """Measure, print, and say whether the target was met (0) or not (1, with `--check` only)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when the target is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (port,) = choose_ports(1)
        server = valkey.start(Path(folder) / "valkey", port, log=Path(folder) / "valkey.log")
        try:
            met = run(connect(f"redis://{LOOPBACK}:{port}/0"))
        finally:
            children.stop(server, grace_s=10)
    return 1 if options.check and not met else 0


def run(client: RedisClient) -> bool:
    """All figures on one server; True when the target was met."""
    print(
        f"{JOBS:,} jobs of {len(job(0))} bytes by {BATCH}, {ROUNDS} rounds, append-only file with fsync every second\n"
    )
    rounds = [one_round(client, number) for number in range(ROUNDS)]
    lpush, push, unconfirmed, pop, drain = zip(*rounds, strict=True)
    print(f"{'':34}{'jobs/s':>12}{'of its limit':>14}{'target':>9}")
    met = [
        line("bare pipelined LPUSH", lpush, lpush, None, width=34),
        line("push, confirmed on disk", push, lpush, PUSH_TARGET, width=34),
        line("push, not confirmed", unconfirmed, lpush, None, width=34),
        line("bare RPOP of 100", pop, pop, None, width=34),
        line("take + done", drain, pop, None, width=34),
    ]
    print(f"\none confirmation, there and back: {confirmation_ms(client):.1f} ms (median)")
    return all(met)


def one_round(client: RedisClient, number: int) -> tuple[float, ...]:
    """Jobs a second: bare LPUSH, push, push without its confirmation, bare RPOP, take + done."""
    command(client, "FLUSHALL")
    jobs = [job(one) for one in range(JOBS)]
    batches = [jobs[first : first + BATCH] for first in range(0, JOBS, BATCH)]
    buffer = RedisBuffer(client, "bench:buffer", max_len=0)
    watches = raw_push, push, unconfirmed, raw_pop, drain = [Stopwatch() for _ in range(5)]
    for first in range(0, len(batches), TURN):
        turn = batches[first : first + TURN]
        with raw_push:
            for batch in turn:
                lpush(client, batch)
        with push:
            for batch in turn:
                buffer.push(batch)
        with unconfirmed:
            for place, batch in enumerate(turn, first):
                keys = ["bench:other", "{bench:other}:outbox", "{bench:other}:pushes"]
                script("buffer_push").run(client, keys, ["0", f"{number}-{place}", *batch])
    for _ in range(0, len(batches), TURN):
        with raw_pop:
            for _ in range(TURN):
                assert len(command(client, "RPOP", "bench:raw", str(BATCH))) == BATCH
        with drain:
            for _ in range(TURN):
                assert len(buffer.take(1, BATCH)) == BATCH
                buffer.done(1)
    assert buffer.state().backlog == 0
    return tuple(JOBS / watch.seconds for watch in watches)


def lpush(client: RedisClient, batch: list[bytes]) -> None:
    """One LPUSH a job, in one pipeline of redis-py."""
    pipeline: Any = client.pipeline(transaction=False)
    for one in batch:
        pipeline.lpush("bench:raw", one)
    pipeline.execute()


def confirmation_ms(client: RedisClient) -> float:
    """The median time of one confirmation on a server that has nothing else to do."""
    times = []
    for _ in range(CONFIRMATIONS):
        began = time.perf_counter()
        wait_durable(client, "bench:fence")
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def job(number: int) -> bytes:
    """An entry as publishers make it, of about 600 bytes."""
    headers = (("root_id", b"%024d" % number), ("priority", b"2"), ("trace_id", b"t" * 24), ("timeout_ms", b"30000"))
    return encode_buffered(
        BufferedJob(1_750_000_000_000, Outgoing("crawl.normal", b"news.example.com", VALUE, headers))
    )


if __name__ == "__main__":
    sys.exit(main())
