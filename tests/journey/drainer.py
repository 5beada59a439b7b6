"""Drain runs in a process of its own, one after the other until its input is closed, for tests that kill it.

Run as `python -m tests.journey.drainer`; settings come from the environment.
"""

import logging
import os
import sys
import threading

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow import drain
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

LOCK_TTL_VARIABLE = "TEST_DRAIN_LOCK_TTL_MS"
RUN_MS = 3_600_000


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(message)s")
    # A lock as in production would keep a test waiting for a minute and a half after each kill.
    drain.LOCK_TTL_MS = int(os.environ.get(LOCK_TTL_VARIABLE, drain.LOCK_TTL_MS))
    drain.RENEW_S = drain.LOCK_TTL_MS / 6_000
    ended = threading.Event()
    threading.Thread(target=_until_closed, args=(ended,), daemon=True).start()
    wiring = Wiring(Settings(env_file=None))
    while not ended.is_set():
        try:
            summary = wiring.drainer().run(
                accepts=lambda: True,
                control=lambda: "its input was closed" if ended.is_set() else None,
                duration_ms=RUN_MS,
            )
            if summary.reason != drain.BUSY:
                logging.info("%s", summary)
        except Unavailable as error:
            logging.info("%s", error)
        ended.wait(0.1)
    wiring.close()


def _until_closed(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    main()
