"""Who may do what alone, and who is alive."""

from collections.abc import Sequence
from typing import Protocol

import msgspec


class LockHold(msgspec.Struct, frozen=True):
    """Proof of a held lock: the owner's token, and an epoch that grows with each new holder."""

    name: str
    token: str
    epoch: int


class Locks(Protocol):
    """Named locks with a time to live; released and renewed only by their owner."""

    def acquire(self, name: str, ttl_ms: int) -> LockHold | None:
        """The lock, or None while another holds it."""

    def renew(self, hold: LockHold, ttl_ms: int) -> bool:
        """Whether the lock was still ours and now lasts `ttl_ms` from now."""

    def release(self, hold: LockHold) -> bool:
        """Whether the lock was still ours and is free now."""


class Mark(msgspec.Struct, frozen=True):
    """A URL (normalised) and the root id of the job that publishes it: the same parent asking again has the same."""

    url: str
    owner: str


class MarkView(msgspec.Struct, frozen=True):
    """What is known of a URL: `pending` while its publish isn't confirmed, and for how much longer it is known."""

    owner: str
    pending: bool
    expires_in_ms: int


class IngestionLock(Protocol):
    """Dedupe of URLs at publish: a short pending marker becomes the full one once the publish is confirmed.

    Each call is one round trip for all its marks.
    """

    def begin(self, marks: Sequence[Mark]) -> Sequence[bool]:
        """Take the pending marker (60 s) of each; its owner may take its own again. False where the URL is known.

        Of two marks on one URL in a call the first one takes it.
        """

    def confirm(self, marks: Sequence[tuple[Mark, int]]) -> None:
        """Turn pending markers of these owners into full ones that last so many milliseconds each; creates none.

        A marker that went meanwhile stays away: its job fell out of the buffer, and nobody would release it again. What
        took longer than a minute may be published once more, which is the lesser evil.
        """

    def abandon(self, marks: Sequence[Mark]) -> None:
        """Remove pending markers of these owners, after a failure or a drop."""

    def release(self, marks: Sequence[Mark]) -> None:
        """Remove markers of these owners, pending or full: what they published fell out before it was crawled."""

    def view(self, url: str) -> MarkView | None:
        """What is known of the URL; None when it may be published."""


class ProcessingLock(Protocol):
    """One worker a URL and stage. Re-entrant for its own root, so that a redelivery isn't shut out."""

    def acquire(self, stage: str, url: str, owner: str, ttl_ms: int) -> bool: ...

    def prolong(self, stage: str, held: Sequence[Mark], ttl_ms: int) -> None:
        """Let those locks that are still their owners' last so long from now; creates none. One round trip."""

    def release(self, stage: str, url: str, owner: str) -> None: ...


class Heartbeat(msgspec.Struct, frozen=True):
    """A sign of life of a shift; `at_ms` is the store's own time."""

    stage: str
    slot: int
    run_id: str
    at_ms: int
    info: dict[str, str] = {}


class Heartbeats(Protocol):
    """Signs of life by stage and slot. Reading raises `Unavailable`, which must never be taken for silence."""

    def beat(self, stage: str, slot: int, run_id: str, info: dict[str, str]) -> None: ...

    def alive(self, stage: str) -> Sequence[Heartbeat]:
        """The latest heartbeat of each slot, however old."""

    def now_ms(self) -> int:
        """The store's own time, by which `at_ms` is judged."""
