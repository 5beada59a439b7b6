"""INSERT ... ON CONFLICT, which SQLAlchemy spells once a dialect."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from issuetracker_dagster.adapters.sql.schema import Table

Insert = postgresql.Insert | sqlite.Insert


def insert_into(connection: Connection, table: type[Table]) -> Insert:
    """An INSERT that knows ON CONFLICT, in the connection's dialect."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def upsert(connection: Connection, table: type[Table], values: Mapping[str, object], key: Sequence[str]) -> Insert:
    """Insert the row, or replace every column but `key` of the one that has this key."""
    statement = insert_into(connection, table).values(**values)
    replaced = {name: statement.excluded[name] for name in values if name not in key}
    return statement.on_conflict_do_update(index_elements=list(key), set_=replaced)
