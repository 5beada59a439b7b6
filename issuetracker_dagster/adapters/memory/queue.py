"""The stage queue in memory, for tests and for trying flows out: the promises of the one on Redis, by a given clock."""

import bisect
import secrets
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.model.priority import BAND_WIDTH, Priority, arrival_of_score, priority_of_score, score
from issuetracker_dagster.model.queue import (
    BandDepth,
    Claim,
    Lease,
    OutboxEntry,
    PushResult,
    QueueDepth,
    QueueEntry,
    QueueLimits,
    check_claim_id,
)
from issuetracker_dagster.ports.clock import Clock

_MINUTE_MS = 60_000
_TICKS = 256
_WAIT_SLICE_S = 0.005


@dataclass(slots=True, eq=False)
class _Held:
    """Everything about one member; `claim` while leased, `due_ms` is the lease's deadline or the delay's end."""

    entry: QueueEntry
    score: float
    state: str = "ready"
    deliveries: int = 0
    claim: str = ""
    due_ms: int = 0


class MemoryStageQueue:
    """`StageQueue` for one world (the process); threads may share it."""

    def __init__(self, key: str, limits: QueueLimits, clock: Clock) -> None:
        """`key` as for the queue on Redis; raises `ConfigError` when it is empty or contains braces."""
        if not key or "{" in key or "}" in key:
            raise ConfigError(f"queue key {key!r}: accepted is any name without {{ and }}, such as parser:zset:queue")
        self._key = key
        self._limits = limits
        self._clock = clock
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        self._held: dict[str, _Held] = {}
        self._ready: list[tuple[float, str]] = []
        self._outbox: list[OutboxEntry] = []
        self._answers: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._epoch: str | None = None
        self._last_tick = 0
        self._credit = 0.0

    def wipe(self) -> None:
        """Lose everything, as a server without its disk would."""
        with self._lock:
            self._forget()

    @property
    def name(self) -> str:
        return self._key

    def open(self) -> str:
        with self._lock:
            self._epoch = self._epoch or secrets.token_hex(8)
            return self._epoch

    def push(self, entries: Sequence[QueueEntry]) -> PushResult:
        added = known = promoted = evicted = 0
        refused: list[str] = []
        with self._lock:
            for entry in entries:
                held = self._held.get(entry.member)
                if held is not None:
                    better = self._promote(held, entry.priority)
                    promoted += better
                    known += not better
                elif self._limits.backpressure and len(self._ready) >= self._limits.max_size:
                    refused.append(entry.member)
                else:
                    self._add(entry)
                    added += 1
            while added and not self._limits.backpressure and len(self._ready) > self._limits.max_size:
                lowest = priority_of_score(self._ready[-1][0])
                place = bisect.bisect_left(self._ready, (lowest * float(BAND_WIDTH), ""))
                self._send_out(self._held[self._ready[place][1]], "overflow")
                evicted += 1
        return PushResult(added, known, promoted, evicted, tuple(refused))

    def _add(self, entry: QueueEntry) -> None:
        self._last_tick = max(self._clock.now_ms() * _TICKS, self._last_tick + 1)
        held = _Held(entry, score(entry.priority, self._last_tick / _TICKS))
        self._held[entry.member] = held
        bisect.insort(self._ready, (held.score, entry.member))

    def _promote(self, held: _Held, priority: Priority) -> bool:
        if held.state == "outbox" or priority >= priority_of_score(held.score):
            return False
        better = score(priority, arrival_of_score(held.score))
        if held.state == "ready":
            self._unready(held)
            bisect.insort(self._ready, (better, held.entry.member))
        held.score = better
        return True

    def _unready(self, held: _Held) -> None:
        del self._ready[bisect.bisect_left(self._ready, (held.score, held.entry.member))]

    def _restore(self, held: _Held) -> None:
        held.state, held.claim = "ready", ""
        bisect.insort(self._ready, (held.score, held.entry.member))

    def _send_out(self, held: _Held, reason: str) -> None:
        self._unready(held)
        held.state = "outbox"
        entry, minute_ms = held.entry, held.entry.source_ms // _MINUTE_MS * _MINUTE_MS
        raw = f"{reason} {entry.member} {held.deliveries}".encode()
        self._outbox.append(OutboxEntry(entry.member, reason, held.deliveries, minute_ms, entry.envelope, raw))

    def claim(self, claim_id: str, limit: int, lease_ms: int, acks: Sequence[Lease] = ()) -> Claim:
        check_claim_id(claim_id)
        with self._lock:
            deadline = self._clock.now_ms() + lease_ms
            if claim_id in self._answers:
                refused, members = self._answers[claim_id]
                still = [held for m in members if (held := self._leased_by(claim_id, m)) is not None]
            else:
                refused = self.ack(acks)
                still = self._lease(claim_id, limit)
                if still or acks:
                    self._answers[claim_id] = (refused, tuple(held.entry.member for held in still))
            for held in still:
                held.due_ms = deadline
            return Claim(tuple(self._as_lease(held) for held in still), refused)

    def _lease(self, claim_id: str, limit: int) -> list[_Held]:
        self._bring_back(100)
        self._age_out(100)
        chosen: list[_Held] = []
        guarded = self._take(self._overdue(min(int(self._credit), limit)), chosen, limit)
        used = len(chosen)
        if not guarded:
            self._take([member for _, member in self._ready if not self._too_old(member)], chosen, limit)
        chosen.sort(key=lambda held: held.score)
        if self._limits.max_wait_ms and limit > 0:
            gained = self._limits.max_wait_share * len(chosen)
            self._credit = min(self._credit - used + gained, 1 + self._limits.max_wait_share * limit)
        for held in chosen:
            self._unready(held)
            held.state, held.claim, held.deliveries = "leased", claim_id, held.deliveries + 1
        return chosen

    def _take(self, candidates: Iterable[str], chosen: list[_Held], limit: int) -> bool:
        """Choose candidates in order until `limit`, or until one that was delivered before must come alone."""
        for member in candidates:
            held = self._held[member]
            if len(chosen) >= limit:
                return True
            if held in chosen:
                continue
            if held.deliveries >= self._limits.max_deliveries:
                self._send_out(held, "max_deliveries")
            elif held.deliveries and chosen:
                return True
            else:
                chosen.append(held)
                if held.deliveries:
                    return True
        return len(chosen) >= limit

    def _overdue(self, quota: int) -> list[str]:
        """Entries below the best band that have waited too long, oldest first."""
        if not self._limits.max_wait_ms or quota <= 0 or not self._ready:
            return []
        best = priority_of_score(self._ready[0][0])
        latest = self._clock.now_ms() - self._limits.max_wait_ms
        late = [
            (arrival_of_score(points), member)
            for points, member in self._ready
            if priority_of_score(points) > best and arrival_of_score(points) <= latest and not self._too_old(member)
        ]
        return [member for _, member in sorted(late)[:quota]]

    def _too_old(self, member: str) -> bool:
        ttl = self._limits.entry_ttl_ms
        return ttl > 0 and arrival_of_score(self._held[member].score) <= self._clock.now_ms() - ttl

    def _age_out(self, limit: int) -> None:
        for member in [member for _, member in self._ready if self._too_old(member)][:limit]:
            self._send_out(self._held[member], "expired")

    def _as_lease(self, held: _Held) -> Lease:
        entry = held.entry
        priority, arrival = priority_of_score(held.score), arrival_of_score(held.score)
        return Lease(entry.member, held.claim, priority, arrival, held.deliveries, entry.envelope)

    def _leased_by(self, claim_id: str, member: str) -> _Held | None:
        held = self._held.get(member)
        return held if held is not None and held.state == "leased" and held.claim == claim_id else None

    def _presented(self, leases: Sequence[Lease]) -> tuple[list[_Held], tuple[str, ...]]:
        mine: dict[str, _Held] = {}
        stale: list[str] = []
        for lease in leases:
            held = self._leased_by(lease.claim_id, lease.member)
            if held is None or lease.member in mine:
                stale.append(lease.member)
            else:
                mine[lease.member] = held
                self._answers.pop(lease.claim_id, None)
        return list(mine.values()), tuple(stale)

    def ack(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        with self._lock:
            mine, stale = self._presented(leases)
            for held in mine:
                del self._held[held.entry.member]
            return stale

    def extend(self, leases: Sequence[Lease], lease_ms: int) -> tuple[str, ...]:
        with self._lock:
            mine, stale = self._presented(leases)
            for held in mine:
                held.due_ms = self._clock.now_ms() + lease_ms
            return stale

    def nack(self, lease: Lease, delay_ms: int) -> bool:
        with self._lock:
            mine, _ = self._presented((lease,))
            for held in mine:
                held.state, held.deliveries = "delayed", held.deliveries - 1
                held.due_ms = self._clock.now_ms() + delay_ms
            again = self._held.get(lease.member)
            return again is not None and again.state == "delayed" and again.claim == lease.claim_id

    def release(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        with self._lock:
            mine, stale = self._presented(leases)
            for held in mine:
                held.deliveries -= 1
                self._restore(held)
            return stale

    def reap(self, limit: int = 100) -> int:
        with self._lock:
            back = self._bring_back(limit)
            self._age_out(limit)
            return back

    def _bring_back(self, limit: int) -> int:
        now = self._clock.now_ms()
        past = [held for held in self._held.values() if held.state in ("leased", "delayed") and held.due_ms <= now]
        past.sort(key=lambda held: (held.state == "delayed", held.due_ms, held.entry.member))
        for held in past[:limit]:
            self._restore(held)
        return len(past[:limit])

    def wait(self, timeout_ms: int) -> bool:
        give_up = self._clock.monotonic() + timeout_ms / 1000
        while True:
            with self._lock:
                now = self._clock.now_ms()
                dues = [held.due_ms for held in self._held.values() if held.state in ("leased", "delayed")]
                if self._ready or any(due <= now for due in dues):
                    return True
            left = give_up - self._clock.monotonic()
            if left <= 0:
                return False
            self._clock.sleep(min([left, _WAIT_SLICE_S, *((due - now) / 1000 for due in dues)]))

    def outbox(self, limit: int = 100) -> tuple[OutboxEntry, ...]:
        with self._lock:
            return tuple(self._outbox[:limit]) if limit > 0 else ()

    def outbox_remove(self, entries: Sequence[OutboxEntry]) -> int:
        removed = 0
        with self._lock:
            for entry in entries:
                if entry in self._outbox:
                    self._outbox.remove(entry)
                    del self._held[entry.member]
                    removed += 1
        return removed

    def depth(self) -> QueueDepth:
        with self._lock:
            now = self._clock.now_ms()
            arrivals: dict[Priority, list[float]] = {priority: [] for priority in Priority}
            for points, _ in self._ready:
                arrivals[priority_of_score(points)].append(arrival_of_score(points))
            bands = {
                priority: BandDepth(len(times), max(0, now - int(times[0])) if times else 0)
                for priority, times in arrivals.items()
            }
            states = [held.state for held in self._held.values()]
            leased, delayed = states.count("leased"), states.count("delayed")
            return QueueDepth(bands, leased, delayed, len(self._outbox), self._epoch)

    def oldest_source_ms(self) -> int | None:
        with self._lock:
            minutes = [held.entry.source_ms // _MINUTE_MS for held in self._held.values()]
            return min(minutes) * _MINUTE_MS if minutes else None

    def settle_writes(self) -> None:
        """Nothing to wait for: memory has no disk."""
