"""`dagster dev` of a home from start to end. It is started again when it ends by itself, and has its code loaded anew
when the server that held it died: Dagster does neither, and nothing would be crawled any more.
"""

import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from issuetracker_dagster.local import children, family
from issuetracker_dagster.local.alone import STOP_GRACE_S
from issuetracker_dagster.local.children import Identity
from issuetracker_dagster.local.clearing import Clearing
from issuetracker_dagster.local.code_server import CodeServerWatch
from issuetracker_dagster.local.pipeline import Prepared, Ui
from issuetracker_dagster.local.report import Phase, Report, Step
from issuetracker_dagster.local.signals import Interrupts

MOST_STARTS, WITHIN_S = 4, 900.0
"""Starts within so many seconds after which it isn't started again: what ends it then isn't an accident."""
_POLL_S = 0.2


class DagsterDev:
    """Runs until it is asked to end or can't be kept at work. `env` is what its processes are started with."""

    def __init__(self, home: Path, ui: Ui, env: Mapping[str, str], prepared: Prepared, report: Report) -> None:
        self._home = home
        self._ui = ui
        self._env = {**env, **prepared.environment, children.FAMILY_MARK: str(home)}
        self._prepared = prepared
        self._report = report
        self._was_ready = False

    def run(self, received: Interrupts, clearing: Clearing) -> int:
        """The exit code: 0 when it was asked to end, else Dagster's own, never 0. Nothing of it is left behind.

        `clearing` is waited for first.
        """
        starts: deque[float] = deque(maxlen=MOST_STARTS)
        with received.held():
            try:
                while True:
                    starts.append(time.monotonic())
                    clearing.finish(self._report)
                    code = 0 if received.count else self._once(received)
                    if received.count:
                        return 0
                    if not self._was_ready or (len(starts) == MOST_STARTS and starts[-1] - starts[0] < WITHIN_S):
                        return code or 1
                    # The next one must find neither runs nor servers of this one; the demo's site goes on.
                    self._end(received, self._prepared.beside)
                    clearing = Clearing(self._home)
                    self._tell("warning", "it is started again; what was in work is done again")
            finally:
                if received.count:
                    self._tell("note", "stopping; once more Ctrl-C kills what still works")
                self._end(received)
                self._tell("stopped", "stopped")

    def _once(self, received: Interrupts) -> int:
        """Start it and return its exit code, or at the first request to end."""
        parent = children.spawn(self._ui.command(), log=None, cwd=Path.cwd(), env=self._env)
        self._tell("note", f"starting (pid {parent.pid}), within a minute; Ctrl-C stops all")
        watch = CodeServerWatch(self._home, self._ui, self._report)
        is_ready = False
        while children.is_alive(parent) and not received.count:
            if not is_ready and self._ui.answers():
                is_ready = True
                self._ready()
            if is_ready:
                watch.look()
            time.sleep(_POLL_S)
        code = children.exit_code(parent)
        if not received.count:
            self._tell("warning", f"ended by itself with exit code {code}; its last lines say why")
        return code

    def _ready(self) -> None:
        self._tell("ready", self._ui.url)
        if not self._was_ready:
            for line in self._prepared.hints:
                self._report(Step("", "note", line))
        self._was_ready = True

    def _end(self, received: Interrupts, spared: tuple[Identity, ...] = ()) -> None:
        seen = received.count
        killed = family.end(self._home, grace_s=STOP_GRACE_S, hurry=lambda: received.count > seen, spared=spared)
        if killed:
            self._tell("warning", f"{killed} processes didn't end in time and were killed")

    def _tell(self, phase: Phase, text: str) -> None:
        self._report(Step("dagster", phase, text))
