"""The buffer before Kafka in memory, and the switch of buffering: the promises of the ones on Redis."""

import threading
from collections import deque
from collections.abc import Sequence
from itertools import islice

from issuetracker_dagster.errors import StaleLease
from issuetracker_dagster.model.buffer import BufferState, buffered_ms_of
from issuetracker_dagster.ports.buffer import SWITCH_LASTS_MS
from issuetracker_dagster.ports.clock import Clock


class MemoryBuffer:
    """`Buffer` of one process; threads may share it."""

    def __init__(self, name: str, *, max_len: int = 0) -> None:
        self._name = name
        self._max_len = max_len
        self._lock = threading.Lock()
        self._line: deque[bytes] = deque()
        self._draining: dict[int, list[bytes]] = {}
        self._outbox: list[bytes] = []
        self._paused: tuple[str, ...] = ()
        self._epoch = 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def max_len(self) -> int:
        return self._max_len

    def push(self, entries: Sequence[bytes]) -> int:
        with self._lock:
            self._line.extend(entries)
            surplus = max(0, len(self._line) - self._max_len) if entries and self._max_len else 0
            self._outbox += [self._line.popleft() for _ in range(surplus)]
            return surplus

    def recover(self, epoch: int) -> int:
        with self._lock:
            self._fence(epoch)
            older = sorted((one for one in self._draining if one < epoch), reverse=True)
            return sum(self._return(one) for one in older)

    def take(self, epoch: int, limit: int) -> Sequence[bytes]:
        with self._lock:
            self._fence(epoch)
            return self._take(epoch, limit)

    def peek(self, limit: int) -> Sequence[bytes]:
        with self._lock:
            return tuple(islice(self._line, max(limit, 0)))

    def advance(self, epoch: int, limit: int) -> Sequence[bytes]:
        with self._lock:
            self._fence(epoch)
            self._draining.pop(epoch, None)
            return self._take(epoch, limit)

    def done(self, epoch: int) -> None:
        with self._lock:
            self._draining.pop(epoch, None)

    def put_back(self, epoch: int) -> int:
        with self._lock:
            if epoch < self._epoch:
                return 0
            self._epoch = epoch
            return self._return(epoch)

    def state(self) -> BufferState:
        with self._lock:
            first = self._draining[min(self._draining)] if self._draining else self._line
            return BufferState(
                waiting=len(self._line),
                draining=sum(map(len, self._draining.values())),
                outbox=len(self._outbox),
                oldest_ms=buffered_ms_of(first[0]) if first else 0,
                paused=bool(self._paused),
            )

    def outbox(self, limit: int) -> Sequence[bytes]:
        with self._lock:
            return tuple(self._outbox[: max(limit, 0)])

    def outbox_remove(self, entries: Sequence[bytes]) -> int:
        removed = 0
        with self._lock:
            for entry in entries:
                if entry in self._outbox:
                    self._outbox.remove(entry)
                    removed += 1
        return removed

    def pause(self, epoch: int, identities: Sequence[str]) -> None:
        with self._lock:
            self._check(epoch)
            self._paused = tuple(identities)

    def paused(self) -> Sequence[str]:
        with self._lock:
            return self._paused

    def resume(self, epoch: int) -> None:
        self.pause(epoch, ())

    def _take(self, epoch: int, limit: int) -> Sequence[bytes]:
        if epoch not in self._draining:
            taken = [self._line.popleft() for _ in range(min(limit, len(self._line)))]
            if not taken:
                return ()
            self._draining[epoch] = taken
        return tuple(self._draining[epoch])

    def _fence(self, epoch: int) -> None:
        self._check(epoch)
        self._epoch = epoch

    def _check(self, epoch: int) -> None:
        if epoch < self._epoch:
            raise StaleLease(f"epoch {epoch} of {self._name} was fenced out by {self._epoch}")

    def _return(self, epoch: int) -> int:
        entries = self._draining.pop(epoch, [])
        self._line.extendleft(reversed(entries))
        return len(entries)


class MemoryBufferSwitch:
    """`BufferSwitch` of one process."""

    def __init__(self, clock: Clock, *, lasts_ms: int = SWITCH_LASTS_MS) -> None:
        self._clock = clock
        self._lasts_s = lasts_ms / 1000
        self._on_until = float("-inf")

    def is_on(self) -> bool:
        return self._clock.monotonic() < self._on_until

    def turn(self, *, on: bool) -> None:
        self._on_until = self._clock.monotonic() + self._lasts_s if on else float("-inf")
