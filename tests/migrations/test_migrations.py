"""The migrations: what they build is what the tables say, both ways, on both databases."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, inspect, text
from sqlalchemy.exc import IntegrityError

from issuetracker_dagster.adapters.sql import migrate
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.tables import METADATA
from issuetracker_dagster.errors import ConfigError, Unavailable

TABLES = {
    "raw_contents", "raw_content_history", "contents", "content_bodies", "content_bands", "content_meta",
    "parser_rules", "parser_blacklist", "fetcher_rules", "scheduler_entries", "rule_snapshots",
    "issues", "issue_contents", "enriched_contents", "dead_letters", "message_trace", "published_recent",
}  # fmt: skip
SEED = (
    "(url_hash, url, source, target_type, crawler, timeout_ms, enabled, next_due_ms, {})"
    " VALUES ('h', 'https://a.com/', 'a', 'feed', '', 1, true, 0, {})"
)
"""A seed but for its intervals, which come as names and values."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without any table; the SQLite file and its folder aren't there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state/100%/issuetracker.db"
    fresh: str = request.getfixturevalue("postgres_url")
    return fresh


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    made = connect(url)
    yield made
    made.dispose()


def index_text(index: dict[str, object]) -> str:
    """An index as text; the condition of a partial one comes as an SQL object, whose repr tells an address."""
    options = index.pop("dialect_options", {})
    assert isinstance(options, dict)
    return repr((sorted(index.items()), sorted((name, str(value)) for name, value in options.items())))


def shape(engine: Engine) -> dict[str, object]:
    """Everything that a database says about its tables, in an order of its own."""
    found = inspect(engine)
    said: dict[str, object] = {}
    for table in sorted(found.get_table_names()):
        if table == "alembic_version":
            continue
        columns = [
            (column["name"], repr(column["type"]), column["nullable"], column["default"])
            for column in found.get_columns(table)
        ]
        said[table] = {
            "columns": sorted(map(repr, columns)),
            "primary key": repr(found.get_pk_constraint(table)),
            "checks": sorted(map(repr, found.get_check_constraints(table))),
            "unique": sorted(map(repr, found.get_unique_constraints(table))),
            "foreign keys": sorted(map(repr, found.get_foreign_keys(table))),
            "indices": sorted(index_text(dict(index)) for index in found.get_indexes(table)),
        }
    return said


def test_what_the_migrations_build_is_what_the_tables_say(url: str, engine: Engine) -> None:
    migrate.upgrade(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
    # Alembic compares neither checks nor defaults of JSON, so build the tables directly and look.
    migrated = shape(engine)
    assert set(migrated) == TABLES
    migrate.downgrade(url, "base")
    METADATA.create_all(engine)
    assert shape(engine) == migrated


def test_up_down_and_up_again(url: str, engine: Engine) -> None:
    migrate.upgrade(url)
    first = shape(engine)
    assert migrate.current(url) == migrate.head()
    migrate.upgrade(url)
    migrate.downgrade(url, "base")
    assert shape(engine) == {}
    assert migrate.current(url) is None
    migrate.upgrade(url)
    assert shape(engine) == first


def test_a_database_never_upgraded_has_no_revision_and_is_not_made_by_asking(url: str) -> None:
    assert migrate.current(url) is None
    if url.startswith("sqlite"):
        assert not Path(url.removeprefix("sqlite:///")).exists()


def test_an_unknown_revision_is_refused_and_changes_nothing(url: str, engine: Engine) -> None:
    migrate.upgrade(url)
    before = shape(engine)
    with pytest.raises(ConfigError, match="9999"):
        migrate.upgrade(url, "9999")
    assert shape(engine) == before


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("parser_rules", "(host_pattern, target_type, crawl_priority) VALUES ('a.com', 'article', 0)"),
        ("parser_rules", "(host_pattern, target_type, crawl_priority) VALUES ('a.com', 'article', 9)"),
        ("parser_rules", "(host_pattern, target_type) VALUES ('a.com', 'page')"),
        ("scheduler_entries", SEED.format("interval_ms, min_interval_ms, max_interval_ms", "10, 11, 20")),
        ("scheduler_entries", SEED.format("interval_ms, min_interval_ms, max_interval_ms", "10, 5, 9")),
        ("scheduler_entries", SEED.format("interval_ms, max_interval_ms", "10, 20")),
        ("scheduler_entries", SEED.format("interval_ms, freshness_ms", "10, -1")),
        ("content_bands", "(band, content_id) VALUES ('b', 4711)"),
        (
            "issues",
            "(title, language, first_seen_ms, last_seen_ms, content_count, source_count, velocity, state)"
            " VALUES ('t', 'en', 0, 0, 0, 0, 0, 'alive')",
        ),
    ],
)
def test_rows_that_break_a_rule_are_refused_by_the_database_itself(
    url: str, engine: Engine, table: str, values: str
) -> None:
    migrate.upgrade(url)
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(text(f"INSERT INTO {table} {values}"))


