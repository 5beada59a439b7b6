"""Runs migrations on the connection that `adapters.sql.migrate` hands over, or, under the `alembic` command, on the
database that `-x url=` names."""

from alembic import context
from sqlalchemy import Connection

from issuetracker_dagster.adapters.sql.engine import connect, writing
from issuetracker_dagster.adapters.sql.tables import METADATA
from issuetracker_dagster.errors import ConfigError


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=METADATA,
        # SQLite can't change a constraint in place; the other databases do what they always do.
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def _run_by_command() -> None:
    url = context.get_x_argument(as_dictionary=True).get("url", "")
    if not url:
        raise ConfigError("name the database: alembic -x url=sqlite:///path/to/issuetracker.db ...")
    engine = connect(url)
    try:
        with writing(engine) as connection:
            _run(connection)
    finally:
        engine.dispose()


if context.is_offline_mode():
    raise ConfigError("migrations need a connection; leave --sql out")

handed_over = context.config.attributes.get("connection")
if handed_over is not None:
    _run(handed_over)
else:
    _run_by_command()
