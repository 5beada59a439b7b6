"""Many small rows at once, for tables that every process adds to all the time."""

from collections.abc import Sequence
from functools import cache
from operator import attrgetter

import msgspec
from sqlalchemy import Connection, insert

from issuetracker_dagster.adapters.sql.schema import Table

CHUNK = 100
"""Rows a statement on SQLite: more don't make a row cheaper, and any version takes so many parameters."""


def insert_all(connection: Connection, table: type[Table], rows: Sequence[msgspec.Struct]) -> None:
    """Insert rows whose fields are columns of the table.

    SQLite gets a hundred in one statement: a driver that is given row after row lets go of the interpreter between two,
    and with busy threads beside it the one writer that SQLite allows then holds everybody up for a second.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(insert(table), [msgspec.to_builtins(row) for row in rows])
        return
    names = rows[0].__struct_fields__
    values_of = attrgetter(*names)
    for first in range(0, len(rows), CHUNK):
        chunk = rows[first : first + CHUNK]
        values = tuple(value for row in chunk for value in values_of(row))
        connection.exec_driver_sql(_statement(table.__tablename__, names, len(chunk)), values)


@cache
def _statement(table: str, names: tuple[str, ...], rows: int) -> str:
    one = f"({', '.join('?' * len(names))})"
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {', '.join([one] * rows)}"  # noqa: S608 - names of our own
