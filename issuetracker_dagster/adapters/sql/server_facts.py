"""What a database says of itself, for `issuetracker doctor`."""

import msgspec

from issuetracker_dagster.adapters.sql.engine import connect, place, reading
from issuetracker_dagster.adapters.sql.migrate import current, head


class DatabaseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The database. `where` has no password; `revision` is None when it was never upgraded, `head` the newest known."""

    kind: str
    version: tuple[int, ...]
    where: str
    revision: str | None
    head: str | None


def database_facts(database_url: str) -> DatabaseFacts:
    """Raises `Unavailable` and `ConfigError`; makes no file where there is none."""
    revision = current(database_url)
    engine = connect(database_url)
    try:
        version: tuple[int, ...] = ()
        if revision is not None:
            with reading(engine) as connection:
                version = tuple(connection.dialect.server_version_info or ())
        kind = "PostgreSQL" if engine.dialect.name == "postgresql" else "SQLite"
        return DatabaseFacts(kind=kind, version=version, where=place(engine.url), revision=revision, head=head())
    finally:
        engine.dispose()
