"""Time, passed in so that tests can move it."""

from typing import Protocol


class Clock(Protocol):
    """Wall clock, monotonic clock and sleep of one world."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""

    def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
