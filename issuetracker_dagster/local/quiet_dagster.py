"""The `dagster` command, started by `issuetracker dev` with what would bury its own lines taken away.

Run as `python -m issuetracker_dagster.local.quiet_dagster ARGUMENTS`. It says nothing less about failures.
"""

import logging
import os
import re
import runpy
import signal
import sys
import warnings

_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_NOT_FOR_US = ("Found a dagster instance configuration value", "Function `dev_command` is superseded")
"""dagster.yaml is copied to DAGSTER_HOME at each start, and `dg dev` would want a project of its own kind."""


def is_news(record: logging.LogRecord) -> bool:
    """Whether a record of Dagster's logger is one that a user can do something about."""
    return not record.getMessage().startswith(_NOT_FOR_US)


def without_colours() -> None:
    """Pass what this process and its children write to stdout on without colours, in whole lines.

    Dagster colours its logs wherever they go. A process of its own does it, which ends with the last writer: were it a
    thread, a kill of this process would have the runs that outlive it write into a closed pipe.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(writing)
        # The interrupt that ends the family has the others say something still.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _copy(reading)
        os._exit(0)
    os.close(reading)
    os.dup2(writing, sys.stdout.fileno())
    os.close(writing)


def _copy(reading: int) -> None:
    closed = False
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            try:
                if not closed:
                    os.write(sys.stdout.fileno(), _COLOUR.sub(b"", line))
            except OSError:
                # Nobody reads any more; the writers mustn't notice.
                closed = True


def main() -> None:
    """Run Dagster's command line with the arguments of this process."""
    if not sys.stdout.isatty():
        without_colours()
    warnings.filterwarnings("ignore", message=re.escape(_NOT_FOR_US[1]))
    logging.getLogger("dagster").addFilter(is_news)
    runpy.run_module("dagster", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
