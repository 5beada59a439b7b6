"""The lock under which enrich looks for an issue and opens one: one worker a language, over all processes.

It is apart from the transactions of the writes inside, which commit one by one (decision 0025).
"""

import fcntl
import os
import threading
import time
import zlib
from pathlib import Path

from sqlalchemy import Connection, Engine, text

from issuetracker_dagster.adapters.sql.engine import checkout
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.ports.stores import ClusterLock

LOCK_TIMEOUT_S = 30.0
_POLL_S = 0.02
_ADVISORY_CLASS = 0x1551E
"""The first of PostgreSQL's two lock numbers, so that another program's advisory locks aren't ours."""


class ClusterLocks:
    """Hands out the locks of one database. Threads of this process line up here first, so that only one of them a
    language waits in the database, with one connection."""

    def __init__(self, engine: Engine, timeout_s: float = LOCK_TIMEOUT_S) -> None:
        self._engine = engine
        self._timeout_s = timeout_s
        self._guard = threading.Lock()
        self._threads: dict[str, threading.Lock] = {}

    def lock(self, language: str) -> ClusterLock:
        """The lock of a language, not yet held."""
        with self._guard:
            thread_lock = self._threads.setdefault(language, threading.Lock())
        if self._engine.dialect.name == "postgresql":
            return _AdvisoryLock(self._engine, thread_lock, language, self._timeout_s)
        return _FileLock(self._engine, thread_lock, language, self._timeout_s)


class _ThreadFirst:
    def __init__(self, engine: Engine, thread_lock: threading.Lock, language: str, timeout_s: float) -> None:
        self._engine = engine
        self._thread_lock = thread_lock
        self._language = language
        self._timeout_s = timeout_s

    def __enter__(self) -> None:
        deadline = time.monotonic() + self._timeout_s
        if not self._thread_lock.acquire(timeout=self._timeout_s):
            raise self._busy()
        try:
            self._take(deadline)
        except BaseException:
            self._thread_lock.release()
            raise

    def __exit__(self, *exc: object) -> None:
        try:
            self._give_back()
        finally:
            self._thread_lock.release()

    def _take(self, deadline: float) -> None:
        raise NotImplementedError

    def _give_back(self) -> None:
        raise NotImplementedError

    def _busy(self) -> Unavailable:
        return Unavailable(f"another worker has clustered {self._language!r} for more than {self._timeout_s:g} s")


class _AdvisoryLock(_ThreadFirst):
    """PostgreSQL: a lock of a transaction that does nothing else, gone with its connection; works behind a pooler."""

    _connection: Connection

    def _take(self, deadline: float) -> None:
        number = zlib.crc32(self._language.encode()) - 2**31
        connection = checkout(self._engine)
        try:
            wait_ms = max(1, round((deadline - time.monotonic()) * 1000))
            connection.execute(text(f"SET LOCAL lock_timeout = {wait_ms}"))
            connection.execute(
                text("SELECT pg_advisory_xact_lock(:ours, :number)"), {"ours": _ADVISORY_CLASS, "number": number}
            )
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _give_back(self) -> None:
        self._connection.close()


class _FileLock(_ThreadFirst):
    """SQLite: a locked file beside the database, which the kernel frees when its holder dies.

    A write transaction would do as a lock too, but hold up every other writer of the database while texts are compared.
    """

    _descriptor: int

    def _take(self, deadline: float) -> None:
        path = Path(f"{self._engine.url.database}-cluster-{zlib.crc32(self._language.encode()):08x}.lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(
                f"the lock file {path} beside the database (DATABASE_URL) can't be opened: {error}"
            ) from None
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise self._busy() from None
                    time.sleep(_POLL_S)
                else:
                    break
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def _give_back(self) -> None:
        os.close(self._descriptor)
