"""Named locks with fencing epochs: one drain, one intake a stage, one relay, whoever asks.

Keys: `lock:<name>`, and in the same slot `{lock:<name>}:epoch`, which never expires.
"""

import secrets

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.ports.locks import LockHold


class RedisLocks:
    """`Locks` in Redis; epochs go on growing even when the server came back without its data. Thread-safe.

    A lock whose release failed is released before this process asks for it again, and so is one that the server may
    have given out without our hearing of it: after an outage of a few seconds an intake would otherwise be shut out by
    itself until its lock runs out.
    """

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self._unreleased: dict[str, LockHold] = {}

    def acquire(self, name: str, ttl_ms: int) -> LockHold | None:
        left = self._unreleased.pop(name, None)
        if left is not None:
            self.release(left)
        token = secrets.token_hex(16)
        keys = [_key(name), f"{{{_key(name)}}}:epoch"]
        try:
            epoch = script("lock_acquire").run(self._client, keys, [token, str(ttl_ms)])
        except Unavailable:
            self._unreleased[name] = LockHold(name, token, 0)
            raise
        return None if epoch is None else LockHold(name, token, int(epoch))

    def renew(self, hold: LockHold, ttl_ms: int) -> bool:
        return bool(script("value_prolong").run(self._client, [_key(hold.name)], [hold.token, str(ttl_ms)]))

    def release(self, hold: LockHold) -> bool:
        try:
            return bool(script("value_delete").run(self._client, [_key(hold.name)], [hold.token]))
        except Unavailable:
            self._unreleased[hold.name] = hold
            raise


def _key(name: str) -> str:
    return f"lock:{name}"
