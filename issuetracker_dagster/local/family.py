"""All processes of one `dagster dev`: its daemon, code servers and runs, however far they have moved from their parent.

They are known by a variable in the environment they were started with: children of children inherit it, and orphans
keep it, while process groups and parents change.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from issuetracker_dagster.local.children import FAMILY_MARK, Identity, is_alive

_POLL_S = 0.1


def members(home: Path) -> list[Identity]:
    """Every living process of a `dagster dev` of this home."""
    found: list[Identity] = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if (
                one.pid != os.getpid()
                and one.environ().get(FAMILY_MARK) == str(home)
                and one.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(Identity(one.pid, one.create_time()))
    return found


def end(home: Path, *, grace_s: float, hurry: Callable[[], bool] = lambda: False) -> int:
    """Interrupt the whole family once, as Ctrl-C in a terminal would, wait, and kill who is left.

    Runs use the time to finish what they hold. `hurry` turning true ends the wait. Returns how many had to be killed.
    """
    for one in members(home):
        if not _ends_with_its_parent(one):
            _send(one, signal.SIGINT)
    deadline = time.monotonic() + grace_s
    while members(home) and time.monotonic() < deadline and not hurry():
        time.sleep(_POLL_S)
    killed: set[Identity] = set()
    # One that was forked between two looks is caught by the next.
    while left := members(home):
        for one in left:
            _send(one, signal.SIGKILL)
        killed.update(left)
        time.sleep(_POLL_S)
    return len(killed)


def _ends_with_its_parent(identity: Identity) -> bool:
    """Dagster's own watchers of orphans; an interrupt would only have each of them print a traceback."""
    with contextlib.suppress(psutil.Error):
        return any(word.endswith("watch_orphans.py") for word in psutil.Process(identity.pid).cmdline())
    return False


def _send(identity: Identity, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        if is_alive(identity):
            os.kill(identity.pid, number)
