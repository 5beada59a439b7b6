"""Single keys from a terminal, without waiting for Return."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def pressed() -> Iterator[Callable[[float], str]]:
    """Yields what waits so many seconds for a key: the key, or "" when none came, or when there is no terminal to ask.

    The terminal is as it was before, however the block ends. Ctrl-C stays an interrupt.
    """
    if not sys.stdin.isatty():
        yield _no_key
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield lambda seconds: _key(handle, seconds)
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _no_key(seconds: float) -> str:
    time.sleep(max(0.0, seconds))
    return ""


def _key(handle: int, seconds: float) -> str:
    ready, _, _ = select.select([handle], [], [], max(0.0, seconds))
    # Not through sys.stdin: it would take all keys at once, and those behind the first would be asked for in vain.
    return os.read(handle, 1).decode("ascii", "replace") if ready else ""
