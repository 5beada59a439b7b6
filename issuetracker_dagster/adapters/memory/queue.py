"""The stage queue in memory, for tests and for trying flows out: the promises of the one on Redis, by a given clock."""

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from issuetracker_dagster.adapters.memory.queue_state import MINUTE_MS, Held, QueueState
from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.model.priority import Priority, arrival_of_score, priority_of_score
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

_ANSWERS_KEPT = 10_000
_WAIT_SLICE_S = 0.005


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
        self._state = QueueState(self._limits, self._clock)
        self._answers: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._epoch: str | None = None

    def wipe(self) -> None:
        """Lose everything, as a server without its disk would."""
        with self._lock:
            self._forget()

    @contextmanager
    def steered(self) -> Iterator[QueueState]:
        """Its members, and nobody else at them inside the block."""
        with self._lock:
            yield self._state

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
                held = self._state.held.get(entry.member)
                if held is not None:
                    better = self._state.promote(held, entry.priority)
                    promoted += better
                    known += not better
                elif self._limits.backpressure and len(self._state.ready) >= self._limits.max_size:
                    refused.append(entry.member)
                else:
                    self._state.add(entry)
                    added += 1
            while added and not self._limits.backpressure and len(self._state.ready) > self._limits.max_size:
                self._state.send_out(self._state.held[self._state.ready.oldest_of_lowest()], "overflow")
                evicted += 1
        return PushResult(added, known, promoted, evicted, tuple(refused))

    def claim(self, claim_id: str, limit: int, lease_ms: int, acks: Sequence[Lease] = ()) -> Claim:
        check_claim_id(claim_id)
        with self._lock:
            deadline = self._clock.now_ms() + lease_ms
            if claim_id in self._answers:
                refused, members = self._answers[claim_id]
                still = [held for m in members if (held := self._leased_by(claim_id, m)) is not None]
            else:
                refused = self.ack(acks)
                still = self._state.lease(claim_id, limit)
                if still or acks:
                    self._answers[claim_id] = (refused, tuple(held.entry.member for held in still))
                    if len(self._answers) > _ANSWERS_KEPT:
                        del self._answers[next(iter(self._answers))]
            for held in still:
                held.due_ms = deadline
            return Claim(tuple(self._as_lease(held) for held in still), refused)

    def _as_lease(self, held: Held) -> Lease:
        entry = held.entry
        priority, arrival = priority_of_score(held.score), arrival_of_score(held.score)
        return Lease(entry.member, held.claim, priority, arrival, held.deliveries, entry.envelope)

    def _leased_by(self, claim_id: str, member: str) -> Held | None:
        held = self._state.held.get(member)
        return held if held is not None and held.state == "leased" and held.claim == claim_id else None

    def _presented(self, leases: Sequence[Lease]) -> tuple[list[Held], tuple[str, ...]]:
        mine: dict[str, Held] = {}
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
                del self._state.held[held.entry.member], self._state.away[held.entry.member]
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
            again = self._state.held.get(lease.member)
            return again is not None and again.state == "delayed" and again.claim == lease.claim_id

    def release(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        with self._lock:
            mine, stale = self._presented(leases)
            for held in mine:
                held.deliveries -= 1
                self._state.restore(held)
            return stale

    def reap(self, limit: int = 100) -> int:
        with self._lock:
            back = self._state.bring_back(limit)
            self._state.age_out(limit)
            return back

    def wait(self, timeout_ms: int) -> bool:
        give_up = self._clock.monotonic() + timeout_ms / 1000
        while True:
            with self._lock:
                now = self._clock.now_ms()
                dues = [held.due_ms for held in self._state.away.values()]
                if len(self._state.ready) or any(due <= now for due in dues):
                    return True
            left = give_up - self._clock.monotonic()
            if left <= 0:
                return False
            self._clock.sleep(min([left, _WAIT_SLICE_S, *((due - now) / 1000 for due in dues)]))

    def outbox(self, limit: int = 100) -> tuple[OutboxEntry, ...]:
        with self._lock:
            return tuple(self._state.outbox[:limit]) if limit > 0 else ()

    def outbox_remove(self, entries: Sequence[OutboxEntry]) -> int:
        removed = 0
        with self._lock:
            for entry in entries:
                if entry in self._state.outbox:
                    self._state.outbox.remove(entry)
                    del self._state.held[entry.member]
                    removed += 1
        return removed

    def depth(self) -> QueueDepth:
        with self._lock:
            now = self._clock.now_ms()
            bands = {}
            for priority in Priority:
                count, oldest = self._state.ready.band(priority)
                bands[priority] = BandDepth(count, max(0, now - int(oldest)) if oldest is not None else 0)
            states = [held.state for held in self._state.away.values()]
            leased, delayed = states.count("leased"), states.count("delayed")
            return QueueDepth(bands, leased, delayed, len(self._state.outbox), self._epoch)

    def oldest_source_ms(self) -> int | None:
        with self._lock:
            minutes = [held.entry.source_ms // MINUTE_MS for held in self._state.held.values()]
            return min(minutes) * MINUTE_MS if minutes else None

    def settle_writes(self) -> None:
        """Nothing to wait for: memory has no disk."""
