"""The real clock, and one that tests move."""

import threading
import time


class SystemClock:
    """Time as this machine has it."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class FakeClock:
    """Time that stands still until `advance` or `sleep` moves it."""

    def __init__(self, now_ms: int = 1_750_000_000_000) -> None:
        self._lock = threading.Lock()
        self._now_ms = float(now_ms)

    def now_ms(self) -> int:
        return int(self._now_ms)

    def monotonic(self) -> float:
        return self._now_ms / 1000

    def sleep(self, seconds: float) -> None:
        self.advance(seconds * 1000)

    def advance(self, milliseconds: float) -> None:
        """Move time forward."""
        with self._lock:
            self._now_ms += milliseconds