def test_a_rule_written_by_hand_gets_the_defaults(url: str, engine: Engine) -> None:
    migrate.upgrade(url)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO parser_rules (host_pattern, target_type) VALUES ('a.com', 'article')"))
        row = connection.execute(text("SELECT path_pattern, version, enabled, crawl_priority FROM parser_rules")).one()
    assert tuple(row) == ("", 1, True, 2)


def test_rows_of_the_first_version_stay_through_the_second_and_back(url: str, engine: Engine) -> None:
    migrate.upgrade(url, "0001")
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO scheduler_entries (seed_id, url_hash, url, source, target_type, crawler, interval_ms,"
                " timeout_ms, priority, enabled, next_due_ms) VALUES (7, 'h', 'https://a.com/', 'a', 'feed', '', 20000,"
                " 30000, NULL, :yes, 99)"
            ),
            {"yes": True},
        )
        connection.execute(
            text("INSERT INTO rule_snapshots (version, fingerprint, rules, created_ms) VALUES (3, 'f', '[]', 5)")
        )
    seeds = text("SELECT seed_id, url, interval_ms, priority, enabled, next_due_ms FROM scheduler_entries")
    snapshots = text("SELECT version, fingerprint, created_ms FROM rule_snapshots")
    rows = [(7, "https://a.com/", 20_000, None, True, 99)], [(3, "f", 5)]
    for revision in ("head", "0001", "head"):
        (migrate.downgrade if revision == "0001" else migrate.upgrade)(url, revision)
        with engine.connect() as connection:
            found = [[tuple(row) for row in connection.execute(query)] for query in (seeds, snapshots)]
            assert tuple(found) == rows, revision
    with engine.connect() as connection:
        new = text(
            "SELECT min_interval_ms, max_interval_ms, freshness_ms, body_sha256, published_ms, since_ms > 0"
            " FROM scheduler_entries"
        )
        assert tuple(connection.execute(new).one()) == (0, 0, 0, "", 0, True)
        refused = connection.execute(text("SELECT refused, checked_ms FROM rule_snapshots")).one()
    assert [str(refused[0]), refused[1]] == ["[]", 0]


@pytest.mark.slow
def test_programs_that_upgrade_at_once_all_succeed(url: str, engine: Engine) -> None:
    spawn = multiprocessing.get_context("spawn")
    programs = [spawn.Process(target=migrate.upgrade, args=(url,)) for _ in range(3)]
    for program in programs:
        program.start()
    for program in programs:
        program.join(60)
    assert [program.exitcode for program in programs] == [0, 0, 0]
    assert set(shape(engine)) == TABLES


def test_without_the_migrations_folder_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("issuetracker_dagster.__file__", str(tmp_path / "issuetracker_dagster" / "__init__.py"))
    with pytest.raises(ConfigError, match="pip install -e"):
        migrate.upgrade(f"sqlite:///{tmp_path}/a.db")


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1/news \(DATABASE_URL\)") as caught:
        migrate.upgrade("postgresql://user:secret@127.0.0.1:1/news")
    assert "secret" not in str(caught.value)
