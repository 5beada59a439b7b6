"""Messages that wait for their due time, in memory."""

import itertools
import threading
from collections.abc import Sequence

from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage


class MemoryRetrySet:
    """`RetrySet` of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrivals = itertools.count()
        self._entries: dict[str, tuple[int, RetryEntry]] = {}

    def schedule(self, entry: RetryEntry) -> None:
        with self._lock:
            self._entries[entry.message.identity] = (next(self._arrivals), entry)

    def schedule_all(self, entries: Sequence[RetryEntry]) -> None:
        for entry in entries:
            self.schedule(entry)

    def holds(self, identities: Sequence[str]) -> int:
        with self._lock:
            return sum(identity in self._entries for identity in identities)

    def due(self, now_ms: int, limit: int = 100) -> Sequence[RetryEntry]:
        with self._lock:
            waiting = sorted(self._entries.values(), key=lambda held: (held[1].due_ms, held[0]))
            return tuple(entry for _, entry in waiting if entry.due_ms <= now_ms)[:limit]

    def remove(self, entries: Sequence[RetryEntry]) -> int:
        with self._lock:
            return sum(self._remove_unchanged(entry) for entry in entries)

    def size(self) -> int:
        with self._lock:
            return len(self._entries)

    def oldest_source_ms(self, stage: Stage) -> int | None:
        with self._lock:
            return min((entry.source_ms for _, entry in self._entries.values() if entry.stage is stage), default=None)

    def _remove_unchanged(self, entry: RetryEntry) -> bool:
        held = self._entries.get(entry.message.identity)
        if held is None or held[1].due_ms != entry.due_ms:
            return False
        del self._entries[entry.message.identity]
        return True
