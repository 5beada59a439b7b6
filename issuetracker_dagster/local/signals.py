"""Turns the signals that end a command into a clean stop: Ctrl-C, SIGTERM and a closed terminal mean the same here."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Counts the requests to end. The first one, unless `held`, also raises KeyboardInterrupt where the program stands.

    Later ones don't raise, so that an impatient second Ctrl-C can't break off the cleaning up after the first.
    """

    def __init__(self) -> None:
        self.count = 0
        self._held = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within this block requests are only counted: for what must be finished, or watches `count` itself."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def receive(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self.count += 1
        if self.count == 1 and not self._held:
            raise KeyboardInterrupt


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Handle the ending signals for the length of the block, and restore what was there. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("signals can be handled in the main thread only")
    received = Interrupts()
    before = {number: signal.signal(number, received.receive) for number in _ENDING}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
