"""What a Redis server says of itself, for `issuetracker doctor`."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import redis
from redis.cluster import RedisCluster
from redis.exceptions import ResponseError

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors


class RedisFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One server. Sizes in bytes, `maxmemory` 0 = no limit of its own; `appendfsync` is empty where it isn't told.

    `has_waitaof` says whether it can confirm writes on disk (Valkey, Redis 7.2); `now_ms` is its Unix time.
    """

    kind: str
    version: tuple[int, ...]
    appendonly: bool
    appendfsync: str
    has_waitaof: bool
    maxmemory: int
    maxmemory_policy: str
    used_memory: int
    system_memory: int
    now_ms: int

    @property
    def name(self) -> str:
        return f"{self.kind} {'.'.join(map(str, self.version))}"


def redis_facts(client: RedisClient) -> Sequence[RedisFacts]:
    """The facts of the server, or of every primary of a cluster; raises `Unavailable`."""
    with redis_errors("ask the server about itself"):
        if not isinstance(client, RedisCluster):
            return (_facts(client),)
        cluster: Any = client  # half of its methods have no types
        return tuple(_facts(cluster.get_redis_connection(node)) for node in cluster.get_primaries())


def _facts(client: redis.Redis) -> RedisFacts:
    info: Mapping[str, Any] = command(client, "INFO")
    seconds, micros = command(client, "TIME")
    kind = "Valkey" if info.get("server_name") == "valkey" else "Redis"
    # Valkey also claims the Redis version with which it is compatible.
    version = _version(str(info.get("valkey_version") or info["redis_version"]))
    return RedisFacts(
        kind=kind,
        version=version,
        appendonly=bool(info["aof_enabled"]),
        appendfsync=_config(client, "appendfsync"),
        has_waitaof=kind == "Valkey" or version >= (7, 2),
        maxmemory=int(info["maxmemory"]),
        maxmemory_policy=str(info["maxmemory_policy"]),
        used_memory=int(info["used_memory"]),
        system_memory=int(info.get("total_system_memory", 0)),
        now_ms=int(seconds) * 1000 + int(micros) // 1000,
    )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _config(client: redis.Redis, name: str) -> str:
    try:
        found: Any = command(client, "CONFIG", "GET", name)
    except ResponseError:
        return ""  # hosted servers don't allow the command
    pairs = found if isinstance(found, dict) else dict(zip(found[::2], found[1::2], strict=True))
    value = pairs.get(name, pairs.get(name.encode(), ""))
    return value.decode() if isinstance(value, bytes) else str(value)
