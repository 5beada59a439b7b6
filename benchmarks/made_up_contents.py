"""A million contents that nobody wrote, in a minute: SQLite makes them up itself, from a few thousand texts."""

import json
import random
import sqlite3
from pathlib import Path

from issuetracker_dagster.stages.validate.duplicates import BANDS, PERMUTATIONS

ISSUE_OF = 4
_TEXTS, _WORDS, _VOCABULARY = 5_000, 80, 20_000
"""More texts than are ever compared at once: to whoever looks at the newest, each content has one of its own."""
_LAST_ID = 10_000_000
"""The database gives ids above this one to real contents."""
_DAY_MS = 86_400_000
_HASHES = 2**62

_MADE = """
    INSERT INTO made (number, issue_id, host, hash, seen_ms)
    WITH RECURSIVE numbers(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)
    SELECT n, 1 + n / :issue_of, 'news' || n % 997 || '.example.com', printf('%016x', (n - :first) * :apart + :first),
           :now_ms - :day_ms + :day_ms * n / :last_id
    FROM numbers
"""
"""Hashes rise with the number, so that indices are written in order, and are spread like real ones, so that real pages
meet any part of an index. The later its number, the later a content was seen; all of them within the last day."""
_INSERTS = (
    """
    INSERT INTO issues (issue_id, title, language, first_seen_ms, last_seen_ms, content_count, source_count, velocity,
                        state)
    SELECT issue_id, title, 'en', seen_ms, :now_ms, :issue_of, :issue_of, 1.0, 'active'
    FROM made JOIN texts ON text = number % :texts WHERE number % :issue_of = 0
    """,
    """
    INSERT INTO contents (content_id, url_hash, url, canonical_url, host, source, kind, title, language, published_ms,
                          fetched_ms, raw_id, root_id, date_required, status, digest)
    SELECT 1 + number, hash || printf('%048x', number), 'https://' || host || '/' || number, '', host, '', 'news',
           title, 'en', 0, 0, 0, '', 0, 'enriched', ''
    FROM made JOIN texts ON text = number % :texts
    """,
    """
    INSERT INTO content_bodies (content_id, body, text_hash, signature)
    SELECT 1 + number, body, hash || printf('%048x', number), randomblob(:signature)
    FROM made JOIN texts ON text = number % :texts
    """,
    """
    INSERT INTO content_meta (content_id, author, category, tags, images, summary, field_sources, replacement_share,
                              accepted, code, reason, quality, scores, notes, duplicate_of, near_duplicate_of)
    SELECT 1 + number, '', '', '[]', '[]', '', '{}', 0, 1, '', '', 0, '{}', '[]', 0, 0 FROM made
    """,
    """
    INSERT INTO issue_contents (content_id, issue_id, host, title, language, published_ms, seen_ms, keywords, entities)
    SELECT 1 + number, issue_id, host, title, 'en', seen_ms, seen_ms, keywords, entities
    FROM made JOIN texts ON text = number % :texts
    """,
    """
    INSERT INTO content_bands (band, content_id)
    SELECT bands.value || ':' || hash, 1 + number FROM json_each(:bands) AS bands CROSS JOIN made
    """,
)


def fill(file: Path, numbers: range, now_ms: int) -> None:
    """Put the contents of these numbers into a database that nobody else has open, issues and all, in one transaction.

    Calls go on where the last one ended, at a multiple of `ISSUE_OF`.
    """
    database = sqlite3.connect(file, isolation_level=None)
    try:
        # A broken file is made anew: nothing is kept for the sake of it.
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -1000000"):
            database.execute(f"PRAGMA {pragma}")
        database.execute("BEGIN")
        _leave_room_for_ids(database)
        _write_texts(database)
        values = {
            "first": numbers.start,
            "last": numbers.stop - 1,
            "apart": _HASHES // len(numbers),
            "issue_of": ISSUE_OF,
            "texts": _TEXTS,
            "signature": 4 * PERMUTATIONS,
            "bands": json.dumps(sorted(map(str, range(BANDS)))),
            "now_ms": now_ms,
            "day_ms": _DAY_MS,
            "last_id": _LAST_ID,
        }
        database.execute("CREATE TEMP TABLE made (number INTEGER PRIMARY KEY, issue_id, host, hash, seen_ms)")
        database.execute(_MADE, values)
        # Sixteen rows a content: sorting them at the end takes half the time of keeping them sorted.
        ((index, made_by),) = database.execute(
            "SELECT name, sql FROM sqlite_master"
            " WHERE type = 'index' AND tbl_name = 'content_bands' AND sql IS NOT NULL"
        )
        database.execute(f"DROP INDEX {index}")
        for insert in _INSERTS:
            database.execute(insert, values)
        database.execute(made_by)
        database.execute("COMMIT")
    finally:
        database.close()


def _leave_room_for_ids(database: sqlite3.Connection) -> None:
    for table in ("issues", "contents"):
        database.execute("DELETE FROM sqlite_sequence WHERE name = ? AND seq < ?", (table, _LAST_ID))
        database.execute(
            "INSERT INTO sqlite_sequence (name, seq) SELECT ?, ? WHERE NOT EXISTS"
            " (SELECT 1 FROM sqlite_sequence WHERE name = ?)",
            (table, _LAST_ID, table),
        )


def _write_texts(database: sqlite3.Connection) -> None:
    dice = random.Random(7)
    vocabulary = [f"{dice.getrandbits(32):08x}" for _ in range(_VOCABULARY)]
    database.execute("CREATE TEMP TABLE texts (text INTEGER PRIMARY KEY, title, body, keywords, entities)")
    for number in range(_TEXTS):
        words = dice.choices(vocabulary, k=_WORDS)
        texts = (" ".join(words[:7]), " ".join(words), json.dumps(words[:10]), json.dumps(words[10:20]))
        database.execute("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", (number, *texts))
