"""The way to the database: one engine a process, its transactions, and what a failure of it is called."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy.exc
from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, make_url
from sqlalchemy.pool import ConnectionPoolEntry

from issuetracker_dagster.errors import ConfigError, Unavailable
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

BUSY_TIMEOUT_MS = 10_000
POOL_SIZE = 10
POOL_OVERFLOW = 20
_POSTGRES = {
    "connect_timeout": 5,
    # A server that falls silent in mid-query (a network that drops everything) would hold a worker for two hours, and
    # its lease with it: these find out within a minute.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""libpq's options, each unless DATABASE_URL sets it."""

_READ_ONLY = "issuetracker_read_only"
_MISSING_TABLE_STATES = ("42P01", "42703")
"""PostgreSQL: undefined table, undefined column."""
_OUR_FAULT = sqlite3.SQLITE_ERROR
"""SQLite's code for wrong SQL, in contrast to a file that is busy, full, unreadable or broken."""


def connect(database_url: str) -> Engine:
    """An engine for `DATABASE_URL`; connects lazily.

    SQLite runs in WAL mode, and a transaction that may write takes the write lock when it begins, waiting up to 10 s:
    upgrading a read transaction later fails at once when another process wrote meanwhile. Raises `ConfigError` for a
    URL that is none or names another kind of database.
    """
    url = parse_url(database_url)
    if url.get_backend_name() == "sqlite":
        engine = create_engine(
            url, hide_parameters=True, pool_size=POOL_SIZE, max_overflow=POOL_OVERFLOW, connect_args={"timeout": 10}
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = create_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_size=POOL_SIZE,
            max_overflow=POOL_OVERFLOW,
            connect_args={name: value for name, value in _POSTGRES.items() if name not in url.query},
        )
    event.listen(engine, "handle_error", _translate, retval=True)
    return engine


def parse_url(database_url: str) -> URL:
    """The URL with its driver filled in; raises `ConfigError` that never shows the password."""
    try:
        url = make_url(database_url)
    except sqlalchemy.exc.ArgumentError:
        raise ConfigError(
            "DATABASE_URL isn't a URL; write sqlite:///path/to/issuetracker.db or "
            "postgresql://user:password@host:5432/database"
        ) from None
    except ValueError:
        # The error's own text may quote a part of the password.
        raise ConfigError(
            "DATABASE_URL isn't a URL: its port is no number, or user or password hold signs that need percent-encoding"
        ) from None
    if url.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise ConfigError(
                "DATABASE_URL names an SQLite database without a file; several processes share it, "
                "write sqlite:///path/to/issuetracker.db"
            )
        return url
    raise ConfigError(
        f"DATABASE_URL starts with {url.drivername}://; accepted are sqlite:///path and postgresql://user@host/database"
    )


def place(url: URL) -> str:
    """Where the database is, fit for a log: no user, password or query."""
    if url.get_backend_name() == "sqlite":
        return f"sqlite:///{url.database}"
    return f"{url.get_backend_name()}://{url.host or 'localhost'}:{url.port or 5432}/{url.database or ''}"


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that may write, committed at the end."""
    with checkout(engine) as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads; on SQLite it neither waits for writers nor holds them up."""
    # Options of the connection: an engine with options is a new one with events of its own, ten times as slow to make.
    with checkout(engine).execution_options(**{_READ_ONLY: True}) as connection, connection.begin():
        yield connection


def checkout(engine: Engine) -> Connection:
    """A connection for the caller to close; raises `Unavailable` also when all are in use for too long."""
    try:
        return engine.connect()
    except sqlalchemy.exc.TimeoutError:
        raise Unavailable(f"every connection to {place(engine.url)} (DATABASE_URL) is in use") from None


def _prepare_sqlite(dbapi_connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
    # The driver's own BEGIN comes too late (before the first write) and is always deferred; `_begin_sqlite` does it.
    dbapi_connection.isolation_level = None
    dbapi_connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    # Holds for a file that is made now, before anything else is written to it; purging can then shrink it in steps.
    # In one that is there already it would do nothing but wait for whoever writes.
    if dbapi_connection.execute("PRAGMA page_count").fetchone() == (0,):
        dbapi_connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    try:
        dbapi_connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # Two processes that open a new file at once can't both switch it. The mode belongs to the file, so the other's
        # switch serves both.
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
    dbapi_connection.execute("PRAGMA synchronous = NORMAL")
    dbapi_connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    read_only = connection.get_execution_options().get(_READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _translate(context: ExceptionContext) -> BaseException | None:
    """What the driver said, as an error by which callers know what to do; None keeps SQLAlchemy's own."""
    error = context.original_exception
    where = place(context.engine.url) if context.engine is not None else "the database"
    if _is_not_ready(error):
        return Unavailable(f"{where} (DATABASE_URL) isn't ready; run `issuetracker db upgrade`: {_line(error)}")
    if not _is_outage(context.sqlalchemy_exception, error):
        return None
    logger.warning(
        "%s (DATABASE_URL) can't be used: %s", where, _line(error), extra=action("database.unavailable", database=where)
    )
    return Unavailable(f"{where} (DATABASE_URL) can't be used: {_line(error)}")


def _is_not_ready(error: BaseException) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN:
            # The folder isn't there yet either; upgrading makes both.
            return True
        return str(error).startswith(("no such table", "no such column")) or "has no column named" in str(error)
    return getattr(error, "sqlstate", None) in _MISSING_TABLE_STATES


def _is_outage(wrapped: BaseException | None, error: BaseException) -> bool:
    if isinstance(error, sqlite3.Error):
        # A closed or misused connection has no code of SQLite's own; that is a bug and stays one.
        code = getattr(error, "sqlite_errorcode", _OUR_FAULT) & 0xFF
        return isinstance(error, sqlite3.DatabaseError) and code not in (
            _OUR_FAULT,
            sqlite3.SQLITE_CONSTRAINT,
            sqlite3.SQLITE_MISUSE,
            sqlite3.SQLITE_RANGE,
            sqlite3.SQLITE_MISMATCH,
            sqlite3.SQLITE_TOOBIG,
        )
    return isinstance(wrapped, sqlalchemy.exc.OperationalError | sqlalchemy.exc.InterfaceError)


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
