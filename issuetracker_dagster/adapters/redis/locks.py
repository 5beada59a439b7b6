"""Named locks with fencing epochs: one drain, one intake a stage, one relay, whoever asks.

Keys: `lock:<name>`, and in the same slot `{lock:<name>}:epoch`, which never expires.
"""

import secrets

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.ports.locks import LockHold


class RedisLocks:
    """`Locks` in Redis; epochs go on growing even when the server came back without its data."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def acquire(self, name: str, ttl_ms: int) -> LockHold | None:
        token = secrets.token_hex(16)
        keys = [_key(name), f"{{{_key(name)}}}:epoch"]
        epoch = script("lock_acquire").run(self._client, keys, [token, str(ttl_ms)])
        return None if epoch is None else LockHold(name, token, int(epoch))

    def renew(self, hold: LockHold, ttl_ms: int) -> bool:
        return bool(script("value_prolong").run(self._client, [_key(hold.name)], [hold.token, str(ttl_ms)]))

    def release(self, hold: LockHold) -> bool:
        return bool(script("value_delete").run(self._client, [_key(hold.name)], [hold.token]))


def _key(name: str) -> str:
    return f"lock:{name}"
