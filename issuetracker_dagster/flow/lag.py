"""A question about lag that takes too long counts as unanswered: nothing waits for a broker that hangs."""

import threading
from collections.abc import Mapping, Sequence

from issuetracker_dagster.errors import LagUnknown
from issuetracker_dagster.ports.topics import Lag, TopicPartition


class _Question:
    """One question on its way, in a thread of its own."""

    def __init__(self, lag: Lag, group: str, topics: Sequence[str]) -> None:
        self._answer: Mapping[TopicPartition, int] | None = None
        self._error: BaseException | None = None
        self._ask = (lag, group, tuple(topics))
        # Daemon: a process that ends doesn't wait for it either.
        self._thread = threading.Thread(target=self._run, name="lag", daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Whether it was answered."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def answer(self) -> Mapping[TopicPartition, int]:
        if self._error is not None:
            raise self._error
        return self._answer or {}

    def _run(self) -> None:
        lag, group, topics = self._ask
        try:
            self._answer = lag.lag(group, topics)
        except BaseException as error:  # noqa: BLE001 -- raised again in the thread that asked, bugs included
            self._error = error


class LagWithin:
    """`Lag` with a bound in real time; raises `LagUnknown` past it. Thread-safe.

    While a late question is still open no other one is asked, so that a broker that hangs holds one thread and not
    one more with every try.
    """

    def __init__(self, lag: Lag, timeout_ms: int) -> None:
        self._lag = lag
        self._timeout_ms = timeout_ms
        self._lock = threading.Lock()
        self._open: _Question | None = None

    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        with self._lock:
            if self._open is not None and not self._open.wait(self._timeout_ms / 1000):
                raise self._late()
            self._open = _Question(self._lag, group, topics)
            if not self._open.wait(self._timeout_ms / 1000):
                raise self._late()
            question, self._open = self._open, None
        return question.answer()

    def _late(self) -> LagUnknown:
        return LagUnknown(f"the lag wasn't known within {self._timeout_ms} ms")
