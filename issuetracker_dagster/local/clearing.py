"""Ends the runs that a Dagster which is gone left behind in a home, before the next one starts there.

A kill or a power cut leaves them at work for ever, and so does any end for a run that was still importing. A program of
its own does it (`defs.left_over`): this package knows nothing of Dagster's runs.
"""

import logging
import os
import subprocess
import sys
from pathlib import Path

from issuetracker_dagster.local.children import FAMILY_MARK
from issuetracker_dagster.local.pipeline import dagster_home
from issuetracker_dagster.local.report import Report, Step
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

_MODULE = "issuetracker_dagster.defs.left_over"
_LONGEST_S = 120.0


class Clearing:
    """The program at work from here on, while nothing else of Dagster is; `finish` it before anything starts.

    It imports Dagster for two seconds, so begin it before the servers are started, which takes longer.
    """

    def __init__(self, home: Path) -> None:
        self._process: subprocess.Popen[str] | None = None
        folder = dagster_home(home)
        if (folder / "history").is_dir():  # in a new home nothing has run
            self._process = subprocess.Popen(  # noqa: S603 - argv comes from this package
                [sys.executable, "-m", _MODULE],
                env={**os.environ, "DAGSTER_HOME": str(folder), FAMILY_MARK: str(home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )

    def finish(self, report: Report) -> None:
        """Wait for it and say how many runs were ended, if any. When it fails, the supervisors will find out."""
        if self._process is None:
            return
        try:
            said, _ = self._process.communicate(timeout=_LONGEST_S)
            count = int(said)
        except (subprocess.TimeoutExpired, ValueError) as error:
            self._process.kill()
            self._process.wait()
            logger.warning("runs left behind stay for the supervisors: %s", error, extra=action("slot.zombie"))
        else:
            if count:
                text = f"{count} {'run' if count == 1 else 'runs'} that nobody works on any more ended as failed"
                report(Step("dagster", "note", text))
