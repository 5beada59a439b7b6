"""What Dagster keeps of runs, ticks and events, and how it is taken out.

Dagster removes ticks by its own settings, and runs when somebody deletes them, without their files. Events of no run
(observations, check results) it never removes. What has no public call goes by the tables of Dagster's own modules,
only here; `tests/defs/test_dagster_history.py` notices a version in which they are others. The same code serves SQLite
and PostgreSQL; files are removed where Dagster keeps any.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    AssetEventTagsTable,
    SqlEventLogStorageTable,
)
from dagster._core.storage.schedules.schema import JobTickTable

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.history import Removed

KEPT_EVENTS = 20
"""The latest of each asset and each check stay however old they are: they are what the UI shows."""
TICKS_AT_ONCE = 2_000
EVENTS_AT_ONCE = 500
_NO_RUN = ""
_DRIVERS = ("sqlalchemy", "sqlite3", "psycopg2", "psycopg", "dagster_postgres")


class TickSweep:
    """Ticks of sensors and schedules."""

    name = "ticks"

    def __init__(self, instance: dg.DagsterInstance, after_ms: int) -> None:
        self._storage: Any = instance.schedule_storage
        self._after_ms = after_ms

    def count(self, now_ms: int) -> Removed:
        with _connected(self._storage.connect) as connection:
            return _size(connection, JobTickTable, JobTickTable.c.tick_body, self._old(now_ms))

    def step(self, now_ms: int) -> Removed | None:
        with _connected(self._storage.connect) as connection:
            return _delete_some(connection, JobTickTable, JobTickTable.c.tick_body, self._old(now_ms), TICKS_AT_ONCE)

    def _old(self, now_ms: int) -> Any:
        return JobTickTable.c.timestamp < moment(now_ms - self._after_ms)


class RunlessEventSweep:
    """Observations and check results that belong to no run, but for the latest of each asset.

    SQLite has them twice, in the index and in a file of their own.
    """

    name = "events"

    def __init__(self, instance: dg.DagsterInstance, after_ms: int) -> None:
        storage: Any = instance.event_log_storage
        self._after_ms = after_ms
        self._places: list[Callable[[], Any]] = [storage.index_connection]
        if storage.is_run_sharded:
            self._places.append(lambda: storage.run_connection(_NO_RUN))

    def count(self, now_ms: int) -> Removed:
        found = Removed()
        for place in self._places:
            with _connected(place) as connection:
                for old in self._old(connection, now_ms):
                    found += _size(connection, _EVENTS, _EVENTS.c.event, old)
        return found

    def step(self, now_ms: int) -> Removed | None:
        for place in self._places:
            with _connected(place) as connection:
                for old in self._old(connection, now_ms):
                    ids = _ids(connection, _EVENTS, old, EVENTS_AT_ONCE)
                    if ids:
                        connection.execute(AssetEventTagsTable.delete().where(AssetEventTagsTable.c.event_id.in_(ids)))
                        return _delete(connection, _EVENTS, _EVENTS.c.event, ids)
        return None

    def _old(self, connection: Any, now_ms: int) -> Iterator[Any]:
        """The condition for each asset and type of event that has any."""
        runless = _EVENTS.c.run_id == _NO_RUN
        # Dagster writes these without a zone, in UTC. PostgreSQL would read them in the zone of its server when they
        # are held against a time that has one.
        before = moment(now_ms - self._after_ms).replace(tzinfo=None)
        old = runless & (_EVENTS.c.timestamp < before)
        group = _EVENTS.c.asset_key, _EVENTS.c.dagster_event_type
        yield from _beyond_the_latest(connection, _EVENTS, group, runless, old)


class CheckResultSweep:
    """Results of asset checks as the UI lists them, but for the latest of each check."""

    name = "check_results"

    def __init__(self, instance: dg.DagsterInstance, after_ms: int) -> None:
        self._storage: Any = instance.event_log_storage
        self._after_ms = after_ms

    def count(self, now_ms: int) -> Removed:
        with _connected(self._storage.index_connection) as connection:
            sizes = (
                _size(connection, _CHECKS, _CHECKS.c.evaluation_event, old) for old in self._old(connection, now_ms)
            )
            return sum(sizes, Removed())

    def step(self, now_ms: int) -> Removed | None:
        with _connected(self._storage.index_connection) as connection:
            for old in self._old(connection, now_ms):
                found = _delete_some(connection, _CHECKS, _CHECKS.c.evaluation_event, old, EVENTS_AT_ONCE)
                if found is not None:
                    return found
        return None

    def _old(self, connection: Any, now_ms: int) -> Iterator[Any]:
        # These PostgreSQL itself writes, in the zone of its server.
        before = moment(now_ms - self._after_ms)
        group = _CHECKS.c.asset_key, _CHECKS.c.check_name
        yield from _beyond_the_latest(connection, _CHECKS, group, _CHECKS.c.id > 0, _CHECKS.c.create_timestamp < before)


_EVENTS: Any = SqlEventLogStorageTable
_CHECKS: Any = AssetCheckExecutionsTable


def moment(at_ms: int) -> datetime:
    """A time as Dagster's queries take it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn whatever the driver of Dagster's storage raises, being out or locked, into `Unavailable`."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _DRIVERS:
            raise
        # A driver that lost its server may say nothing at all.
        said = str(error).partition("\n")[0] or type(error).__name__
        raise Unavailable(f"Dagster's storage can't be used: {said}") from error


@contextmanager
def _connected(connect: Callable[[], Any]) -> Iterator[Any]:
    """A connection in a transaction of its own."""
    with storage_errors(), connect() as connection:
        yield connection


def _beyond_the_latest(connection: Any, table: Any, group: tuple[Any, Any], among: Any, old: Any) -> Iterator[Any]:
    """For each group that has old rows, the condition of those that aren't among its latest."""
    columns = table.select().with_only_columns(*group).where(old).distinct()
    for values in connection.execute(columns).fetchall():
        mine = among
        for column, value in zip(group, values, strict=True):
            mine = mine & (column.is_(None) if value is None else column == value)
        latest = table.select().with_only_columns(table.c.id).where(mine).order_by(table.c.id.desc())
        bound = connection.execute(latest.offset(KEPT_EVENTS).limit(1)).scalar()
        if bound is not None:
            yield mine & old & (table.c.id <= bound)


def _ids(connection: Any, table: Any, condition: Any, limit: int) -> list[int]:
    query = table.select().with_only_columns(table.c.id).where(condition).order_by(table.c.id).limit(limit)
    return list(connection.execute(query).scalars())


def _delete_some(connection: Any, table: Any, body: Any, condition: Any, limit: int) -> Removed | None:
    ids = _ids(connection, table, condition, limit)
    return _delete(connection, table, body, ids) if ids else None


def _delete(connection: Any, table: Any, body: Any, ids: list[int]) -> Removed:
    size = _size(connection, table, body, table.c.id.in_(ids))
    connection.execute(table.delete().where(table.c.id.in_(ids)))
    return size


def _size(connection: Any, table: Any, body: Any, condition: Any) -> Removed:
    """Rows that are meant and the length of their bodies."""
    found = connection.execute(table.select().with_only_columns(body).where(condition))
    rows = bytes_ = 0
    for (text,) in found:
        rows += 1
        bytes_ += len(text or "")
    return Removed(rows=rows, bytes=bytes_)
