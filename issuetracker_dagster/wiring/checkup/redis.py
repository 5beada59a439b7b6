"""Rules about Redis: what it holds has to survive it, and to fit into it."""

from collections.abc import Iterator

from issuetracker_dagster.adapters.redis.server_facts import RedisFacts
from issuetracker_dagster.model.finding import Finding, fail, ok, warn
from issuetracker_dagster.model.stage import QUEUED_STAGES
from issuetracker_dagster.settings.load import Settings

OLDEST = (7, 0)
ENTRY_BYTES = 779
"""An entry of a queue of 20,000 with envelopes of 600 bytes, measured; one in the buffer takes less."""
SKEW_MS = 5_000


def redis_findings(facts: RedisFacts, settings: Settings, now_ms: int, servers: int = 1) -> Iterator[Finding]:
    """What is to say of one server, which holds its part of everything when there are several."""
    yield _version(facts)
    yield _append_only(facts)
    yield _confirmed(facts)
    yield _policy(facts)
    yield _memory(facts, settings, servers)
    yield _clock(facts, now_ms)


def _version(facts: RedisFacts) -> Finding:
    if facts.version < OLDEST:
        return fail("redis.version", f"{facts.name} is too old", "upgrade to Redis 7.0 or later, or to Valkey")
    return ok("redis.version", facts.name)


def _append_only(facts: RedisFacts) -> Finding:
    if not facts.appendonly:
        return fail(
            "redis.appendonly",
            "Redis keeps no append-only file: what waits in queues, buffers and retries is lost when it ends",
            "`redis-cli -u REDIS_URL CONFIG SET appendonly yes`, and `appendonly yes` in its configuration",
        )
    if facts.appendfsync == "no":
        return warn(
            "redis.appendonly",
            "its append-only file is written whenever the system likes (appendfsync no)",
            "`appendfsync everysec`, or `always`",
        )
    return ok("redis.appendonly", f"append-only, appendfsync {facts.appendfsync or 'unknown (CONFIG is forbidden)'}")


def _confirmed(facts: RedisFacts) -> Finding:
    if not facts.has_waitaof:
        return warn(
            "redis.waitaof",
            f"{facts.name} can't confirm writes on disk (WAITAOF): a kill of the server costs its last second",
            "upgrade to Redis 7.2 or later, or to Valkey",
        )
    if not facts.appendonly:
        return warn("redis.waitaof", "writes aren't confirmed on disk, there is no append-only file", "see above")
    return ok("redis.waitaof", "writes are confirmed on disk (WAITAOF)")


def _policy(facts: RedisFacts) -> Finding:
    if facts.maxmemory_policy != "noeviction":
        return fail(
            "redis.policy",
            f"maxmemory-policy {facts.maxmemory_policy}: a full Redis would drop messages that wait",
            "`CONFIG SET maxmemory-policy noeviction`, and the same in its configuration",
        )
    return ok("redis.policy", "maxmemory-policy noeviction")


def _memory(facts: RedisFacts, settings: Settings, servers: int) -> Finding:
    if (
        not settings.publish.publisher_redis_buffer_max_len
        and settings.publish.publisher_redis_buffer_enabled is not False
    ):
        return warn(
            "redis.memory",
            "the buffer before Kafka has no limit: while Kafka is out it grows until Redis is full, and then refuses "
            "what comes",
            "a PUBLISHER_REDIS_BUFFER_MAX_LEN that fits into its memory",
        )
    limit = facts.maxmemory or facts.system_memory
    entries = sum(settings.queue(stage.value).zset_max_size for stage in QUEUED_STAGES)
    entries += 2 * settings.publish.publisher_redis_buffer_max_len
    needed = entries * ENTRY_BYTES // servers
    said = f"{entries:,} entries at the limits of queues and buffers take about {_size(needed)}"
    where = "maxmemory" if facts.maxmemory else "the machine's memory"
    if limit and needed > limit:
        return warn(
            "redis.memory",
            f"{said}, {where} is {_size(limit)}: it is full before they are, and then refuses what comes",
            "more memory, or smaller *_ZSET_MAX_SIZE and PUBLISHER_REDIS_BUFFER_MAX_LEN",
        )
    return ok(
        "redis.memory", f"{said}; {where} is {_size(limit) if limit else 'unknown'}, {_size(facts.used_memory)} used"
    )


def _clock(facts: RedisFacts, now_ms: int) -> Finding:
    skew_ms = now_ms - facts.now_ms
    if abs(skew_ms) > SKEW_MS:
        return warn(
            "clock",
            f"this machine's clock is {skew_ms / 1000:+.0f} s off that of Redis; what is due goes by Redis' clock, "
            "Dagster's records by this one",
            "let both follow a time server (NTP)",
        )
    return ok("clock", "this machine and Redis agree about the time")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
