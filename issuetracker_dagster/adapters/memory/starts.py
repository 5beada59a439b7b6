"""Start counts of one process, for tests of the flow."""

import threading
from collections import Counter
from collections.abc import Sequence


class MemoryStarts:
    """`Starts` that several crews of a test share, as processes share Redis."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def begin(
        self, identity: str, ended: Sequence[str] = (), withdrawn: Sequence[str] = (), *, most: int | None = None
    ) -> int:
        self.note(ended, withdrawn)
        with self._lock:
            count = self.counts[identity] + 1
            if most is None or count <= most:
                self.counts[identity] = count
            return count

    def note(self, ended: Sequence[str], withdrawn: Sequence[str]) -> None:
        with self._lock:
            for identity in withdrawn:
                if self.counts.get(identity, 0) <= 1:
                    del self.counts[identity]
                else:
                    self.counts[identity] -= 1
            for identity in ended:
                self.counts.pop(identity, None)

    def close(self) -> None:
        """Nothing to let go of."""
