"""Sees that the server which holds the code location has died, and asks the web UI to load the code anew.

Dagster starts another one only when somebody presses "Reload": until then every tick fails and no run starts.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from issuetracker_dagster.local import family
from issuetracker_dagster.local.children import Identity, is_alive
from issuetracker_dagster.local.pipeline import Ui
from issuetracker_dagster.local.report import Report, Step

_LOOK_S = 3.0
GONE_S = 6.0
"""How long it is gone before anything is done: a reload, or Dagster itself, may be replacing it at this moment."""
AGAIN_S = 60.0
"""When the UI is asked once more, on a machine that is slow to load the code."""


class CodeServerWatch:
    """What was seen of the code server; `look` often, it does nothing most of the time."""

    def __init__(self, home: Path, ui: Ui, report: Report, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._ui = ui
        self._report = report
        self._youngest: Identity | None = None
        self._monotonic = monotonic
        self._looked_at = self._alive_at = monotonic()
        self._asked_at: float | None = None

    def look(self) -> None:
        """Returns at once; the UI is asked in a thread, since its answer comes when the code is loaded."""
        now = self._monotonic()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        # An older one that lives on with its runs takes no calls any more: only the youngest of all counts.
        known_s = self._youngest.created_s if self._youngest else 0.0
        fresh = [one for one in family.code_servers(self._home) if one.created_s > known_s]
        self._youngest = fresh[-1] if fresh else self._youngest
        if self._youngest is None or is_alive(self._youngest):
            self._is_there(now)
        elif now - self._alive_at > GONE_S and (self._asked_at is None or now - self._asked_at > AGAIN_S):
            self._asked_at = now
            text = f"the code server (pid {self._youngest.pid}) died; its runs end, and the code is loaded anew"
            self._report(Step("dagster", "warning", text))
            threading.Thread(target=self._ui.reload, name="reload", daemon=True).start()

    def _is_there(self, now: float) -> None:
        self._alive_at = now
        if self._asked_at is not None and self._youngest is not None:
            self._report(Step("dagster", "ready", f"the code is loaded again (pid {self._youngest.pid})"))
            self._asked_at = None
