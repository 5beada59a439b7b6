"""The URLs that a crew has in hand: locked in Redis against other workers, for as long as their messages are.

A lock lasts a lease. The crew prolongs the locks when it extends the leases, so that a slow handler keeps both, and
those of a dead worker end together.
"""

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from issuetracker_dagster.errors import Unavailable, UrlBusy
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.locks import Mark, ProcessingLock

logger = logging.getLogger(__name__)


class HeldUrls:
    """Locks of one stage in one process. Thread-safe."""

    def __init__(self, locks: ProcessingLock, stage: Stage, lease_ms: int) -> None:
        self._locks = locks
        self._stage = stage.value
        self._lease_ms = lease_ms
        self._held: Counter[Mark] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, url: str, root_id: str) -> Iterator[None]:
        """Nobody else handles the URL inside the block; raises `UrlBusy`, and `Unavailable` when it can't be known.

        A redelivery of the same root comes in, too; the last one out frees the URL.
        """
        if not self._locks.acquire(self._stage, url, root_id, self._lease_ms):
            raise UrlBusy(f"{self._stage} of this URL is at work for another message")
        mark = Mark(url, root_id)
        with self._lock:
            self._held[mark] += 1
        try:
            yield
        finally:
            if self._drop(mark):
                self._free(mark)

    def abandon(self, root_id: str) -> None:
        """Its handler hangs: the lock ends with its lease, instead of with a block that may never be left."""
        with self._lock:
            for mark in [mark for mark in self._held if mark.owner == root_id]:
                del self._held[mark]

    def prolong(self) -> None:
        """Let everything in hand stay locked for another lease; one round trip."""
        with self._lock:
            held = list(self._held)
        if not held:
            return
        try:
            self._locks.prolong(self._stage, held, self._lease_ms)
        except Unavailable as error:
            logger.warning("locks weren't prolonged: %s", error, extra=action("redis.unavailable"))

    def _drop(self, mark: Mark) -> bool:
        """Whether this was the last one to leave."""
        with self._lock:
            if mark not in self._held:
                return False
            self._held[mark] -= 1
            if self._held[mark]:
                return False
            del self._held[mark]
            return True

    def _free(self, mark: Mark) -> None:
        try:
            self._locks.release(self._stage, mark.url, mark.owner)
        except Unavailable as error:
            # It ends by itself; what the handler found is worth more than a tidy lock.
            logger.warning("a URL stays locked for a while: %s", error, extra=action("redis.unavailable"))
