"""Throws the faults of a plan, each in a thread of its own, and notes how each went."""

import sqlite3
import threading
import time

import msgspec
import psutil

from issuetracker_dagster.errors import IssueTrackerError
from tests.soak.faults import Faults, NoTarget
from tests.soak.plan import SHAPES, Fault

TARGET_WITHIN_S = 60.0
NO_TARGET = "no target"


class Thrown(msgspec.Struct):
    """A fault as it went. Times in Unix milliseconds; `target` is whom it met, empty when nobody was there."""

    fault: Fault
    began_ms: int
    ended_ms: int = 0
    target: str = ""
    error: str = ""


class Thrower:
    """Faults that need the same wait for each other. `ending` being set ends those that last."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.ending = faults.ending
        self.thrown: list[Thrown] = []
        self._threads: list[threading.Thread] = []
        self._needs = {shape.needs: threading.Lock() for shape in SHAPES.values()}

    def throw(self, fault: Fault) -> None:
        """Begin this fault now; returns at once."""
        thread = threading.Thread(target=self._run, args=(fault,), name=f"fault {fault.number}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, timeout_s: float) -> bool:
        """Wait for those that still last; whether all have ended."""
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, fault: Fault) -> None:
        # The plan keeps them apart; on a slow machine one may last longer than it was given.
        with self._needs[SHAPES[fault.kind].needs]:
            if self.ending.is_set():
                return
            thrown = Thrown(fault, _now_ms())
            self.thrown.append(thrown)
            self._hit(fault, thrown)
            thrown.ended_ms = _now_ms()

    def _hit(self, fault: Fault, thrown: Thrown) -> None:
        deadline = time.monotonic() + TARGET_WITHIN_S
        while True:
            try:
                thrown.target = self._faults.hit(fault)
            except (NoTarget, psutil.Error) as missing:
                if time.monotonic() < deadline and not self.ending.wait(2.0):
                    continue
                thrown.error = f"{NO_TARGET}: {missing}"
            except (IssueTrackerError, OSError, AssertionError, KeyError, TypeError, sqlite3.Error) as error:
                thrown.error = f"{type(error).__name__}: {error}"[:300]
            return


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
