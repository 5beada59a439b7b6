"""Locks on URLs in memory: the dedupe markers of publish, and one worker a URL and stage."""

from issuetracker_dagster.adapters.memory.expiring import ExpiringValues
from issuetracker_dagster.ports.clock import Clock


class MemoryIngestionLock:
    """`IngestionLock` of one process."""

    def __init__(self, clock: Clock, *, pending_ms: int = 60_000) -> None:
        self._markers = ExpiringValues(clock)
        self._pending_ms = pending_ms

    def begin(self, url: str, parent: str) -> bool:
        return self._markers.take(url, f"pending:{parent}", self._pending_ms)

    def confirm(self, url: str, parent: str, ttl_ms: int) -> None:
        self._markers.put(url, f"full:{parent}", ttl_ms)

    def abandon(self, url: str, parent: str) -> None:
        self._markers.delete(url, f"pending:{parent}")


class MemoryProcessingLock:
    """`ProcessingLock` of one process."""

    def __init__(self, clock: Clock) -> None:
        self._owners = ExpiringValues(clock)

    def acquire(self, stage: str, url: str, owner: str, ttl_ms: int) -> bool:
        return self._owners.take(f"{stage}:{url}", owner, ttl_ms)

    def release(self, stage: str, url: str, owner: str) -> None:
        self._owners.delete(f"{stage}:{url}", owner)
