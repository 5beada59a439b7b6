"""Many small rows at once, for tables that every process adds to all the time."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, func, insert, select

from issuetracker_dagster.adapters.sql.schema import Table


def insert_all(connection: Connection, table: type[Table], rows: Sequence[msgspec.Struct]) -> None:
    """Insert rows whose fields are columns of the table.

    SQLite gets them in one statement: a driver that is given row after row lets go of the interpreter between two, and
    with busy threads beside it the one writer that SQLite allows then holds everybody up for a second.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(insert(table), [msgspec.to_builtins(row) for row in rows])
        return
    names = rows[0].__struct_fields__
    each = func.json_each(msgspec.json.encode(rows).decode()).table_valued("value")
    values = [func.json_extract(each.c.value, f"$.{name}") for name in names]
    connection.execute(insert(table).from_select(names, select(*values)))
