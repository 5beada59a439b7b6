"""The way to Redis: one client for a URL, with timeouts, bounded retries and errors that name the setting to look at.

Nothing here knows what is stored. Retrying is safe because every script and command of this package may be repeated.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import redis
from redis import exceptions as redis_exceptions
from redis.backoff import ExponentialWithJitterBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from issuetracker_dagster.errors import ConfigError, Full, Unavailable
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

RedisClient = redis.Redis | RedisCluster

CONNECT_TIMEOUT_S = 2.0
SOCKET_TIMEOUT_S = 5.0
"""The longest a reply may take. Blocking commands must ask for less, see `BLOCK_LIMIT_S`."""
BLOCK_LIMIT_S = 0.8 * SOCKET_TIMEOUT_S
RETRIES = 3
FIRST_NUDGE_S, LAST_NUDGE_S = 0.0005, 0.05
HEALTH_CHECK_S = 30

ACCEPTED_URLS = "redis://, rediss://, unix:// or redis+sentinel://host:port,host:port/service/db"

_OUTAGES = (
    redis_exceptions.ConnectionError,  # also authentication, authorisation, loading and exhausted pools
    redis_exceptions.TimeoutError,
    redis_exceptions.ReadOnlyError,
    redis_exceptions.OutOfMemoryError,
    redis_exceptions.ClusterError,
    redis_exceptions.RedisClusterException,
    redis_exceptions.TryAgainError,
    redis_exceptions.MovedError,
    redis_exceptions.NoPermissionError,
)
_OUTAGE_CODES = frozenset(
    {"BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOAUTH", "NOREPLICAS"}
    | {"OOM", "READONLY", "TRYAGAIN", "UNBLOCKED", "WRONGPASS"}
)


def connect(
    url: str,
    *,
    cluster: bool = False,
    max_connections: int = 256,
) -> RedisClient:
    """A client for `url` (the setting REDIS_URL), which threads may share.

    Accepts `redis://`, `rediss://`, `unix://`, and `redis+sentinel://[user:password@]host:port,host:port/service/db`
    (`rediss+sentinel://` with TLS to the data nodes); raises `ConfigError` for any other URL. Connects at the first
    command; a cluster client reads the slots at once, and so raises `Unavailable` when no node answers.
    """
    options: dict[str, Any] = {
        "socket_timeout": SOCKET_TIMEOUT_S,
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_keepalive": True,
        "health_check_interval": HEALTH_CHECK_S,
        "max_connections": max_connections,
        "protocol": 2,
    }
    retry = Retry(ExponentialWithJitterBackoff(base=0.05, cap=1.0), RETRIES)
    scheme = url.partition("://")[0].lower()
    try:
        if cluster and scheme in ("redis", "rediss"):
            with redis_errors("connect"):
                return RedisCluster.from_url(url, retry=retry, **options)
        if scheme in ("redis+sentinel", "rediss+sentinel") and not cluster:
            return _through_sentinel(url, {**options, "retry": retry, "ssl": scheme.startswith("rediss")})
        if scheme in ("redis", "rediss", "unix") and not cluster:
            if scheme == "unix":
                del options["socket_keepalive"]  # which a socket of a file doesn't have
            return redis.Redis.from_url(url, retry=retry, **options)
    except ValueError as error:
        raise ConfigError(f"REDIS_URL can't be read: {error}; accepted: {ACCEPTED_URLS}") from error
    suffix = " (REDIS_CLUSTER=true takes redis:// and rediss:// only)" if cluster else ""
    raise ConfigError(f"REDIS_URL starts with {scheme!r}; accepted: {ACCEPTED_URLS}{suffix}")


def _through_sentinel(url: str, options: dict[str, Any]) -> redis.Redis:
    parts = urlsplit(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    service, _, database = parts.path.strip("/").partition("/")
    if not service:
        raise ConfigError(f"REDIS_URL names no sentinel service; accepted: {ACCEPTED_URLS}")
    sentinels = []
    for text in hosts.split(","):
        host, _, port = text.rpartition(":") if ":" in text else (text, "", "26379")
        sentinels.append((host.strip("[]"), int(port)))
    timeouts = {name: options[name] for name in ("socket_timeout", "socket_connect_timeout")}
    sentinel_class: Any = Sentinel
    sentinel = sentinel_class(sentinels, sentinel_kwargs=timeouts, **options)
    access = {"username": unquote(user) or None, "password": unquote(password) or None}
    client: redis.Redis = sentinel.master_for(service, db=int(database or 0), **access)
    return client


def command(client: RedisClient, *words: str | bytes) -> Any:
    """One command, on the right node of a cluster; its reply as redis-py parses it."""
    send: Callable[..., Any] = client.execute_command
    return send(*words)


@contextmanager
def redis_errors(doing: str) -> Iterator[None]:
    """Turn every outage of Redis inside the block into `Unavailable`, saying what was being done (`doing`). A server
    without room gives `Full`, which is one.

    A server before 7.0 gives `ConfigError`. Errors that mean a mistake of ours (a wrong type, a broken script) pass
    through as they are.
    """
    try:
        yield
    except _OUTAGES as error:
        raise _kind(error)(_in_words(doing, error)) from error
    except redis_exceptions.ResponseError as error:
        if str(error).partition(" ")[0] in _OUTAGE_CODES:
            raise _kind(error)(_in_words(doing, error)) from error
        if "compiling script" in str(error) and "'#'" in str(error):  # it doesn't know `#!lua flags=...`
            raise ConfigError("Redis (REDIS_URL) is too old; accepted: Redis 7.0 or later, or Valkey") from error
        raise


def _kind(error: Exception) -> type[Unavailable]:
    is_full = isinstance(error, redis_exceptions.OutOfMemoryError) or str(error).startswith("OOM")
    return Full if is_full else Unavailable


def _in_words(doing: str, error: Exception) -> str:
    text = str(error)
    if _kind(error) is Full:
        cause = (
            "it is full (maxmemory); what it holds is still worked off, `CONFIG SET maxmemory BYTES` on it (and in its "
            "configuration) makes room at once"
        )
    elif isinstance(error, redis_exceptions.AuthenticationError | redis_exceptions.AuthorizationError):
        cause = "it refuses the user or password"
    elif isinstance(error, redis_exceptions.ReadOnlyError) or text.startswith("READONLY"):
        cause = "it is a read-only replica"
    elif isinstance(error, redis_exceptions.BusyLoadingError) or text.startswith("LOADING"):
        cause = "it is still loading its data"
    elif isinstance(error, redis_exceptions.TimeoutError):
        cause = "it doesn't answer in time"
    else:
        cause = "it can't be used"
    return f"{doing}: Redis (REDIS_URL): {cause}: {text}"


def wait_durable(client: RedisClient, fence_key: str, timeout_ms: int = 2000) -> bool:
    """Return True once every earlier write to the node of `fence_key` is on its disk, False where it can't tell.

    `fence_key` is a small constant key of the caller, in the slot of what it wrote. It is written first: WAITAOF speaks
    only of the writes of its own connection, and a write after all the others on that connection covers them, whichever
    pooled connection they took. Raises `Unavailable` when the disk doesn't confirm within `timeout_ms`.
    """
    with redis_errors("confirm writes on disk"):
        confirmed = _ask_for_disk(_node_of(client, fence_key), fence_key, timeout_ms)
    if isinstance(confirmed, redis_exceptions.ResponseError):
        _say_once("unknown" if "unknown command" in str(confirmed).lower() else "off")
        return False
    if isinstance(confirmed, Exception):
        raise Unavailable(_in_words("confirm writes on disk", confirmed)) from confirmed
    if confirmed[0] < 1:
        raise Unavailable(f"Redis (REDIS_URL) didn't confirm its append-only file within {timeout_ms} ms")
    return True


def _ask_for_disk(client: redis.Redis, fence_key: str, timeout_ms: int) -> Any:
    """The reply to WAITAOF, a refusal as the exception that it is.

    A server looks after those who wait when something wakes it, else ten times a second (`hz`). So it is woken by PINGs
    on the waiting connection, which are answered behind WAITAOF.
    """
    pool: Any = client.connection_pool
    connection = pool.get_connection()

    def once() -> Any:
        words = (("SET", fence_key, "1"), ("WAITAOF", "1", "0", str(timeout_ms)))
        connection.send_packed_command(connection.pack_commands(words))
        written = reply_or_refusal()
        pings, pause_s, deadline = 0, FIRST_NUDGE_S, time.monotonic() + timeout_ms / 1000
        while not connection.can_read(timeout=pause_s) and time.monotonic() < deadline:
            connection.send_command("PING", check_health=False)
            pings, pause_s = pings + 1, min(2 * pause_s, LAST_NUDGE_S)
        confirmed = reply_or_refusal()
        for _ in range(pings):
            connection.read_response()
        if isinstance(written, Exception):
            raise written
        return confirmed

    def reply_or_refusal() -> Any:
        try:
            return connection.read_response()
        except redis_exceptions.ResponseError as refusal:
            return refusal

    def after_failure(_: BaseException) -> None:
        connection.disconnect()

    try:
        return connection.retry.call_with_retry(once, after_failure)
    except BaseException as error:
        after_failure(error)  # interrupted, its replies would go to whoever has the connection next
        raise
    finally:
        pool.release(connection)


def _node_of(client: RedisClient, key: str) -> redis.Redis:
    if not isinstance(client, RedisCluster):
        return client
    find: Callable[[str], Any] = client.get_node_from_key
    node: redis.Redis = client.get_redis_connection(find(key))
    return node


@cache
def _say_once(why: Literal["unknown", "off"]) -> None:
    reasons = {
        "unknown": "has no WAITAOF (before 7.2): writes of its last second are lost when it is killed",
        "off": "doesn't confirm writes on disk (appendonly no): what it holds is lost when it is killed",
    }
    logger.warning("Redis %s", reasons[why], extra=action("redis.unavailable", reason=f"waitaof_{why}"))
