"""The leased priority queue of a stage."""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Claim, Lease, LeaseTimes, OutboxEntry, PushResult, QueueDepth, QueueEntry
from issuetracker_dagster.model.queue_view import EntryView, Move, MoveResult


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


class QueueSteering(Protocol):
    """What operators do with a queue while shifts work on it. Nothing is taken. Raises `Unavailable`."""

    def peek(self, band: Priority | None, limit: int, after: float | None = None) -> Sequence[EntryView]:
        """Ready entries in the order in which they will be claimed, of one band or of all, behind the place `after`.

        Also those that the next claim would send to the outbox, being too old or delivered too often.
        """

    def find(self, members: Sequence[str]) -> Sequence[EntryView]:
        """Those of the members that the queue holds in any state, in the order given."""

    def move(self, moves: Sequence[Move], to: Priority) -> MoveResult:
        """Put ready and delayed entries into another band, better or worse, at their own arrival, with a new envelope.

        At most 500 at once are changed in one step. Leased ones stay: their workers have the old envelope. Repeatable.
        """

    def lease_times(self, near_ms: int) -> LeaseTimes:
        """Leases that end within `near_ms`, and those that are over and not brought back; in O(log n)."""
