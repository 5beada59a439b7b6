"""robots.txt of hosts as all workers know it. Keys: `robots:<name>`, a STRING that expires."""

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors


class RedisSharedRobots:
    """`SharedRobots` in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def get(self, name: str) -> bytes | None:
        with redis_errors("read a robots.txt"):
            kept: bytes | None = command(self._client, "GET", f"robots:{name}")
        return kept

    def put(self, name: str, value: bytes, ttl_ms: int) -> None:
        with redis_errors("keep a robots.txt"):
            command(self._client, "SET", f"robots:{name}", value, "PX", str(max(ttl_ms, 1)))
