"""Counting starts for messages that no lease counts: written before the handler runs, forgotten once it has ended."""

import logging
import threading
from collections import Counter

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.starts import Starts

logger = logging.getLogger(__name__)


class StartCounts:
    """The starts of one crew. Thread-safe.

    What ended rides on the write of the next start, so a message costs one. While the counts can't be reached work goes
    on uncounted: a poisonous message is then met once more, and nothing is lost.
    """

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._lock = threading.Lock()
        self._begun: Counter[str] = Counter()
        self._ended: list[str] = []
        self._withdrawn: list[str] = []
        self._is_out = False

    def begin(self, message: Message) -> int:
        """Its handler is about to run; returns how often that was the case without an end, this time included."""
        identity = message.identity
        with self._lock:
            self._begun[identity] += 1
            ended, withdrawn = self._ended, self._withdrawn
            self._ended, self._withdrawn = [], []
        try:
            count = self._starts.begin(identity, ended, withdrawn)
        except Unavailable as error:
            self._give_back(ended, withdrawn)
            self._say(error)
            return 1
        self._say(None)
        return count

    def ended(self, message: Message) -> None:
        """It was settled: its starts don't matter any more."""
        self._finish(message, is_settled=True)

    def withdrawn(self, message: Message) -> None:
        """It is given back by a worker that lives: this start doesn't count. Without a start nothing happens."""
        self._finish(message, is_settled=False)

    def flush(self) -> None:
        """Write what waits for a next start."""
        with self._lock:
            ended, withdrawn = self._ended, self._withdrawn
            self._ended, self._withdrawn = [], []
        if ended or withdrawn:
            try:
                self._starts.note(ended, withdrawn)
            except Unavailable as error:
                self._give_back(ended, withdrawn)
                self._say(error)

    def close(self) -> None:
        """Write what waits, and let go."""
        self.flush()
        self._starts.close()

    def _finish(self, message: Message, *, is_settled: bool) -> None:
        identity = message.identity
        with self._lock:
            if not self._begun[identity]:
                del self._begun[identity]
                return
            self._begun[identity] -= 1
            if not self._begun[identity]:
                del self._begun[identity]
            (self._ended if is_settled else self._withdrawn).append(identity)

    def _give_back(self, ended: list[str], withdrawn: list[str]) -> None:
        with self._lock:
            # Bounded, whatever the outage takes: a count that stays too high is forgotten after a day.
            self._ended = (ended + self._ended)[-10_000:]
            self._withdrawn = (withdrawn + self._withdrawn)[-10_000:]

    def _say(self, error: Unavailable | None) -> None:
        """One warning an outage."""
        with self._lock:
            is_news, self._is_out = (error is not None) and not self._is_out, error is not None
        if is_news:
            logger.warning("starts aren't counted: %s", error, extra=action("redis.unavailable"))
