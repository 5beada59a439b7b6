"""Signs of life in memory."""

import threading
from collections.abc import Sequence

from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import Heartbeat


class MemoryHeartbeats:
    """`Heartbeats` of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._beats: dict[tuple[str, int], Heartbeat] = {}

    def beat(self, stage: str, slot: int, run_id: str, info: dict[str, str]) -> None:
        with self._lock:
            self._beats[stage, slot] = Heartbeat(stage, slot, run_id, self._clock.now_ms(), dict(info))

    def alive(self, stage: str) -> Sequence[Heartbeat]:
        with self._lock:
            return tuple(beat for (of, _), beat in sorted(self._beats.items()) if of == stage)

    def now_ms(self) -> int:
        return self._clock.now_ms()
