"""Bringing a database to the schema of this version: alembic, set up in code, over the repository's `migrations`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, text

import issuetracker_dagster
from issuetracker_dagster.adapters.sql.engine import checkout, connect, parse_url, reading
from issuetracker_dagster.errors import ConfigError

_UPGRADE_LOCK = 0x15504
"""PostgreSQL's advisory lock number under which one program upgrades at a time; SQLite has its write lock."""


def upgrade(database_url: str, revision: str = "head") -> None:
    """Upgrade to `revision`, making an SQLite file and its folder when missing; all in one transaction.

    Safe to call from several programs at once. Raises `ConfigError` for an unknown revision or without the migrations,
    `Unavailable` when the database can't be reached.
    """
    with _migrating(database_url) as config:
        command.upgrade(config, revision)


def downgrade(database_url: str, revision: str) -> None:
    """Go back to `revision`; `base` drops every table. Raises as `upgrade` does."""
    with _migrating(database_url) as config:
        command.downgrade(config, revision)


def current(database_url: str) -> str | None:
    """The revision that the database has; None when it was never upgraded."""
    engine = connect(database_url)
    try:
        if engine.dialect.name == "sqlite" and not Path(engine.url.database or "").exists():
            return None
        with reading(engine) as connection:
            return MigrationContext.configure(connection).get_current_revision()
    finally:
        engine.dispose()


def head() -> str | None:
    """The newest revision that this version knows."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def script_location() -> Path:
    """The folder of the migrations, beside the package; raises `ConfigError` where there is none."""
    folder = Path(issuetracker_dagster.__file__).resolve().parent.parent / "migrations"
    if not (folder / "env.py").is_file():
        raise ConfigError(
            f"the migrations aren't at {folder}; install a checkout of the repository with `pip install -e .`"
        )
    return folder


def _config() -> Config:
    config = Config()
    # alembic's options are interpolated; a percent sign in a path would end there.
    config.set_main_option("script_location", str(script_location()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _migrating(database_url: str) -> Iterator[Config]:
    config = _config()
    url = parse_url(database_url)
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = connect(database_url)
    try:
        with checkout(engine) as connection:
            _without_foreign_keys(connection)
            with connection.begin():
                if engine.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _UPGRADE_LOCK})
                config.attributes["connection"] = connection
                try:
                    yield config
                except CommandError as error:
                    raise ConfigError(f"the database can't be migrated: {error}") from error
                _check_foreign_keys(connection)
    finally:
        engine.dispose()


def _without_foreign_keys(connection: Connection) -> None:
    """SQLite changes a table by copying and dropping it, and with foreign keys on the drop would empty its children."""
    driver = connection.connection.driver_connection
    if connection.dialect.name == "sqlite" and driver is not None:
        # Not through SQLAlchemy, which would begin a transaction first, and inside one the pragma does nothing.
        driver.execute("PRAGMA foreign_keys = OFF")


def _check_foreign_keys(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise ConfigError(f"the migration would leave rows of {broken[0]} without what they refer to; undone")
