"""Start counts in a small file, for direct mode without Redis: shared by the processes of one machine.

It outlives a process that is killed, which is what it is for. It isn't synced, so it may miss what a machine was doing
when it lost its power; and a worker on another machine doesn't see it.
"""

import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from issuetracker_dagster.errors import Unavailable

KEPT_S = 86_400
_BUSY_S = 2.0


class LocalStarts:
    """`Starts` of a group in the file `path`. Thread-safe. A file that can't be used gives `Unavailable`."""

    def __init__(self, path: Path, group: str) -> None:
        self._path = path
        self._group = group
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def begin(
        self, identity: str, ended: Sequence[str] = (), withdrawn: Sequence[str] = (), *, most: int | None = None
    ) -> int:
        return self._write(identity, ended, withdrawn, most)

    def note(self, ended: Sequence[str], withdrawn: Sequence[str]) -> None:
        if ended or withdrawn:
            self._write(None, ended, withdrawn)

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _write(self, begun: str | None, ended: Sequence[str], withdrawn: Sequence[str], most: int | None = None) -> int:
        with self._lock:
            try:
                connection = self._connection or self._open()
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    self._forget(connection, ended, withdrawn)
                    return self._count(connection, begun, most) if begun is not None else 0
            except (sqlite3.Error, OSError) as error:
                raise Unavailable(f"the start counts in {self._path} (ISSUETRACKER_HOME): {error}") from error

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS starts (consumers TEXT, identity TEXT, starts INTEGER, at_s REAL, "
            "PRIMARY KEY (consumers, identity)) WITHOUT ROWID"
        )
        connection.execute("DELETE FROM starts WHERE at_s < ?", (time.time() - KEPT_S,))
        self._connection = connection
        return connection

    def _forget(self, connection: sqlite3.Connection, ended: Sequence[str], withdrawn: Sequence[str]) -> None:
        for gone in withdrawn:
            connection.execute(
                "UPDATE starts SET starts = starts - 1 WHERE consumers = ? AND identity = ?", (self._group, gone)
            )
            connection.execute(
                "DELETE FROM starts WHERE consumers = ? AND identity = ? AND starts < 1", (self._group, gone)
            )
        connection.executemany(
            "DELETE FROM starts WHERE consumers = ? AND identity = ?", [(self._group, gone) for gone in ended]
        )

    def _count(self, connection: sqlite3.Connection, identity: str, most: int | None) -> int:
        found = connection.execute(
            "SELECT starts FROM starts WHERE consumers = ? AND identity = ?", (self._group, identity)
        ).fetchone()
        so_far = int(found[0]) if found else 0
        if most is not None and so_far >= most:
            return so_far + 1
        connection.execute(
            "INSERT INTO starts VALUES (?, ?, ?, ?) ON CONFLICT (consumers, identity) "
            "DO UPDATE SET starts = excluded.starts, at_s = excluded.at_s",
            (self._group, identity, so_far + 1, time.time()),
        )
        return so_far + 1
