"""`issuetracker db upgrade|downgrade|current`: the schema of the database."""

import click

from issuetracker_dagster.adapters.sql import migrate
from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.endpoints import endpoints


def _url() -> str:
    settings = Settings()
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"ISSUETRACKER_HOME={settings.home} can't be used as a folder: {error}") from error
    return endpoints(settings).database


@click.group()
def db() -> None:
    """Migrate the database (DATABASE_URL, or SQLite in the home folder)."""


@db.command()
@click.argument("revision", default="head")
def upgrade(revision: str) -> None:
    """Bring the schema up to REVISION."""
    migrate.upgrade(_url(), revision)
    click.echo(f"The database is at {migrate.current(_url())}.")


@db.command()
@click.argument("revision")
@click.confirmation_option(prompt="Going down drops tables and their rows. Go on?")
def downgrade(revision: str) -> None:
    """Take the schema down to REVISION (`base` for nothing at all)."""
    migrate.downgrade(_url(), revision)
    click.echo(f"The database is at {migrate.current(_url()) or 'base'}.")


@db.command()
def current() -> None:
    """Show the revision that the schema is at."""
    click.echo(migrate.current(_url()) or "base")
