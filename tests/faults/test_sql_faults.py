"""Whatever the database does under load: nothing is lost or blamed, contents are there once, work goes on alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.sql import engine
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.flow import settle
from issuetracker_dagster.model import decision
from tests.faults.pipeline import Pipeline, again_and_again, running_pipeline, seconds_of
from tests.faults.proxy import FaultProxy
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 300)
    for module in (decision, settle):
        monkeypatch.setattr(module, "OUTAGE_DELAY_MS", 500)


def contents(database_url: str) -> list[str]:
    """The URL of every content."""
    with connect(database_url).connect() as connection:
        return [url for (url,) in connection.exec_driver_sql("SELECT url FROM contents")]


def test_a_locked_database_is_waited_for_and_uses_up_nobodys_attempts(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with running_pipeline(environment, tmp_path) as pipeline:
        file = environment["DATABASE_URL"].removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, isolation_level=None, timeout=10)) as other:
            other.execute("BEGIN IMMEDIATE")
            eventually(seconds_of(4.0))
            other.execute("ROLLBACK")
        pipeline.goes_on()
        assert "(DATABASE_URL) can't be used: database is locked" in pipeline.words
        pipeline.must_be_whole()
    assert len(contents(environment["DATABASE_URL"])) == len(pipeline.sent)


@pytest.fixture
def to_postgres(postgres_url: str) -> Iterator[FaultProxy]:
    with FaultProxy(int(postgres_url.rpartition(":")[2].partition("/")[0])) as proxy:
        yield proxy


@pytest.fixture
def on_postgres(
    environment: dict[str, str], postgres_url: str, to_postgres: FaultProxy, tmp_path: Path
) -> Iterator[Pipeline]:
    port, name = postgres_url.rpartition(":")[2].split("/")
    through = {**environment, "DATABASE_URL": postgres_url.replace(f":{port}/{name}", f":{to_postgres.port}/{name}")}
    with running_pipeline(through, tmp_path, direct={"DATABASE_URL": postgres_url}) as pipeline:
        yield pipeline


def test_a_database_out_of_reach_is_named_and_work_goes_on_when_it_is_back(
    on_postgres: Pipeline, to_postgres: FaultProxy, postgres_url: str
) -> None:
    with to_postgres.down():
        tries = to_postgres.connections
        eventually(seconds_of(6.0))
        tries = to_postgres.connections - tries
    on_postgres.goes_on()
    assert tries < 200  # six slots for six seconds, and what the pool tries again
    assert "DATABASE_URL" in on_postgres.words
    on_postgres.must_be_whole()
    assert len(contents(postgres_url)) == len(on_postgres.sent)


@pytest.mark.parametrize("fault", ["lose", "cut_in_mid_reply"])
def test_transactions_that_fail_in_the_middle_leave_each_content_once(
    on_postgres: Pipeline, to_postgres: FaultProxy, postgres_url: str, fault: str
) -> None:
    again_and_again(getattr(to_postgres, fault), lambda: to_postgres.lost + to_postgres.cut, times=30, pause_s=0.1)
    on_postgres.comes_through()
    on_postgres.must_be_whole()
    assert len(contents(postgres_url)) == len(on_postgres.sent)
