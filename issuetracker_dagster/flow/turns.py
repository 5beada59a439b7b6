"""Who of a crew may work at the same time: everybody, or one alone.

A message whose workers died twice is handled alone in its process, so that the next death counts for it and for none of
its neighbours.
"""

import threading
from collections.abc import Callable

_LOOK_S = 0.2


class Turns:
    """Shared turns of all slots, and a turn alone. Each `True` is followed by exactly one `leave`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._alone = False

    @property
    def are_open(self) -> bool:
        """Whether a shared turn is to be had at once."""
        return not self._alone

    def enter(self, gives_up: Callable[[], bool]) -> bool:
        """A shared turn; waits while one works alone, or is about to. False when the caller gave up."""
        with self._changed:
            while self._alone:
                if gives_up():
                    return False
                self._changed.wait(_LOOK_S)
            self._working += 1
            return True

    def leave(self, *, alone: bool = False) -> None:
        """The end of a turn; `alone` says which."""
        with self._changed:
            if alone:
                self._alone = False
            else:
                self._working -= 1
            self._changed.notify_all()

    def alone(self, gives_up: Callable[[], bool]) -> bool:
        """Change a shared turn for one alone, once all others have ended theirs.

        False when somebody else has it or waits for it, or the caller gave up; the shared turn is then still held.
        """
        with self._changed:
            if self._alone:
                return False
            self._alone = True
            self._working -= 1
            while self._working and not gives_up():
                self._changed.wait(_LOOK_S)
            if not self._working:
                return True
            self._alone = False
            self._working += 1
            self._changed.notify_all()
            return False

    def shared_again(self) -> None:
        """Change the turn alone back for a shared one."""
        with self._changed:
            self._alone = False
            self._working += 1
            self._changed.notify_all()
