"""The real clocks, and one that tests move."""

import logging
import threading
import time
from collections.abc import Callable

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

ASK_EVERY_S = 10.0
SKEW_TOLD_S = 5.0
"""How far this machine's clock may be off before a warning says so."""


class SystemClock:
    """Time as this machine has it."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class ServerClock:
    """The time of a server that all machines share; between two looks at it this machine's steady clock goes on.

    So neither a wrong wall clock nor one that jumps moves anything that is due. `ask` gives the server's Unix time in
    ms and is called on a thread of its own, every ten seconds at most; until it has answered once, and where there is
    no server, the wall clock of the start counts.
    """

    def __init__(self, ask: Callable[[], int]) -> None:
        self._ask = ask
        self._offset_ms = time.time_ns() / 1e6 - time.monotonic() * 1000
        self._ask_again = 0.0
        self._asking = threading.Lock()
        self._has_told = False

    def now_ms(self) -> int:
        now = time.monotonic()
        if now >= self._ask_again and self._asking.acquire(blocking=False):
            self._ask_again = now + ASK_EVERY_S
            threading.Thread(target=self._look, name="clock", daemon=True).start()
        return int(now * 1000 + self._offset_ms)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def _look(self) -> None:
        try:
            before = time.monotonic()
            server_ms = self._ask()
            after = time.monotonic()
            if after - before < 1.0:
                self._offset_ms = server_ms - (before + after) * 500
                self._tell_skew()
        except IssueTrackerError:
            logger.debug("the server's clock can't be read", exc_info=True)
        finally:
            self._asking.release()

    def _tell_skew(self) -> None:
        skew_s = time.time() - time.monotonic() - self._offset_ms / 1000
        if abs(skew_s) > SKEW_TOLD_S and not self._has_told:
            logger.warning("this machine's clock is %.0f s off that of Redis", skew_s, extra=action("clock.skewed"))
        self._has_told = abs(skew_s) > SKEW_TOLD_S


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
