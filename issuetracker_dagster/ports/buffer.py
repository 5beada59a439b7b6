"""The buffer before Kafka: normal and low crawl jobs wait here while the crawl topics are long.

Order of a drain: `recover` once, then `take`, publish, `advance`, publish, and `done` in the end; killed anywhere, the
next epoch's `recover` puts what was taken back to the head. All raise `Unavailable` when Redis is out.
"""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.buffer import BufferState


class Buffer(Protocol):
    """The jobs of one crawl topic, in the order in which they were published. Entries are opaque bytes."""

    @property
    def name(self) -> str:
        """Its key, for logs."""

    @property
    def max_len(self) -> int:
        """Most entries in line; 0 = no limit."""

    def push(self, entries: Sequence[bytes]) -> int:
        """Append in order, on disk (where the server can tell) when it returns; returns how many fell out.

        Beyond `max_len` the oldest in line move to the outbox. It waits for the disk once, so push what belongs
        together in one call. After an error some or all of it may have been stored.
        """

    def recover(self, epoch: int) -> int:
        """Fence out every older epoch and put what they were draining back to the head in order; returns how many.

        Raises `StaleLease` when a newer epoch has been here.
        """

    def take(self, epoch: int, limit: int) -> Sequence[bytes]:
        """Move up to `limit` of the oldest to this epoch's draining list and return them, oldest first.

        Taken and not `done` yet, the same ones are returned again, so that a lost reply loses nothing. Raises
        `StaleLease` when a newer epoch has been here.
        """

    def peek(self, limit: int) -> Sequence[bytes]:
        """Up to `limit` of the oldest in line, oldest first; they stay there."""

    def advance(self, epoch: int, limit: int) -> Sequence[bytes]:
        """`done` and `take` in one round trip, repeatable as they are; a fenced epoch is done with nothing."""

    def done(self, epoch: int) -> None:
        """What this epoch took is in Kafka, or kept elsewhere: forget it. Repeatable; harmless for a fenced epoch."""

    def put_back(self, epoch: int) -> int:
        """Put what this epoch took and isn't done back to the head in order; returns how many, 0 for a fenced epoch."""

    def state(self) -> BufferState:
        """Figures of the moment; O(1)."""

    def outbox(self, limit: int) -> Sequence[bytes]:
        """What fell out and isn't in the DLQ yet, oldest first; it stays until `outbox_remove`."""

    def outbox_remove(self, entries: Sequence[bytes]) -> int:
        """These are in the DLQ; returns how many were still here."""

    def pause(self, epoch: int, identities: Sequence[str]) -> None:
        """Note the messages that wait in the retry set; the buffer counts as paused until `resume`.

        Raises `StaleLease` when a newer epoch has been here: the note is its own by now.
        """

    def paused(self) -> Sequence[str]:
        """What `pause` noted, empty when the buffer isn't paused."""

    def resume(self, epoch: int) -> None:
        """Nothing of the batch waits any more. Raises `StaleLease` as `pause` does."""


SWITCH_LASTS_MS = 150_000
"""How long buffering stays on when no drain run renews it: a drain run that ended or died is followed within a minute,
takes some seconds to start, and may have to wait for the lock of a dead one.
"""


class BufferSwitch(Protocol):
    """Whether publishers put jobs aside: kept in Redis, where every process that publishes can see it.

    A drain run switches it on when it begins and goes on doing so, so that no job waits for a drainer that never was
    or won't come back; the toggle going off switches it off.
    """

    def is_on(self) -> bool: ...

    def turn(self, *, on: bool) -> None:
        """On lasts for `SWITCH_LASTS_MS`, unless it is turned again."""
