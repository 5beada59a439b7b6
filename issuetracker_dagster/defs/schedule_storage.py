"""Dagster's storage of ticks and toggles on SQLite, as it comes but for what it asks again and again (decision 0201).

Every process of Dagster uses it: `issuetracker dev` names it in the `dagster.yaml` of its home.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sql import create_engine


class SteadyScheduleStorage(SqliteScheduleStorage):
    """Keeps its connections, and remembers that its schema is the present one once that was so.

    Dagster's own opens a connection for each statement, and before most of them looks for a table and for a finished
    migration, which both are there for ever once they are.
    """

    def __init__(self, conn_string: str, inst_data: Any = None) -> None:
        super().__init__(conn_string, inst_data)
        self._place = conn_string

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> Any:
        # Dagster's own names its class here.
        return cls.from_local(inst_data=inst_data, **config_value)

    @contextmanager
    def connect(self) -> Iterator[Any]:
        with _engine(self._place).begin() as connection:
            yield connection

    def has_instigators_table(self) -> bool:
        return self._is_known(_TABLE) or super().has_instigators_table()

    def _has_instigators_table(self, conn: Any) -> bool:
        return self._is_known(_TABLE) or self._noted(_TABLE, super()._has_instigators_table(conn))

    def has_built_index(self, migration_name: str) -> bool:
        return self._is_known(migration_name) or self._noted(migration_name, super().has_built_index(migration_name))

    def _is_known(self, what: str) -> bool:
        return (self._place, what) in _known

    def _noted(self, what: str, is_there: bool) -> bool:
        if is_there:
            _known.add((self._place, what))
        return is_there


_TABLE = "instigators"
_known: set[tuple[str, str]] = set()
"""What is there, by the database. Of the whole process: a tick that is given a resource opens its storages anew."""


@cache
def _engine(conn_string: str) -> Any:
    """Also one for the whole process; as many connections as threads ask for at once, since some hold one meanwhile."""
    return create_engine(conn_string, max_overflow=-1)
