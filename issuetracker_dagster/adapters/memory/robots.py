"""robots.txt of hosts as all workers of a test know it."""

from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import SHARED_ROBOTS_MAX_BYTES


class MemorySharedRobots:
    """`SharedRobots` of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[int, bytes]] = {}

    def get(self, name: str) -> bytes | None:
        until_ms, value = self._kept.get(name, (0, b""))
        return value if until_ms > self._clock.now_ms() else None

    def put(self, name: str, value: bytes, ttl_ms: int) -> None:
        if len(value) > SHARED_ROBOTS_MAX_BYTES:
            self._kept.pop(name, None)
        else:
            self._kept[name] = (self._clock.now_ms() + max(ttl_ms, 1), value)
