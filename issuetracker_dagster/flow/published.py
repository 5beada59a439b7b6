"""What was published lately, noted so that a change of rules can be previewed: a sample, not a ledger.

Publishing never waits for it, and never fails for it.
"""

import logging
import threading
from collections.abc import Sequence

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.traces import PublishedJob, PublishedRecent

logger = logging.getLogger(__name__)

FLUSH_EVERY_MS = 2_000
FLUSH_AT_MOST = 1_000
"""Rows written at a time; what a burst brings beyond that between two flushes is dropped."""
PAUSE_MS = 60_000
"""How long the database is left alone after it failed: the one who asked may have waited ten seconds for that."""


class PublishedLog:
    """Gathers published jobs and writes them in batches. Thread-safe."""

    def __init__(self, store: PublishedRecent, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: list[PublishedJob] = []
        self._next_ms = 0

    def note(self, jobs: Sequence[PublishedJob]) -> None:
        """Remember these; every two seconds one of the callers writes what was gathered. Never raises for an outage."""
        with self._lock:
            self._waiting.extend(jobs[: FLUSH_AT_MOST - len(self._waiting)])
            is_time = bool(self._waiting) and self._clock.now_ms() >= self._next_ms
        if is_time:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered now, unless another thread is at it."""
        if not self._writing.acquire(blocking=False):
            return
        try:
            with self._lock:
                jobs, self._waiting = self._waiting, []
                self._next_ms = self._clock.now_ms() + FLUSH_EVERY_MS
            self._write(jobs)
        finally:
            self._writing.release()

    def close(self) -> None:
        """Write the rest."""
        self.flush()

    def _write(self, jobs: Sequence[PublishedJob]) -> None:
        if not jobs:
            return
        try:
            self._store.write(jobs)
        except TransientError as error:
            self._next_ms = self._clock.now_ms() + PAUSE_MS
            extra = action("database.unavailable", jobs=len(jobs))
            logger.warning("published jobs aren't noted for a minute: %s", error, extra=extra)
