"""What the engine promises: several processes at once, and errors that name the setting."""

import multiprocessing
import os
import socket
import sqlite3
import threading
import traceback
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from issuetracker_dagster.adapters.sql.engine import connect, parse_url, reading, writing
from issuetracker_dagster.adapters.sql.locks import ClusterLocks
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.errors import ConfigError, PermanentError, Unavailable
from issuetracker_dagster.model.headers import TargetType
from tests.contracts.store_worlds import article, member, page
from tests.migrated import sqlite_at

WORKERS, STORIES = 3, 15
SNAPSHOT = text("INSERT INTO rule_snapshots (version, fingerprint, rules, created_ms) VALUES (1, 'f', '[]', 0)")


def write_a_lot(url: str, worker: int, start: Barrier) -> None:
    """The body of a process of the test below: every kind of write that runs at the same time in production.

    All save the same pages; each has a content of its own about each story, which only its language tells from others.
    """
    stores = SqlStores(connect(url))
    start.wait(60)
    for story in range(STORIES):
        stores.raw_contents.save(page(f"https://news.example.com/{story}", b"%d" % worker, fetched_ms=worker))
        stores.contents.save(article(story, body=f"Text of {worker}"))
        own = stores.contents.save(article(1_000 * (worker + 1) + story))
        stores.contents.first_with_hash(f"hash {story}", own)
        with stores.issues.lock_candidates(f"l{story}"):
            members = stores.issues.open_members(f"l{story}", 0, 1)
            issue_id = members[0].issue_id if members else None
            stores.issues.assign(member(own, language=f"l{story}"), issue_id)
    stores.close()


@pytest.mark.slow
def test_processes_writing_at_once_lose_nothing_and_open_one_issue_a_story(sql_url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Barrier(WORKERS)
    programs = [spawn.Process(target=write_a_lot, args=(sql_url, worker, start)) for worker in range(WORKERS)]
    for program in programs:
        program.start()
    for program in programs:
        program.join(90)
    assert [program.exitcode for program in programs] == [0] * WORKERS
    stores = SqlStores(connect(sql_url))
    counts = stores.reports.counts()
    assert (counts["raw_contents"], counts["contents"]) == (STORIES, STORIES * (1 + WORKERS))
    views = stores.reports.issues(1_000)
    assert [len(view.content_ids) for view in views] == [WORKERS] * STORIES
    pages = [stores.raw_contents.latest(f"https://news.example.com/{story}") for story in range(STORIES)]
    assert [len(stores.raw_contents.history(found.raw_id)) for found in pages if found] == [WORKERS] * STORIES
    stores.close()


def test_a_reader_sees_the_last_commit_while_another_writes(sql_engine: Engine) -> None:
    with writing(sql_engine) as writer:
        writer.execute(SNAPSHOT)
        with reading(sql_engine) as reader:
            assert reader.execute(text("SELECT count(*) FROM rule_snapshots")).scalar_one() == 0
    with reading(sql_engine) as reader:
        assert reader.execute(text("SELECT count(*) FROM rule_snapshots")).scalar_one() == 1


def test_a_transaction_that_fails_leaves_nothing(sql_engine: Engine) -> None:
    def insert_twice() -> None:
        with writing(sql_engine) as connection:
            connection.execute(SNAPSHOT)
            connection.execute(SNAPSHOT)

    with pytest.raises(IntegrityError):
        insert_twice()
    with reading(sql_engine) as reader:
        assert reader.execute(text("SELECT count(*) FROM rule_snapshots")).scalar_one() == 0


def test_sqlite_is_in_wal_mode_with_foreign_keys_and_a_busy_timeout(tmp_path: Path) -> None:
    engine = connect(f"sqlite:///{tmp_path}/a.db")
    with reading(engine) as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")
        ]
    assert pragmas == ["wal", 1, 10_000, 1]
    engine.dispose()


def test_a_cluster_lock_that_another_holds_is_given_up_with_a_reason(sql_url: str) -> None:
    # Two engines are two processes as far as the locks go: only the database knows of both.
    holder, waiter = connect(sql_url), connect(sql_url)
    with ClusterLocks(holder).lock("en"):
        with pytest.raises(Unavailable), ClusterLocks(waiter, timeout_s=0.1).lock("en"):
            pytest.fail("two hold one lock")
        with ClusterLocks(waiter, timeout_s=0.1).lock("ko"):
            pass
    with ClusterLocks(waiter, timeout_s=0.1).lock("en"):
        pass
    holder.dispose()
    waiter.dispose()


