"""Small questions that the checks ask: whether the server takes writes, and when the frontier's first host was due."""

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.frontier import AGENDA

WRITTEN = "probe:written"
_LASTS_S = "60"


def try_write(client: RedisClient) -> None:
    """Write something of no use; raises `Unavailable` when the server is out, full, or a replica that only reads."""
    with redis_errors("try a write"):
        command(client, "SET", WRITTEN, "1", "EX", _LASTS_S)


def first_due_ms(client: RedisClient) -> int | None:
    """When the host that comes next is or was due, by Redis' clock; None when the agenda is empty. Raises
    `Unavailable`."""
    with redis_errors("read the agenda of hosts"):
        found = command(client, "ZRANGE", AGENDA, "0", "0", "WITHSCORES")
    return int(float(found[1])) if found else None
