"""SQLite files give back what deleted rows held, beside others that read and write them."""

import sqlite3
import threading
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.sql import space
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.space import give_back
from tests.waiting import eventually

MB = 1024 * 1024


def filled(path: Path, megabytes: int = 12) -> sqlite3.Connection:
    """A file of so many megabytes, all but one of them free, and an open connection to it."""
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, body BLOB)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO things (body) VALUES (?)", ((b"x" * 10_000,) for _ in range(megabytes * 100)))
    connection.execute("COMMIT")
    connection.execute("DELETE FROM things WHERE id > 100")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return connection


def test_a_file_that_is_mostly_free_gets_small_once_and_then_in_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_elsewhere = filled(path)
    assert give_back(path) > 10 * MB
    assert path.stat().st_size < 2 * MB
    open_elsewhere.executemany("INSERT INTO things (body) VALUES (?)", ((b"y" * 10_000,) for _ in range(1_200)))
    open_elsewhere.execute("DELETE FROM things WHERE id > 100")
    assert give_back(path) > 10 * MB
    assert open_elsewhere.execute("SELECT count(*) FROM things").fetchone() == (100,)


def test_a_little_free_space_is_left_to_later_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    filled(path, megabytes=4)
    before = path.stat().st_size
    assert (give_back(path), path.stat().st_size) == (0, before)
    assert give_back(tmp_path / "none.db") == 0
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_others_keep_locked_is_left_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    busy = filled(path)
    busy.execute("BEGIN IMMEDIATE")
    with monkeypatch.context() as impatient:
        impatient.setattr(space, "BUSY_S", 0.05)
        assert give_back(path) == 0
    busy.execute("COMMIT")
    assert give_back(path) > 10 * MB


def test_writers_go_on_while_a_file_shrinks_in_steps(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    ours = connect(f"sqlite:///{path}")
    with ours.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE things (id INTEGER PRIMARY KEY, body BLOB)")
        connection.exec_driver_sql("INSERT INTO things VALUES (1, zeroblob(30000000))")
    with ours.begin() as connection:
        connection.exec_driver_sql("DELETE FROM things")
    ended, written = threading.Event(), []

    def write() -> None:
        while not ended.is_set():
            with ours.begin() as connection:
                connection.exec_driver_sql("INSERT INTO things (body) VALUES ('x')")
            written.append(1)

    writer = threading.Thread(target=write)
    writer.start()
    eventually(lambda: len(written) > 5)
    before = len(written)
    assert give_back(path) > 25 * MB, "files made here can't shrink in steps"
    during = len(written) - before
    ended.set()
    writer.join()
    assert during >= 2
    ours.dispose()
