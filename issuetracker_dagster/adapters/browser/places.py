"""How many pages are rendered at once, and for whom: a slow page of the archive mustn't hold up a breaking one."""

import threading


class Places:
    """`count` places, the last of them kept for the urgent where there are two or more. Thread-safe."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._kept = 1 if count > 1 else 0
        self._changed = threading.Condition()

    def take(self, *, is_urgent: bool, wait_s: float) -> bool:
        """Whether a place became free within that time."""
        spared = 0 if is_urgent else self._kept
        with self._changed:
            if not self._changed.wait_for(lambda: self._free > spared, wait_s):
                return False
            self._free -= 1
            return True

    def give_back(self) -> None:
        """Somebody else may have the place."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()
