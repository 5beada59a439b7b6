"""The pages of each host that came out without a body, in memory: `redis/scripts/host_empty.lua` by a given clock."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import EmptyPage

ENOUGH = 5
MOST_KEPT = 20
WINDOW_MS = 3_600_000


@dataclass
class _Host:
    pages: dict[str, tuple[int, EmptyPage]] = field(default_factory=dict)
    told: str | None = None
    expires_ms: int = 0


class MemoryEmptyPages:
    """`EmptyPages` of one process."""

    def __init__(self, clock: Clock, *, window_ms: int = WINDOW_MS) -> None:
        self._clock = clock
        self._window_ms = window_ms
        self._lock = threading.Lock()
        self._hosts: dict[str, _Host] = {}

    def note(self, host: str, page: EmptyPage, *, switched: bool) -> Sequence[EmptyPage]:
        with self._lock:
            now_ms, state = self._clock.now_ms(), self._hosts.get(host, _Host())
            if state.expires_ms <= now_ms:
                state = _Host()
            if switched and state.told is None:
                return []
            if state.told is None:
                state.pages = {name: one for name, one in state.pages.items() if one[0] > now_ms - self._window_ms}
            if page.owner not in state.pages and len(state.pages) < MOST_KEPT:
                state.pages[page.owner] = (now_ms, page)
                if state.told is None:
                    state.expires_ms = now_ms + self._window_ms
            if state.told is None and len(state.pages) >= ENOUGH:
                state.told = page.owner
            self._hosts[host] = state
            return [one for _, one in state.pages.values()] if state.told == page.owner else []

    def upgraded(self, host: str) -> None:
        with self._lock:
            self._hosts.pop(host, None)
