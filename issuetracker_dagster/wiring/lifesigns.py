"""Heartbeats of a run, written by a thread of their own so that a busy one is never taken for a dead one."""

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.wiring.parts import Wiring

logger = logging.getLogger(__name__)


@contextmanager
def signs_of_life(wiring: Wiring, name: str, slot: int, run_id: str) -> Iterator["LifeSigns"]:
    """Beat under a stage's or another job's name until the block ends, and once more then. A Redis that is out only
    silences it.
    """
    signs = LifeSigns(wiring, name, slot, run_id)
    signs.start()
    try:
        yield signs
    finally:
        signs.stop()


class LifeSigns:
    """The beating thread; `tell`, once set, gives the mode and counts that are told along."""

    def __init__(self, wiring: Wiring, name: str, slot: int, run_id: str) -> None:
        self._heartbeats = wiring.heartbeats
        self._every_s = wiring.settings.shift.worker_heartbeat / 1000
        self._name = name
        self._slot = slot
        self._run_id = run_id
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self.tell: Callable[[], Mapping[str, object]] = lambda: {"mode": "starting"}

    def start(self) -> None:
        """Beat at once, then on."""
        self._thread.start()

    def stop(self) -> None:
        """Beat a last time. The sign isn't taken away: Dagster still has to write down that the run has ended, and
        until then a run without one would count as dead."""
        self._stop.set()
        self._thread.join(timeout=5)
        self._beat()

    def _run(self) -> None:
        self._beat()
        while not self._stop.wait(self._every_s):
            self._beat()

    def _beat(self) -> None:
        try:
            self._heartbeats.beat(self._name, self._slot, self._run_id, self._info())
        except Unavailable as error:
            logger.warning("no heartbeat: %s", error, extra=action("redis.unavailable"))
        except Exception:
            # Whatever a bug here costs, it isn't the thread: its silence would have a healthy shift replaced.
            logger.exception("a bug in a heartbeat", extra=action("handler.bug", worker=self._name))

    def _info(self) -> dict[str, str]:
        return {"pid": str(os.getpid())} | {name: str(told) for name, told in self.tell().items()}
