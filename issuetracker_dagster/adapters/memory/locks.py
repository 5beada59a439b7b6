"""Named locks with fencing epochs, in memory."""

import secrets
import threading

from issuetracker_dagster.adapters.memory.expiring import ExpiringValues
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import LockHold


class MemoryLocks:
    """`Locks` of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._holders = ExpiringValues(clock)
        self._lock = threading.Lock()
        self._epochs: dict[str, int] = {}

    def acquire(self, name: str, ttl_ms: int) -> LockHold | None:
        token = secrets.token_hex(16)
        with self._lock:
            if not self._holders.take(name, token, ttl_ms):
                return None
            self._epochs[name] = max(self._epochs.get(name, 0) + 1, self._clock.now_ms())
            return LockHold(name, token, self._epochs[name])

    def renew(self, hold: LockHold, ttl_ms: int) -> bool:
        return self._holders.prolong(hold.name, hold.token, ttl_ms)

    def release(self, hold: LockHold) -> bool:
        return self._holders.delete(hold.name, hold.token)
