"""Databases for the contract suites of the stores: migrated once a session, empty for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.adapters.sql.tables import METADATA
from tests import services
from tests.contracts.store_worlds import SQL_WORLDS, WORLDS, Stores
from tests.migrated import sqlite_at


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: services.Postgres) -> Iterator[str]:
    """A migrated database that each test empties."""
    url = postgres_server.new_database("stores")
    upgrade(url)
    yield url
    postgres_server.drop_database("stores")


def database_url(request: pytest.FixtureRequest, world: str) -> str:
    """An empty migrated database of that world."""
    if world == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        return sqlite_at(folder / "stores.db")
    url: str = request.getfixturevalue("migrated_postgres")
    engine = connect(url)
    with engine.begin() as connection:
        names = ", ".join(METADATA.tables)
        connection.execute(text(f"TRUNCATE {names} RESTART IDENTITY CASCADE"))
    engine.dispose()
    return url


@pytest.fixture(params=WORLDS)
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """The stores of each world in turn, empty."""
    if request.param == "memory":
        yield MemoryStores()
        return
    bundle = SqlStores(connect(database_url(request, request.param)))
    yield bundle
    bundle.close()


@pytest.fixture(params=SQL_WORLDS)
def sql_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty migrated database of each kind in turn."""
    return database_url(request, request.param)


@pytest.fixture
def sql_engine(sql_url: str) -> Iterator[Engine]:
    """An engine on `sql_url`."""
    made = connect(sql_url)
    yield made
    made.dispose()
