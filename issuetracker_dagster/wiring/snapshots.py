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
    """Calling it gives the value of the moment, at most `every_s` old when its source answers. Thread-safe."""

    def __init__(self, load: Callable[[], T], initial: T, every_s: float) -> None:
        self._load = load
        self._value = initial
        self._every_s = every_s
        self._loaded_at = float("-inf")
        self._lock = threading.Lock()

    def __call__(self) -> T:
        if time.monotonic() - self._loaded_at > self._every_s and self._lock.acquire(blocking=False):
            try:
                self._loaded_at = time.monotonic()
                self._value = self._load()
            except (Unavailable, ValueError) as error:
                logger.warning("rules stay as they were: %s", error, extra=action("database.unavailable"))
            finally:
                self._lock.release()
        return self._value
