"""When a host may be asked, decided for all workers at once, between a crawl job and its request.

Keys: `host:{<authority>}:gate` and `host:{<authority>}:permits`; both expire when the host has been idle.
"""

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import NotDue
from issuetracker_dagster.model.rules import FetcherRule

PERMIT_GRACE_MS = 30_000
"""How much longer than a request's time-out its permit lives when nobody gives it back."""
BUSY_RETRY_MS = 250
"""When to ask again for a host at its concurrency: nobody knows when a request ends."""
PROBE_RETRY_MS = 1_000
REMEMBERED_MS = 3_600_000
"""How long an idle host's failures in a row are remembered."""


class RedisHostGate:
    """`HostGate` in Redis, by the server's time. `failures_to_open` failures in a row close a host for `open_ms`."""

    def __init__(self, client: RedisClient, *, failures_to_open: int = 5, open_ms: int = 60_000) -> None:
        self._client = client
        self._failures_to_open = failures_to_open
        self._open_ms = open_ms

    def enter(self, host: str, rule: FetcherRule, permit_id: str) -> None:
        permit_ms = rule.timeout_ms + PERMIT_GRACE_MS
        limits = [rule.requests_per_hour, rule.burst, rule.concurrency, permit_ms]
        args = [permit_id, *map(str, [*limits, BUSY_RETRY_MS, PROBE_RETRY_MS, REMEMBERED_MS])]
        reason, due_ms = script("host_enter").run(self._client, [_gate(host), _permits(host)], args)
        if reason:
            raise NotDue(host, int(due_ms), reason.decode())

    def charge(self, host: str, rule: FetcherRule) -> None:
        if rule.requests_per_hour > 0:
            args = [str(rule.requests_per_hour), str(REMEMBERED_MS)]
            script("host_charge").run(self._client, [_gate(host)], args)

    def leave(self, host: str, permit_id: str) -> None:
        with redis_errors("give a host's permit back"):
            command(self._client, "ZREM", _permits(host), permit_id)

    def block(self, host: str, until_ms: int) -> None:
        script("host_block").run(self._client, [_gate(host)], [str(until_ms), str(REMEMBERED_MS)])

    def succeeded(self, host: str) -> None:
        with redis_errors("close a host's breaker"):
            command(self._client, "HDEL", _gate(host), "failures", "open_until", "probe")

    def failed(self, host: str) -> bool:
        args = [str(self._failures_to_open), str(self._open_ms), str(REMEMBERED_MS)]
        return bool(script("host_failed").run(self._client, [_gate(host)], args))


def _gate(host: str) -> str:
    return f"host:{{{_tag(host)}}}:gate"


def _permits(host: str) -> str:
    return f"host:{{{_tag(host)}}}:permits"


def _tag(host: str) -> str:
    # A URL's host may begin with a brace, and an empty tag would put the two keys into two slots.
    return host.replace("}", "%7D")
