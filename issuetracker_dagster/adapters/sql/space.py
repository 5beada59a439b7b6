"""Giving the free pages of an SQLite file back to the disk, beside whoever writes to it.

PostgreSQL does the same by itself. Standard library only: Dagster's own files are shrunk by it, too.
"""

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

WORTH_BYTES = 8 * 1024 * 1024
WORTH_SHARE = 0.25
"""Less free space than that is left to later rows."""
WHOLE_MOST_BYTES = 128 * 1024 * 1024
"""A file is rewritten whole only up to this much content: all who write wait for it, about a second."""
STEP_PAGES = 1_000
BUSY_S = 5.0
_INCREMENTAL = 2


def give_back(path: Path, control: Callable[[], str | None] = lambda: None) -> int:
    """Shrink the file where that is worth it; returns by how many bytes, 0 also when others kept it locked.

    A file that can shrink in steps does, with pauses as long as the steps. Another one is rewritten once, if its
    content is small enough, and can from then on; a large one keeps its free pages for later rows.
    """
    if not path.exists():
        return 0
    before = path.stat().st_size
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)) as connection:
            free, content = _bytes(connection, "freelist_count"), before - _bytes(connection, "freelist_count")
            if free < max(WORTH_BYTES, WORTH_SHARE * before):
                return 0
            if _pragma(connection, "auto_vacuum") == _INCREMENTAL:
                _in_steps(connection, control)
            elif content <= WHOLE_MOST_BYTES:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("VACUUM")
            # Until it is copied back the file itself is as long as before.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        logger.info("%s isn't shrunk now: %s", path, error, extra=action("purge.skipped", sweep="space"))
    return max(0, before - path.stat().st_size)


def _in_steps(connection: sqlite3.Connection, control: Callable[[], str | None]) -> None:
    while _pragma(connection, "freelist_count") and not control():
        began = time.monotonic()
        # As a script: `execute` leaves this statement after its first page.
        connection.executescript(f"PRAGMA incremental_vacuum({STEP_PAGES});")
        time.sleep(time.monotonic() - began)


def _bytes(connection: sqlite3.Connection, name: str) -> int:
    return _pragma(connection, name) * _pragma(connection, "page_size")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
