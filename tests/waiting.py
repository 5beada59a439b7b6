"""Waiting for a condition with a deadline, the only way in which a test may wait."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], timeout_s: float = 10.0, interval_s: float = 0.02) -> T:
    """The first truthy value of `condition`; raises AssertionError with the last value when the deadline passes."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s; last value: {value!r}")
        time.sleep(interval_s)


def stays(condition: Callable[[], bool], for_s: float, interval_s: float = 0.2) -> bool:
    """Whether `condition` holds each time it is looked at for that long."""
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        if not condition():
            return False
        time.sleep(interval_s)
    return True
