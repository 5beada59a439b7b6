"""Keeps a process from being stopped for long inside a transaction: on SQLite nobody else could write meanwhile.

That is a limit of SQLite and not of an arrow; with PostgreSQL others go on.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event
from sqlalchemy.pool import Pool

PATIENCE_S = 2.0


class Transactions:
    """Those that are open in this process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = 0
        self._held = False
        # By the connections in use: the events of a transaction come before it has ended in the database.
        event.listen(Pool, "checkout", self._begins)
        event.listen(Pool, "checkin", self._ends)

    @contextmanager
    def none(self) -> Iterator[None]:
        """Inside the block none is open, and none begins."""
        with self._changed:
            self._held = True
            self._changed.wait_for(lambda: self._open <= 0, PATIENCE_S)
        try:
            yield
        finally:
            with self._changed:
                self._held = False
                self._changed.notify_all()

    def _begins(self, *_: object) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._held)
            self._open += 1

    def _ends(self, *_: object) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()
