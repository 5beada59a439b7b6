"""Locks on URLs in memory: the dedupe markers of publish, and one worker a URL and stage."""

from collections.abc import Sequence

from issuetracker_dagster.adapters.memory.expiring import ExpiringValues
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import Mark, MarkView


class MemoryIngestionLock:
    """`IngestionLock` of one process."""

    def __init__(self, clock: Clock, *, pending_ms: int = 60_000) -> None:
        self._markers = ExpiringValues(clock)
        self._pending_ms = pending_ms

    def begin(self, marks: Sequence[Mark]) -> Sequence[bool]:
        begun: set[str] = set()
        answers: list[bool] = []
        for mark in marks:
            took = self._markers.take(mark.url, f"pending:{mark.owner}", self._pending_ms)
            answers.append(took and mark.url not in begun)
            if took:
                begun.add(mark.url)
        return answers

    def confirm(self, marks: Sequence[tuple[Mark, int]]) -> None:
        for mark, ttl_ms in marks:
            self._markers.replace(mark.url, f"pending:{mark.owner}", f"full:{mark.owner}", ttl_ms)

    def abandon(self, marks: Sequence[Mark]) -> None:
        for mark in marks:
            self._markers.delete(mark.url, f"pending:{mark.owner}")

    def release(self, marks: Sequence[Mark]) -> None:
        for mark in marks:
            self._markers.delete(mark.url, f"pending:{mark.owner}")
            self._markers.delete(mark.url, f"full:{mark.owner}")

    def view(self, url: str) -> MarkView | None:
        found = self._markers.lasting(url)
        if found is None:
            return None
        state, _, owner = found[0].partition(":")
        return MarkView(owner, state == "pending", found[1])


class MemoryProcessingLock:
    """`ProcessingLock` of one process."""

    def __init__(self, clock: Clock) -> None:
        self._owners = ExpiringValues(clock)

    def acquire(self, stage: str, url: str, owner: str, ttl_ms: int) -> bool:
        return self._owners.take(f"{stage}:{url}", owner, ttl_ms)

    def prolong(self, stage: str, held: Sequence[Mark], ttl_ms: int) -> None:
        for mark in held:
            self._owners.prolong(f"{stage}:{mark.url}", mark.owner, ttl_ms)

    def release(self, stage: str, url: str, owner: str) -> None:
        self._owners.delete(f"{stage}:{url}", owner)
