"""Contents that SQLite makes up are such as the stores would have written."""

import sqlite3
from pathlib import Path

from benchmarks.made_up_contents import ISSUE_OF, fill
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.model.records import Content, ContentStatus
from tests.migrated import sqlite_at

NOW_MS = 1_800_000_000_000


def test_made_up_contents_are_read_like_any_and_real_ones_come_after_them(tmp_path: Path) -> None:
    file = tmp_path / "contents.db"
    url = sqlite_at(file)
    fill(file, range(40), NOW_MS)
    fill(file, range(40, 100), NOW_MS + 1)

    stores = SqlStores(connect(url))
    newest = stores.issues.open_members("en", NOW_MS - 86_400_000, 8)
    assert [view.content_id for view in newest] == list(range(100, 92, -1))
    assert len({view.body for view in newest}) == 8
    assert len({view.issue_id for view in newest}) == 8 // ISSUE_OF
    content = stores.contents.get(100)
    assert content is not None
    assert content.status is ContentStatus.ENRICHED
    assert stores.contents.save(Content(url="https://real.example.com/1", title="T", body="B")) > 1_000_000
    stores.close()


def test_nothing_made_up_lacks_what_it_refers_to(tmp_path: Path) -> None:
    file = tmp_path / "contents.db"
    sqlite_at(file)
    fill(file, range(40), NOW_MS)

    with sqlite3.connect(file) as database:
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        indices = database.execute("SELECT name FROM sqlite_master WHERE tbl_name = 'content_bands'").fetchall()
        assert ("ix_content_bands_content_id",) in indices
    database.close()
