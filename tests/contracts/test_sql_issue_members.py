"""How SQLite finds members: by its indices, in an order that they have already."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Select

from issuetracker_dagster.adapters.sql import issue_statements as statements
from issuetracker_dagster.adapters.sql.engine import connect, reading
from tests.migrated import sqlite_at


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = connect(sqlite_at(tmp_path / "members.db"))
    yield made
    made.dispose()


def plan(engine: Engine, query: Select[Any], **values: object) -> list[str]:
    """What SQLite is going to do, a line a step."""
    spelled = query.params(**values).compile(engine, compile_kwargs={"literal_binds": True})
    with reading(engine) as connection:
        return [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {spelled}")]


@pytest.mark.parametrize("with_texts", [True, False])
def test_the_members_seen_last_come_from_an_index_in_order(engine: Engine, with_texts: bool) -> None:
    query = statements.MEMBERS_SEEN_SINCE[with_texts]
    steps = plan(engine, query, language="en", since_ms=5, limit=10)
    assert steps[0].startswith("SEARCH issue_contents USING INDEX ix_issue_contents_language_seen_ms_content_id")
    assert not any("SCAN" in step or "TEMP B-TREE" in step for step in steps), steps


def test_older_members_are_looked_up_issue_by_issue(engine: Engine) -> None:
    steps = plan(engine, statements.MEMBERS_SEEN_BEFORE[False], issue_ids=[1, 2, 3], since_ms=5, limit=10)
    assert steps[0].startswith("SEARCH issue_contents USING INDEX ix_issue_contents_issue_id_seen_ms")
