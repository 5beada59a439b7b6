"""Stops its own process exactly at an arrow, by a signal raised between two calls of a port."""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.queue import Claim
from tests.crash.arrows import Arrow, Blow
from tests.crash.transactions import Transactions

SECOND_INTERRUPT_S = 0.003
LOOKS = frozenset(("acquire", "claim", "due", "outbox", "poll", "reap", "take"))
"""Calls that look for work, and count only when they find some."""


class Fate:
    """What happens to this process, and where: once. `struck` is written a moment before."""

    def __init__(self, arrow: Arrow, blow: Blow, struck: Path) -> None:
        self._arrow = arrow
        self._blow = blow
        self._struck = struck
        self._lock = threading.Lock()
        self._left = arrow.nth
        self._armed = not arrow.armed
        self._transactions = Transactions()

    def awaits(self, part: str) -> bool:
        """Whether the arrow is at a call of that part."""
        return self._arrow.part == part

    def wrap(self, part: Any) -> Any:
        """The part, with the arrow in it."""
        return _Mortal(part, self._arrow.call, self.around, self._arrow.armed, self._arm)

    def _arm(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        result = call(*args, **options)
        self._armed = True
        return result

    def around(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """The call, and the blow before or after it when its time has come."""
        if self._arrow.side == "before":
            if self._is_at(args, None):
                self._strike()
            return call(*args, **options)
        result = call(*args, **options)
        if self._is_at(args, result):
            self._strike()
        return result

    def _is_at(self, args: Sequence[Any], result: Any) -> bool:
        if not self._armed or self._found_nothing(result) or not _goes_to(args, self._arrow.topic):
            return False
        with self._lock:
            self._left -= 1
            return self._left == 0

    def _found_nothing(self, result: Any) -> bool:
        """Whether a call that looks for work found none."""
        found = result.leases if isinstance(result, Claim) else result
        return self._arrow.side == "after" and self._arrow.call in LOOKS and not found

    def _strike(self) -> None:
        self._struck.touch()
        match self._blow:
            case Blow.KILL:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)  # the signal is on its way
            case Blow.TERM:
                os.kill(os.getpid(), signal.SIGTERM)
            case Blow.INT_TWICE:
                threading.Timer(SECOND_INTERRUPT_S, os.kill, (os.getpid(), signal.SIGINT)).start()
                os.kill(os.getpid(), signal.SIGINT)
            case Blow.STOP:
                # To this thread and not to the process: so it is this one that stops here, and the others with it.
                with self._transactions.none():
                    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


class _Mortal:
    """A part of which one method may be the last."""

    def __init__(self, part: Any, call: str, around: Callable[..., Any], armed: str, arm: Callable[..., Any]) -> None:
        self._part = part
        self._around = {call: around, armed: arm}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        around = self._around.get(name)
        return partial(around, found) if around else found


def _goes_to(args: Sequence[Any], topic: str) -> bool:
    if not topic:
        return True
    records = args[0] if args else ()
    return any(isinstance(record, Outgoing) and record.topic == topic for record in records)
