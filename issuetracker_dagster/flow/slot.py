"""One slot of a pool: what its thread is doing, and who may answer for it."""

import threading
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.flow.sources import Delivery, WorkSource


class Pool(msgspec.Struct, frozen=True):
    """Slots that share a source."""

    source: WorkSource
    size: int
    name: str = ""


class LeftBehind(msgspec.Struct, frozen=True):
    """What a slot whose handler hangs would have answered: the message itself, successes before it, the rest."""

    delivery: Delivery
    acks: Sequence[Delivery]
    rest: Sequence[Delivery]
    alone: bool


class Slot:
    """The state of one slot's thread. `done` and `abandon` race; the first of them has the say about the message."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.acks: list[Delivery] = []
        """Handled successfully and not acknowledged yet."""
        self.is_alone = False
        self.is_abandoned = False
        self._lock = threading.Lock()
        self._running: tuple[Delivery, Sequence[Delivery], float] | None = None

    @property
    def source(self) -> WorkSource:
        return self.pool.source

    def begin(self, delivery: Delivery, rest: Sequence[Delivery], at: float) -> None:
        """The handler is called, with `rest` of the claim behind it."""
        with self._lock:
            self._running = delivery, rest, at

    def done(self) -> bool:
        """The handler has ended; False when the message was taken from this slot meanwhile."""
        with self._lock:
            self._running = None
            return not self.is_abandoned

    def abandon(self, began_before: float) -> LeftBehind | None:
        """Take everything from a slot whose handler was called before that moment and hasn't ended."""
        with self._lock:
            if self._running is None or self.is_abandoned or self._running[2] >= began_before:
                return None
            self.is_abandoned = True
            delivery, rest, _ = self._running
            return LeftBehind(delivery, self.acks, rest, self.is_alone)
