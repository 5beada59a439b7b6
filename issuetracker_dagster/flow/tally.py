"""What a crew tells about itself: how many messages ended how, and which of its pools wait for a server."""

import logging
import threading
from collections import Counter
from collections.abc import Mapping

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)


class Tally:
    """Counts by kind, and one warning an outage and pool. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._waiting: set[str] = set()

    def count(self, kind: str, amount: int = 1) -> None:
        with self._lock:
            self._counts[kind] += amount

    def counts(self) -> Mapping[str, int]:
        """What has happened so far."""
        with self._lock:
            return dict(self._counts)

    def waits(self, pool: str, error: TransientError) -> None:
        """A slot of the pool met a server that is out; it asks again every second."""
        self.count("paused")
        with self._lock:
            is_news = pool not in self._waiting
            self._waiting.add(pool)
        level = logging.WARNING if is_news else logging.DEBUG
        logger.log(level, "the slots of %s wait: %s", pool, error, extra=action("shift.paused", pool=pool))

    def goes_on(self, pool: str) -> None:
        """A slot of the pool got an answer."""
        with self._lock:
            if pool not in self._waiting:
                return
            self._waiting.remove(pool)
        logger.info("the slots of %s go on", pool, extra=action("shift.resumed", pool=pool))
