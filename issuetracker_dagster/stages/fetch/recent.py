"""A bounded memory with expiry: what was learned about a host a moment ago."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from issuetracker_dagster.ports.clock import Clock

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps up to `limit` values, each for its own time; the one not used for longest makes room. Thread-safe."""

    def __init__(self, clock: Clock, limit: int) -> None:
        self._clock = clock
        self._limit = limit
        self._lock = threading.Lock()
        self._held: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, or None when unknown or expired."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            if held[0] <= self._clock.monotonic():
                del self._held[key]
                return None
            self._held.move_to_end(key)
            return held[1]

    def forget(self, key: K) -> None:
        """The next `get` finds nothing."""
        with self._lock:
            self._held.pop(key, None)

    def put(self, key: K, value: V, ttl_ms: int) -> None:
        """Remember `value` for `ttl_ms`."""
        with self._lock:
            self._held[key] = (self._clock.monotonic() + ttl_ms / 1000, value)
            self._held.move_to_end(key)
            while len(self._held) > self._limit:
                self._held.popitem(last=False)
