"""Seeds wait while the crawl topics are long, but only where no buffer takes their jobs.

With a buffer that has room and a drainer that lives, nothing is held back for lag: that is what the buffer is for. A
seed that is held back stays due and costs nothing, unlike a job that falls out of a full buffer.
"""

import logging
import threading
from collections.abc import Callable, Mapping

import msgspec

from issuetracker_dagster.errors import LagUnknown, Unavailable
from issuetracker_dagster.model.buffer import BufferState
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import Buffer
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.topics import Lag

logger = logging.getLogger(__name__)

FRESH_S = 3.0
"""How long an answer stands, so that the seeds of one tick cost one question."""

_THROTTLED = (Priority.NORMAL, Priority.LOW)


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """What was found at one look. `unread` in Kafka and `waiting` in the buffers are for normal and low together.

    `buffered` when jobs wait in a buffer that somebody drains. `unread` is None when it isn't known, or when nobody
    needs to know. `full` are the priorities whose buffer takes a job only by dropping another.
    """

    buffered: bool
    full: frozenset[Priority] = frozenset()
    unread: int | None = None
    waiting: int = 0
    unknown: str = ""


def why_held_back(priority: Priority, found: Backlog, limit: int) -> str | None:
    """The reason to leave a seed due, None to publish it; an unknown backlog holds nothing back."""
    if priority in found.full:
        return f"the buffer of {priority.label} jobs is full"
    if found.buffered or found.unread is None:
        return None
    backlog = found.unread + found.waiting
    if backlog <= limit:
        return None
    return f"{backlog} normal and low crawl jobs are waiting, more than {limit} (SCHEDULER_MAX_BACKLOG)"


class BacklogThrottler:
    """Tells the seed schedule what to leave due. Thread-safe.

    `limit` is in crawl jobs, 0 = never hold back. `buffers` by the short name of their topic; `is_on` says whether
    jobs go there, `is_stale` whether nobody drains them. `lag` answers within a bound or raises `LagUnknown`.
    """

    def __init__(
        self,
        *,
        lag: Lag,
        group: str,
        limit: int,
        buffers: Mapping[str, Buffer],
        is_on: Callable[[], bool],
        is_stale: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._lag = lag
        self._group = group
        self._limit = limit
        self._buffers = {priority: buffers[CRAWL_TOPICS[priority]] for priority in _THROTTLED}
        self._is_on = is_on
        self._is_stale = is_stale
        self._clock = clock
        self._lock = threading.Lock()
        self._found = Backlog(buffered=True)
        self._fresh_until: float | None = None
        self._blind = 0
        self._told: set[str] = set()

    def hold_back(self, priority: Priority) -> str | None:
        """The reason to leave a seed of this priority due, None to publish it. High is never held back."""
        if self._limit <= 0 or priority is Priority.HIGH:
            return None
        with self._lock:
            now = self._clock.monotonic()
            if self._fresh_until is None or now >= self._fresh_until:
                self._found = self._look()
                self._fresh_until = self._clock.monotonic() + FRESH_S
                self._tell_blind()
            reason = why_held_back(priority, self._found, self._limit)
            if reason is None and self._found.unknown:
                self._blind += 1
            self._tell_held(priority, reason)
            return reason

    def _look(self) -> Backlog:
        states = self._states()
        is_on, is_drained = self._buffering() if states else (False, False)
        full = frozenset(
            priority
            for priority, state in states.items()
            if is_on and state.waiting >= self._buffers[priority].max_len > 0  # 0 is a buffer without a limit
        )
        waiting = sum(state.backlog for state in states.values())
        if is_drained:
            return Backlog(buffered=True, full=full, waiting=waiting)
        try:
            unread = sum(self._lag.lag(self._group, [CRAWL_TOPICS[priority].value for priority in _THROTTLED]).values())
        except LagUnknown as error:
            return Backlog(buffered=False, full=full, waiting=waiting, unknown=str(error))
        return Backlog(buffered=False, full=full, unread=unread, waiting=waiting)

    def _states(self) -> Mapping[Priority, BufferState]:
        try:
            return {priority: buffer.state() for priority, buffer in self._buffers.items()}
        except Unavailable:
            # Publishers can't reach the buffers either and go straight to Kafka.
            return {}

    def _buffering(self) -> tuple[bool, bool]:
        """Whether jobs that are published now go into a buffer, and whether somebody drains it."""
        try:
            is_on = self._is_on()
            return is_on, is_on and not self._is_stale()
        except Unavailable:
            return False, False

    def _tell_blind(self) -> None:
        if not self._found.unknown and not self._blind:
            return
        logger.warning(
            "%d seeds were published without knowing the backlog%s",
            self._blind,
            f", and it still isn't known: {self._found.unknown}" if self._found.unknown else "; now it is known",
            extra=action("throttle.open", count=self._blind),
        )
        self._blind = 0

    def _tell_held(self, priority: Priority, reason: str | None) -> None:
        """Once when a priority begins to be held back."""
        if reason is None:
            self._told.discard(priority.label)
        elif priority.label not in self._told:
            self._told.add(priority.label)
            logger.warning("%s seeds stay due: %s", priority.label, reason, extra=action("throttle.held"))
