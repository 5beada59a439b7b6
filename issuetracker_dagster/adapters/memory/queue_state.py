"""The members of the queue in memory and the moves between their states. Who may ask for one is decided in `queue`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from issuetracker_dagster.adapters.memory.queue_ready import ReadySet
from issuetracker_dagster.model.priority import Priority, arrival_of_score, priority_of_score, score
from issuetracker_dagster.model.queue import OutboxEntry, QueueEntry, QueueLimits
from issuetracker_dagster.ports.clock import Clock

MINUTE_MS = 60_000
_TICKS = 256


@dataclass(slots=True, eq=False)
class Held:
    """Everything about one member; `claim` while leased, `due_ms` is the lease's deadline or the delay's end."""

    entry: QueueEntry
    score: float
    state: Literal["ready", "leased", "delayed", "outbox"] = "ready"
    deliveries: int = 0
    claim: str = ""
    due_ms: int = 0


class QueueState:
    """All members, by state. Not for several threads at once."""

    def __init__(self, limits: QueueLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self.held: dict[str, Held] = {}
        self.ready = ReadySet()
        self.away: dict[str, Held] = {}
        self.outbox: list[OutboxEntry] = []
        self._last_tick = 0
        self._credit = 0.0

    def add(self, entry: QueueEntry) -> None:
        """A new member, ready, behind all that arrived before."""
        self._last_tick = max(self._clock.now_ms() * _TICKS, self._last_tick + 1)
        held = Held(entry, score(entry.priority, self._last_tick / _TICKS))
        self.held[entry.member] = held
        self.ready.add(held.score, entry.member)

    def promote(self, held: Held, priority: Priority) -> bool:
        """Into a better band at its own arrival; whether it moved."""
        if held.state == "outbox" or priority >= priority_of_score(held.score):
            return False
        return self.move(held, priority)

    def move(self, held: Held, priority: Priority) -> bool:
        """Into any other band at its own arrival; whether it moved."""
        if priority is priority_of_score(held.score):
            return False
        place = score(priority, arrival_of_score(held.score))
        if held.state == "ready":
            self.ready.remove(held.score, held.entry.member)
            self.ready.add(place, held.entry.member)
        held.score = place
        return True

    def left_of_leases(self) -> list[int]:
        """Milliseconds until the deadline of each lease, negative when it is over."""
        now = self._clock.now_ms()
        return [held.due_ms - now for held in self.away.values() if held.state == "leased"]

    def restore(self, held: Held) -> None:
        """From a lease or a delay back to its place."""
        held.state, held.claim = "ready", ""
        del self.away[held.entry.member]
        self.ready.add(held.score, held.entry.member)

    def send_out(self, held: Held, reason: str) -> None:
        """From the ready set to the outbox."""
        self.ready.remove(held.score, held.entry.member)
        held.state = "outbox"
        entry, minute_ms = held.entry, held.entry.source_ms // MINUTE_MS * MINUTE_MS
        raw = f"{reason} {entry.member} {held.deliveries}".encode()
        self.outbox.append(OutboxEntry(entry.member, reason, held.deliveries, minute_ms, entry.envelope, raw))

    def bring_back(self, limit: int) -> int:
        """Expired leases and due delays, at most `limit`; returns how many."""
        now = self._clock.now_ms()
        past = [held for held in self.away.values() if held.due_ms <= now]
        past.sort(key=lambda held: (held.state == "delayed", held.due_ms, held.entry.member))
        for held in past[:limit]:
            self.restore(held)
        return len(past[:limit])

    def age_out(self, limit: int) -> None:
        """Send out what is too old, at most `limit`."""
        for member in self.ready.arrived(0.0, self._cutoff_ms())[:limit]:
            self.send_out(self.held[member], "expired")

    def lease(self, claim_id: str, limit: int) -> list[Held]:
        """Choose the next in order and mark them leased; their deadline is for the caller to set."""
        self.bring_back(100)
        self.age_out(100)
        chosen: list[Held] = []
        guarded = self._take(self._overdue(min(int(self._credit), limit)), chosen, limit)
        used = len(chosen)
        if not guarded:
            self._take(self.ready.in_order(self._cutoff_ms()), chosen, limit)
        chosen.sort(key=lambda held: held.score)
        if self._limits.max_wait_ms and limit > 0:
            gained = self._limits.max_wait_share * len(chosen)
            self._credit = min(self._credit - used + gained, 1 + self._limits.max_wait_share * limit)
        for held in chosen:
            self.ready.remove(held.score, held.entry.member)
            self.away[held.entry.member] = held
            held.state, held.claim, held.deliveries = "leased", claim_id, held.deliveries + 1
        return chosen

    def _take(self, candidates: Iterable[str], chosen: list[Held], limit: int) -> bool:
        """Choose candidates in order until `limit`, or until one that was delivered before must come alone."""
        for member in candidates:
            held = self.held[member]
            if len(chosen) >= limit:
                return True
            if held in chosen:
                continue
            if held.deliveries >= self._limits.max_deliveries:
                self.send_out(held, "max_deliveries")
            elif held.deliveries and chosen:
                return True
            else:
                chosen.append(held)
                if held.deliveries:
                    return True
        return len(chosen) >= limit

    def _overdue(self, quota: int) -> list[str]:
        """Entries below the best band that have waited too long, oldest first."""
        if not self._limits.max_wait_ms or quota <= 0:
            return []
        latest = self._clock.now_ms() - self._limits.max_wait_ms
        return self.ready.arrived(self._cutoff_ms(), latest, below=self.ready.best())[:quota]

    def _cutoff_ms(self) -> float:
        """What arrived then or earlier is too old."""
        ttl = self._limits.entry_ttl_ms
        return self._clock.now_ms() - ttl if ttl > 0 else 0.0
