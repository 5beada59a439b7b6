"""A queue as operators see it: an entry with the state it is in, and what became of moved ones."""

from typing import Literal

import msgspec

from issuetracker_dagster.model.priority import Priority, score

EntryState = Literal["ready", "leased", "delayed", "outbox"]


class EntryView(msgspec.Struct, frozen=True, kw_only=True):
    """One member. `arrival_ms` and `priority` are None in the outbox, which keeps neither.

    `deliveries` counts those that began, a present one included. `due_ms` (0: none) is when a lease ends or a delay is
    over, `source_ms` the Kafka time of its record to the minute; `envelope` is empty in the outbox.
    """

    member: str
    state: EntryState
    priority: Priority | None = None
    arrival_ms: float | None = None
    deliveries: int = 0
    source_ms: int = 0
    due_ms: int = 0
    envelope: bytes = b""

    @property
    def place(self) -> float:
        """Its score, after which a look at the queue goes on; 0 in the outbox."""
        if self.priority is None or self.arrival_ms is None:
            return 0.0
        return score(self.priority, self.arrival_ms)


class Move(msgspec.Struct, frozen=True):
    """A member that is to change its band, and its envelope as it is to be from then on."""

    member: str
    envelope: bytes


class MoveResult(msgspec.Struct, frozen=True):
    """What became of entries that were to move, by count: `same` were in that band already, `leased` are being worked
    on, `gone` are in the queue no more."""

    moved: int = 0
    same: int = 0
    leased: int = 0
    gone: int = 0

    def plus(self, other: "MoveResult") -> "MoveResult":
        """Both together."""
        return MoveResult(
            self.moved + other.moved, self.same + other.same, self.leased + other.leased, self.gone + other.gone
        )
