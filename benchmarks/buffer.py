"""The buffer before Kafka against bare lists.

On a Valkey of its own with its append-only file on (fsync every second), since a push waits for its confirmation and a
bare LPUSH doesn't. Each figure takes turns with its limit.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Result, Say, against
from benchmarks.stopwatch import Stopwatch
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


def measure(say: Say) -> Result:
    """Push beside LPUSH, take with done beside RPOP, and what one confirmation takes."""
    with tempfile.TemporaryDirectory() as folder:
        (port,) = choose_ports(1)
        server = valkey.start(Path(folder) / "valkey", port, log=Path(folder) / "valkey.log")
        try:
            client = connect(f"redis://{LOOPBACK}:{port}/0")
            rounds = []
            for number in range(ROUNDS):
                say(f"round {number + 1} of {ROUNDS}: {JOBS:,} jobs of {len(_job(0))} bytes by {BATCH}")
                rounds.append(_round(client, number))
            confirmation_ms = _confirmation_ms(client)
        finally:
            children.stop(server, grace_s=10)
    lpush, push, unconfirmed, pop, drain = zip(*rounds, strict=True)
    return Result(
        figures=(
            against("push, confirmed on disk, of LPUSH", "jobs/s", push, lpush, PUSH_TARGET),
            against("push, not confirmed, of LPUSH", "jobs/s", unconfirmed, lpush),
            against("take + done, of RPOP", "jobs/s", drain, pop),
            Figure(name="one confirmation, there and back", value=confirmation_ms, unit="ms", at_most=True),
        )
    )


def _round(client: RedisClient, number: int) -> tuple[float, ...]:
    """Jobs a second: bare LPUSH, push, push without its confirmation, bare RPOP, take + done."""
    command(client, "FLUSHALL")
    jobs = [_job(one) for one in range(JOBS)]
    batches = [jobs[first : first + BATCH] for first in range(0, JOBS, BATCH)]
    buffer = RedisBuffer(client, "bench:buffer", max_len=0)
    watches = raw_push, push, unconfirmed, raw_pop, drain = [Stopwatch() for _ in range(5)]
    for first in range(0, len(batches), TURN):
        turn = batches[first : first + TURN]
        with raw_push:
            for batch in turn:
                _lpush(client, batch)
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


def _lpush(client: RedisClient, batch: list[bytes]) -> None:
    """One LPUSH a job, in one pipeline of redis-py."""
    pipeline: Any = client.pipeline(transaction=False)
    for one in batch:
        pipeline.lpush("bench:raw", one)
    pipeline.execute()


def _confirmation_ms(client: RedisClient) -> float:
    """The median time of one confirmation on a server that has nothing else to do."""
    times = []
    for _ in range(CONFIRMATIONS):
        began = time.perf_counter()
        wait_durable(client, "bench:fence")
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def _job(number: int) -> bytes:
    """An entry as publishers make it, of about 600 bytes."""
    headers = (("root_id", b"%024d" % number), ("priority", b"2"), ("trace_id", b"t" * 24), ("timeout_ms", b"30000"))
    return encode_buffered(
        BufferedJob(1_750_000_000_000, Outgoing("crawl.normal", b"news.example.com", VALUE, headers))
    )
