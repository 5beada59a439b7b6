"""Dagster's storages on SQLite, as they come but for what they ask again and again (decision 0201).

Every process of Dagster uses them: `issuetracker dev` names them in the `dagster.yaml` of its home.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from dagster._core.instance.utils import RUNLESS_RUN_ID
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sql import create_engine

BUSY_TIMEOUT_S = 60
"""How long a statement waits for another process that writes; what Dagster has for its events."""


class _OneDatabase:
    """What both storages of one database do otherwise: they keep its connections, and look at its schema once."""

    from_local: Any
    _conn_string: str

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> Any:
        # Dagster's own names its class here.
        opened = (cls, config_value["base_dir"])
        if opened in _databases:
            made: Any = cls
            return made(_databases[opened], inst_data)
        storage = cls.from_local(inst_data=inst_data, **config_value)
        _databases[opened] = storage._conn_string
        return storage

    @contextmanager
    def connect(self) -> Iterator[Any]:
        with _engine(self._conn_string).begin() as connection:
            yield connection


class SteadyScheduleStorage(_OneDatabase, SqliteScheduleStorage):
    """Ticks and toggles. Remembers that its schema is the present one, once that was so.

    Dagster's own opens a connection for each statement, and before most of them looks for a table and for a finished
    migration, which both are there for ever once they are.
    """

    def has_instigators_table(self) -> bool:
        return _is_there(self._conn_string, "instigators", super().has_instigators_table)

    def _has_instigators_table(self, conn: Any) -> bool:
        return _is_there(self._conn_string, "instigators", partial(super()._has_instigators_table, conn))

    def has_built_index(self, migration_name: str) -> bool:
        return _is_there(self._conn_string, migration_name, partial(super().has_built_index, migration_name))


class SteadyRunStorage(_OneDatabase, SqliteRunStorage):
    """Runs, in the same way."""

    def has_run_stats_index_cols(self) -> bool:
        return _is_there(self._conn_string, "start_time", super().has_run_stats_index_cols)

    def has_backfill_id_column(self) -> bool:
        return _is_there(self._conn_string, "backfill_id", super().has_backfill_id_column)

    def has_backfill_tags_table(self) -> bool:
        return _is_there(self._conn_string, "backfill_tags", super().has_backfill_tags_table)

    def has_built_index(self, migration_name: str) -> bool:
        return _is_there(self._conn_string, migration_name, partial(super().has_built_index, migration_name))


class SteadyEventLogStorage(SqliteEventLogStorage):
    """Events. Kept open are the index and the file of events without a run: any other goes when its run goes."""

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> Any:
        return cls(inst_data=inst_data, **config_value)

    def run_connection(self, run_id: str | None = None) -> Any:
        return super().run_connection(run_id) if run_id else self._kept(RUNLESS_RUN_ID)

    def index_connection(self) -> Any:
        return self._kept(INDEX_SHARD_NAME)

    @contextmanager
    def _kept(self, shard: str) -> Iterator[Any]:
        database = self.conn_string_for_shard(shard)
        _is_there(database, "schema", partial(self._made, shard))
        with self._db_lock, _engine(database).begin() as connection:
            yield connection

    def _made(self, shard: str) -> bool:
        """Once this process has seen to it that the database is there, which another may be about to make."""
        with self._connect(shard):
            return True

    def has_table(self, table_name: str) -> bool:
        return _is_there(self._index, table_name, partial(super().has_table, table_name))

    def has_secondary_index(self, name: str) -> bool:
        return _is_there(self._index, name, partial(super().has_secondary_index, name))

    def has_asset_key_col(self, column_name: str) -> bool:
        return _is_there(self._index, column_name, partial(super().has_asset_key_col, column_name))

    @property
    def _index(self) -> str:
        return self.conn_string_for_shard(INDEX_SHARD_NAME)


_databases: dict[tuple[type, str], str] = {}
"""What this process has opened, by class and folder: the schema is there from then on."""
_known: set[tuple[str, str]] = set()
"""What is there, by the database. Of the whole process: a tick that is given a resource opens its storages anew."""


def _is_there(database: str, what: str, look: Callable[[], bool]) -> bool:
    """Whether a part of the schema is there; looked for until it is."""
    if (database, what) in _known:
        return True
    if look():
        _known.add((database, what))
        return True
    return False


@cache
def _engine(database: str) -> Any:
    """Also one for the whole process; as many connections as threads ask for at once, since some hold one meanwhile."""
    return create_engine(database, max_overflow=-1, connect_args={"timeout": BUSY_TIMEOUT_S})
