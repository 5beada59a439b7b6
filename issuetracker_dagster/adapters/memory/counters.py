"""Shared counters in memory."""

import threading
from collections import Counter


class MemoryCounters:
    """`Counters` of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._amounts: Counter[str] = Counter()

    def add(self, amounts: dict[str, int]) -> None:
        with self._lock:
            self._amounts.update(amounts)

    def read(self) -> dict[str, int]:
        with self._lock:
            return dict(self._amounts)
