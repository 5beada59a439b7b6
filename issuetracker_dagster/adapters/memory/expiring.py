"""Values with a time to live, as a Redis server keeps them; what the lock fakes are made of."""

import threading

from issuetracker_dagster.ports.clock import Clock


class ExpiringValues:
    """Strings under names, gone once their time to live is over; each call is atomic."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._values: dict[str, tuple[str, int]] = {}

    def get(self, name: str) -> str | None:
        with self._lock:
            return self._get(name)

    def lasting(self, name: str) -> tuple[str, int] | None:
        """The value and for how many milliseconds it lasts."""
        with self._lock:
            value = self._get(name)
            return None if value is None else (value, self._values[name][1] - self._clock.now_ms())

    def take(self, name: str, value: str, ttl_ms: int) -> bool:
        """Set the value where there is none or the same one already; False while another is there."""
        with self._lock:
            if self._get(name) not in (None, value):
                return False
            self._put(name, value, ttl_ms)
            return True

    def prolong(self, name: str, value: str, ttl_ms: int) -> bool:
        """Let the value last `ttl_ms` from now if it is still this one."""
        return self.replace(name, value, value, ttl_ms)

    def replace(self, name: str, value: str, other: str, ttl_ms: int) -> bool:
        """Set the other value if it is still this one."""
        with self._lock:
            if self._get(name) != value:
                return False
            self._put(name, other, ttl_ms)
            return True

    def delete(self, name: str, value: str) -> bool:
        """Remove the value if it is still this one."""
        with self._lock:
            if self._get(name) != value:
                return False
            del self._values[name]
            return True

    def _put(self, name: str, value: str, ttl_ms: int) -> None:
        self._values[name] = (value, self._clock.now_ms() + ttl_ms)

    def _get(self, name: str) -> str | None:
        value, expires_ms = self._values.get(name, (None, 0))
        return value if expires_ms > self._clock.now_ms() else None
