"""When a host may be asked, in memory: the decision of `redis/scripts/host_enter.lua`, by a given clock."""

import math
import threading
from dataclasses import dataclass, field

from issuetracker_dagster.errors import NotDue
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.ports.clock import Clock

PERMIT_GRACE_MS = 30_000
BUSY_RETRY_MS = 250
PROBE_RETRY_MS = 1_000


@dataclass
class _Host:
    permits: dict[str, int] = field(default_factory=dict)
    next_free_ms: float = 0
    blocked_until_ms: int = 0
    failures: int = 0
    open_until_ms: int = 0
    probe: str | None = None


class MemoryHostGate:
    """`HostGate` of one process."""

    def __init__(self, clock: Clock, *, failures_to_open: int = 5, open_ms: int = 60_000) -> None:
        self._clock = clock
        self._failures_to_open = failures_to_open
        self._open_ms = open_ms
        self._lock = threading.Lock()
        self._hosts: dict[str, _Host] = {}

    def enter(self, host: str, rule: FetcherRule, permit_id: str) -> None:
        with self._lock:
            state, now = self._host(host), self._clock.now_ms()
            state.permits = {held: until for held, until in state.permits.items() if until > now}
            if permit_id in state.permits:
                return
            interval = 3_600_000 / rule.requests_per_hour if rule.requests_per_hour > 0 else 0.0
            burst = max(rule.burst, 1)
            next_free = min(max(state.next_free_ms, now), now + interval * burst)
            rate_due = math.ceil(next_free - interval * (burst - 1))
            probing = state.open_until_ms > 0
            if state.blocked_until_ms > now:
                raise NotDue(host, state.blocked_until_ms, "blocked")
            if state.open_until_ms > now:
                raise NotDue(host, state.open_until_ms, "breaker")
            if probing and state.probe in state.permits:
                raise NotDue(host, now + PROBE_RETRY_MS, "probe")
            if len(state.permits) >= max(rule.concurrency, 1):
                raise NotDue(host, now + BUSY_RETRY_MS, "concurrency")
            if interval and rate_due > now:
                raise NotDue(host, rate_due, "rate")
            state.next_free_ms = next_free + interval
            state.permits[permit_id] = now + rule.timeout_ms + PERMIT_GRACE_MS
            state.probe = permit_id if probing else None

    def charge(self, host: str, rule: FetcherRule) -> None:
        if rule.requests_per_hour > 0:
            with self._lock:
                state, now = self._host(host), self._clock.now_ms()
                state.next_free_ms = max(state.next_free_ms, now) + 3_600_000 / rule.requests_per_hour

    def leave(self, host: str, permit_id: str) -> None:
        with self._lock:
            self._host(host).permits.pop(permit_id, None)

    def block(self, host: str, until_ms: int) -> None:
        with self._lock:
            state = self._host(host)
            state.blocked_until_ms = max(state.blocked_until_ms, until_ms)

    def succeeded(self, host: str) -> None:
        with self._lock:
            state = self._host(host)
            state.failures, state.open_until_ms, state.probe = 0, 0, None

    def failed(self, host: str) -> bool:
        with self._lock:
            state, now = self._host(host), self._clock.now_ms()
            if state.open_until_ms > now:
                return False
            state.failures += 1
            if state.failures < self._failures_to_open:
                return False
            state.open_until_ms, state.probe = now + self._open_ms, None
            return True

    def _host(self, host: str) -> _Host:
        return self._hosts.setdefault(host, _Host())