def test_a_thread_that_waits_for_a_cluster_lock_gives_up_with_a_reason(sql_engine: Engine) -> None:
    locks = ClusterLocks(sql_engine, timeout_s=0.05)
    given_up: list[str] = []

    def wait() -> None:
        try:
            with locks.lock("en"):
                pass
        except Unavailable as error:
            given_up.append(str(error))

    with locks.lock("en"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(10)
    assert given_up == ["another worker has clustered 'en' for more than 0.05 s"]


def test_a_rule_that_was_spoilt_by_hand_is_named(sql_engine: Engine) -> None:
    stores = SqlStores(sql_engine)
    with writing(sql_engine) as connection:
        spoilt = (
            "INSERT INTO parser_rules (host_pattern, target_type, selectors) VALUES ('a.com', 'article', :selectors)"
        )
        connection.execute(text(spoilt), {"selectors": '{"title": "h1"}'})
    with pytest.raises(PermanentError, match="parser rule 1 "):
        stores.parser_rules.for_host("a.com", TargetType.ARTICLE)
    assert [rule.host for rule in stores.parser_rules.priority_rules(10)] == ["a.com"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "isn't a URL"),
        ("news.db", "isn't a URL"),
        ("postgresql://user:secret@host:port/db", "isn't a URL"),
        ("mysql://user:secret@host/db", "starts with mysql://"),
        ("sqlite://", "without a file"),
        ("sqlite:///:memory:", "without a file"),
    ],
)
def test_a_url_that_is_none_is_refused_with_what_is_accepted(url: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        connect(url)
    assert "DATABASE_URL" in str(caught.value)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_spelling_of_postgresql_gets_the_driver_that_is_installed(scheme: str) -> None:
    assert parse_url(f"{scheme}://user@host/db").drivername == "postgresql+psycopg"


def test_a_database_without_tables_says_how_to_make_them(tmp_path: Path) -> None:
    stores = SqlStores(connect(f"sqlite:///{tmp_path}/empty.db"))
    with pytest.raises(Unavailable, match="issuetracker db upgrade"):
        stores.reports.counts()
    stores.close()


def test_a_database_whose_folder_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    stores = SqlStores(connect(f"sqlite:///{tmp_path}/not/there/a.db"))
    with pytest.raises(Unavailable, match="issuetracker db upgrade"):
        stores.reports.counts()
    stores.close()


@pytest.mark.services
def test_a_postgres_without_tables_says_how_to_make_them(postgres_url: str) -> None:
    stores = SqlStores(connect(postgres_url))
    with pytest.raises(Unavailable, match="issuetracker db upgrade"):
        stores.reports.counts()
    stores.close()


@pytest.mark.services
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux tells these options of a socket")
@pytest.mark.parametrize(("query", "idle_s"), [("", 30), ("?keepalives_idle=77", 77)])
def test_a_postgres_that_falls_silent_is_found_out_within_a_minute(postgres_url: str, query: str, idle_s: int) -> None:
    engine = connect(f"{postgres_url}{query}")
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        with socket.socket(fileno=os.dup(driver.fileno())) as wire:
            assert wire.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            found = {
                name: wire.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
                for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
            }
    assert found == {"TCP_KEEPIDLE": idle_s, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
    engine.dispose()


def test_a_server_that_is_not_there_is_unavailable_and_its_password_is_not_told() -> None:
    stores = SqlStores(connect("postgresql://user:secret@127.0.0.1:1/news"))
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1/news \(DATABASE_URL\)") as caught:
        stores.contents.get(1)
    assert "secret" not in str(caught.value)
    stores.close()


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"not a database" * 100)
    stores = SqlStores(connect(f"sqlite:///{tmp_path}/a.db"))
    with pytest.raises(Unavailable, match="DATABASE_URL"):
        stores.contents.get(1)
    stores.close()


def test_a_database_held_by_another_program_is_unavailable_after_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("issuetracker_dagster.adapters.sql.engine.BUSY_TIMEOUT_MS", 50)
    url = sqlite_at(tmp_path / "held.db")
    holder = sqlite3.connect(tmp_path / "held.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    stores = SqlStores(connect(url))
    with pytest.raises(Unavailable, match="locked"):
        stores.contents.save(article())
    assert stores.contents.get(1) is None
    holder.execute("ROLLBACK")
    holder.close()
    assert stores.contents.save(article()) == 1
    stores.close()
