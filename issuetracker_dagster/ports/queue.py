"""The leased priority queue of a stage."""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.queue import Claim, Lease, OutboxEntry, PushResult, QueueDepth, QueueEntry


class StageQueue(Protocol):
    """Ordered by priority, then arrival; a member is in one state at a time: ready, leased, delayed or outbox.

    Every call may be sent again after a lost reply without harm. Raises `Unavailable` when the server can't be reached.
    """

    @property
    def name(self) -> str:
        """The key of the ready set, for logs and metrics."""

    def open(self) -> str:
        """Make sure that the queue exists and return its epoch, a random word that changes when the data was lost."""

    def push(self, entries: Sequence[QueueEntry]) -> PushResult:
        """Store a batch in its order. A known member keeps its place or moves to a better band, never to a worse.

        At `max_size` the oldest entry of the lowest band makes room through the outbox (`overflow`), or, with
        backpressure, nothing of the rest is stored and `refused` names it. A member in the outbox counts as held. The
        counts add up to the batch: `known` leaves out the promoted, and `evicted` is beside them.
        """

    def claim(self, claim_id: str, limit: int, lease_ms: int, acks: Sequence[Lease] = ()) -> Claim:
        """Acknowledge `acks`, then lease the next entries in order: high before normal before low, first in first out.

        `claim_id` is the caller's, unique for ever; the same id sent again returns the same leases and applies its acks
        once, until one of those leases is presented in another call: whoever presents a lease has had the answer. An
        entry that was delivered before comes alone; one past `max_deliveries` goes to the outbox instead, and so does
        one older than `entry_ttl_ms`. Expired leases and due delays come back first. Raises ValueError for a malformed
        claim id.
        """

    def ack(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        """Remove finished entries; returns the members whose lease was stale (nothing happened to those)."""

    def extend(self, leases: Sequence[Lease], lease_ms: int) -> tuple[str, ...]:
        """Move deadlines to now + `lease_ms`; returns the stale members. Never creates anything."""

    def nack(self, lease: Lease, delay_ms: int) -> bool:
        """Give back for later, at its original score, deliveries unchanged by this one; False when stale."""

    def release(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        """Give back at once at the original place, deliveries unchanged by this one; returns the stale members."""

    def reap(self, limit: int = 100) -> int:
        """Put up to `limit` expired leases and due delayed entries back in place; returns how many."""

    def wait(self, timeout_ms: int) -> bool:
        """Block until something may be claimable: a push, a due delay, an expired lease, or the timeout (False)."""

    def outbox(self, limit: int = 100) -> tuple[OutboxEntry, ...]:
        """The oldest entries on their way to the DLQ, `source_ms` to the minute; they stay until `outbox_remove`."""

    def outbox_remove(self, entries: Sequence[OutboxEntry]) -> int:
        """Remove published outbox entries; returns how many were still there."""

    def depth(self) -> QueueDepth:
        """Counts and ages, in O(log n)."""

    def oldest_source_ms(self) -> int | None:
        """A lower bound, to the minute, of the Kafka time of everything not yet acknowledged; None when empty."""

    def settle_writes(self) -> None:
        """Return once everything written so far is on the server's disk, where the server can tell (WAITAOF)."""
