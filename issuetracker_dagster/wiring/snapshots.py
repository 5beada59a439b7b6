"""A value that is read from somewhere now and then and swapped whole; a failed read keeps the last one."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Snapshot(Generic[T]):
    """Calling it gives the value of the moment, at most `every_s` old when its source answers. Thread-safe.

    The first callers wait for the first value. While the source can't be reached and never could, calling raises
    `Unavailable`: `initial` stands in only for a value that is there and can't be used.
    """

    def __init__(self, load: Callable[[], T], initial: T, every_s: float) -> None:
        self._load = load
        self._value = initial
        self._every_s = every_s
        self._loaded_at = float("-inf")
        self._has_value = False
        self._lock = threading.Lock()

    def __call__(self) -> T:
        if self._is_old() and self._lock.acquire(blocking=not self._has_value):
            try:
                if self._is_old():
                    self._look()
            finally:
                self._lock.release()
        return self._value

    def _is_old(self) -> bool:
        return not self._has_value or time.monotonic() - self._loaded_at > self._every_s

    def _look(self) -> None:
        self._loaded_at = time.monotonic()
        try:
            self._value = self._load()
        except (Unavailable, ValueError) as error:
            if isinstance(error, Unavailable) and not self._has_value:
                raise
            logger.warning("rules stay as they were: %s", error, extra=action("database.unavailable"))
        self._has_value = True
