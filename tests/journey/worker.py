"""A shift in a process of its own, for tests that kill it: notes each root id in a file before and after its work.

Run as `python -m tests.journey.worker STAGE LEDGER`; settings come from the environment.
"""

import sys
import time
from pathlib import Path

from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.stage_work import RecordingHandler, running_shift

HANDLER_S = 0.02


def main(stage: Stage, ledger: Path) -> None:
    with ledger.open("a", buffering=1) as lines:

        def work(root_id: str) -> None:
            lines.write(f"began {root_id}\n")
            time.sleep(HANDLER_S)  # this is the work, not a wait
            lines.write(f"ended {root_id}\n")

        with running_shift(Wiring(Settings(env_file=None)), stage, RecordingHandler(stage, work)):
            sys.stdin.read()  # until the test closes the pipe


if __name__ == "__main__":
    main(Stage(sys.argv[1]), Path(sys.argv[2]))
