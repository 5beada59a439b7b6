"""robots.txt of hosts as all workers know it. Keys: `robots:<name>`, a STRING that expires."""

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.ports.hosts import SHARED_ROBOTS_MAX_BYTES


class RedisSharedRobots:
    """`SharedRobots` in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def get(self, name: str) -> bytes | None:
        with redis_errors("read a robots.txt"):
            kept: bytes | None = command(self._client, "GET", f"robots:{name}")
        return kept

    def put(self, name: str, value: bytes, ttl_ms: int) -> None:
        key = f"robots:{name}"
        with redis_errors("keep a robots.txt"):
            if len(value) > SHARED_ROBOTS_MAX_BYTES:
                command(self._client, "DEL", key)
            else:
                command(self._client, "SET", key, value, "PX", str(max(ttl_ms, 1)))
