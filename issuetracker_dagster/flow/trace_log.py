"""The steps of messages on their way into `message_trace`: gathered in memory, written in batches, never waited for."""

import threading
from collections.abc import Callable, Iterable, Sequence

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.traces import TraceLine

BATCH = 500
"""Lines written in one transaction, and how many make it worth not to wait for the next flush."""
MOST_WAITING = 5_000
PAUSE_S = 30.0
"""How long the database is left alone after it failed: the one who asked may have waited ten seconds for that."""


class TraceLog:
    """Lines that wait to be written by `write`, which is that of a `MessageTrace`.

    At most `MOST_WAITING` wait; the newest beyond that are dropped and `dropped` is told how many. `wake` is set when a
    batch has come together. Thread-safe.
    """

    def __init__(
        self,
        write: Callable[[Sequence[TraceLine]], None],
        clock: Clock,
        *,
        dropped: Callable[[int], None],
        wake: threading.Event,
    ) -> None:
        self._write = write
        self._clock = clock
        self._dropped = dropped
        self._wake = wake
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: list[TraceLine] = []
        self._paused_until = float("-inf")

    def note(self, lines: Iterable[TraceLine | None]) -> None:
        """Remember these; None stands for a step that can't be told of anything."""
        found = [line for line in lines if line is not None]
        with self._lock:
            room = MOST_WAITING - len(self._waiting)
            self._waiting.extend(found[:room])
            is_batch = len(self._waiting) >= BATCH
        if room < len(found):
            self._dropped(len(found) - room)
        if is_batch and not self._wake.is_set():
            self._wake.set()

    def flush(self) -> None:
        """Write what waits, a batch a transaction. Raises `Unavailable`; what wasn't written waits for a flush that
        comes after a pause.
        """
        with self._writing:
            if self._clock.monotonic() < self._paused_until:
                return
            while batch := self._next():
                try:
                    self._write(batch)
                except TransientError:
                    self._paused_until = self._clock.monotonic() + PAUSE_S
                    self._put_back(batch)
                    raise

    def _next(self) -> list[TraceLine]:
        with self._lock:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        return batch

    def _put_back(self, batch: Sequence[TraceLine]) -> None:
        with self._lock:
            lines = [*batch, *self._waiting]
            self._waiting = lines[:MOST_WAITING]
        if len(lines) > MOST_WAITING:
            self._dropped(len(lines) - MOST_WAITING)
