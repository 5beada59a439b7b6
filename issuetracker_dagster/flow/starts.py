"""Counting starts for what no lease counts: written before the handler runs, forgotten once it has ended.

Beside others a message collects only so many starts as make it suspect. Whatever happens while it waits to be alone
isn't its doing, so that start is written when it is alone at last.
"""

import logging
import threading
from collections import Counter
from collections.abc import Collection

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.queue import SUSPECT_DEATHS
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.starts import Starts
from issuetracker_dagster.ports.topics import TopicPartition

logger = logging.getLogger(__name__)


class StartCounts:
    """The starts of one crew. Thread-safe.

    What ended rides on the write of the next start, so a message costs one. While the counts can't be reached work goes
    on uncounted: a poisonous message is then met once more, and nothing is lost. `in_company` is the most starts that
    are counted while others are at work in the same process.
    """

    def __init__(self, starts: Starts, in_company: int = SUSPECT_DEATHS) -> None:
        self._starts = starts
        self._in_company = in_company
        self._lock = threading.Lock()
        self._begun: Counter[str] = Counter()
        self._uncounted: set[str] = set()
        """Met with the starts of earlier workers, which go when it is settled here."""
        self._read_from: dict[str, TopicPartition] = {}
        self._ended: list[str] = []
        self._withdrawn: list[str] = []
        self._is_out = False

    def begin(self, message: Message, *, alone: bool, read_from: TopicPartition | None = None) -> int:
        """Its handler is about to run; returns how often that was the case without an end, this time included.

        More than `in_company` tells that it has to be alone; unless it is, that start isn't counted. `read_from` is the
        partition whose next owner will be handed the message, too.
        """
        identity = message.identity
        with self._lock:
            ended, withdrawn = self._ended, self._withdrawn
            self._ended, self._withdrawn = [], []
        most = None if alone else self._in_company
        failed: Unavailable | None = None
        try:
            count = self._starts.begin(identity, ended, withdrawn, most=most)
        except Unavailable as error:
            self._give_back(ended, withdrawn)
            failed, count = error, 1
        self._say(failed)
        with self._lock:
            if failed is None and most is not None and count > most:
                self._uncounted.add(identity)
            else:  # after a failure, too: the count may have been written all the same
                self._begun[identity] += 1
                if read_from is not None:
                    self._read_from[identity] = read_from
        return count

    def ended(self, message: Message) -> None:
        """It was settled: its starts don't matter any more."""
        self._finish(message, is_settled=True)

    def withdrawn(self, message: Message) -> None:
        """It is given back by a worker that lives: this start doesn't count. Without a start nothing happens."""
        self._finish(message, is_settled=False)

    def handed_over(self, partitions: Collection[TopicPartition]) -> None:
        """Their next owner counts what it begins; what was begun here isn't over, and mustn't look like a death there.

        Asks no server: what is taken back is written with the next start, or by `flush`.
        """
        with self._lock:
            for identity in [one for one, place in self._read_from.items() if place in partitions]:
                self._withdrawn += [identity] * self._begun.pop(identity, 0)
                del self._read_from[identity]

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
            left = self._begun.pop(identity, 0) - 1
            if left > 0:
                self._begun[identity] = left
            else:
                self._read_from.pop(identity, None)
            was_met = identity in self._uncounted
            self._uncounted.discard(identity)
            if left >= 0 or (is_settled and was_met):
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
