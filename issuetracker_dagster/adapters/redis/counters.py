"""Counters that all workers share, for metrics and summaries. Key: `metrics:counters`, a HASH."""

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.scripts import script

_KEY = "metrics:counters"


class RedisCounters:
    """`Counters` in Redis. An `add` whose reply was lost is sent again and may count twice."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def add(self, amounts: dict[str, int]) -> None:
        if amounts:
            args = [word for name, amount in amounts.items() for word in (name, str(amount))]
            script("counters_add").run(self._client, [_KEY], args)

    def read(self) -> dict[str, int]:
        with redis_errors("read counters"):
            found: dict[bytes, bytes] = command(self._client, "HGETALL", _KEY)
        return {name.decode(): int(amount) for name, amount in found.items()}
