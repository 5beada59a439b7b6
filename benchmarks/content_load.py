"""A database full of contents, and what judging and enriching one more page takes there."""

import hashlib
import random
import secrets
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
from sqlalchemy import Engine, Table, insert

from benchmarks.recorded_pages import recorded_pages, stored
from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.sql.engine import connect, writing
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.adapters.sql.tables_contents import (
    ContentBandRow,
    ContentBodyRow,
    ContentMetaRow,
    ContentRow,
)
from issuetracker_dagster.adapters.sql.tables_issues import IssueContentRow, IssueRow
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.urls import url_hash
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.parser.handler import ParserHandler
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import InProcessReader
from issuetracker_dagster.stages.validate.duplicates import BANDS, PERMUTATIONS
from issuetracker_dagster.stages.validate.handler import ValidateHandler
from issuetracker_dagster.stages.validate.options import ValidateOptions

PAGES, WARM_UP, ISSUE_OF, BATCH = 60, 20, 4, 5_000
_LAST_ID = 10_000_000
"""Made-up contents count down from here: the database gives ids above all others to real ones."""


class Contents:
    """Contents in SQLite: made-up ones in made-up issues by the thousand, and real pages, parsed but not judged."""

    def __init__(self, folder: Path) -> None:
        url = f"sqlite:///{folder / 'contents.db'}"
        upgrade(url)
        self._engine: Engine = connect(url)
        self._stores = SqlStores(self._engine)
        self._clock = SystemClock()
        self._filled = 0
        self._pages = recorded_pages(10 * PAGES)
        self._words = random.Random(7)
        self._vocabulary = [secrets.token_hex(4) for _ in range(20_000)]

    def fill(self, count: int) -> None:
        """Have so many contents, each with a text of its own, its marks for copies, and a place in an open issue."""
        while self._filled < count:
            numbers = range(self._filled, min(count, self._filled + BATCH))
            with writing(self._engine) as connection:
                for table, rows in self._rows(numbers).items():
                    connection.execute(insert(table), rows)
            self._filled = numbers.stop

    def judged_and_enriched_ms(self) -> list[float]:
        """Milliseconds of some real pages, once caches are warm."""
        stores = self._stores
        reader = InProcessReader()
        parser = ParserHandler(
            stores.raw_contents, stores.contents, stores.parser_rules, reader, self._clock, ParserOptions()
        )
        validate = ValidateHandler(stores.contents, self._clock, ValidateOptions())
        enrich = EnrichHandler(stores.contents, stores.issues, self._clock)
        took: list[float] = []
        for ref in stored(islice(self._pages, PAGES), stores.raw_contents):
            context = HandlerContext(Headers(root_id=f"bench-{ref.raw_id}"))
            content = parser.handle(ref, context).forward
            assert isinstance(content, ContentRef)
            began = time.perf_counter()
            if validate.handle(content, context).forward is not None:
                enrich.handle(content, context)
                took.append((time.perf_counter() - began) * 1000)
        return took[WARM_UP:]

    def close(self) -> None:
        self._stores.close()

    def _rows(self, numbers: range) -> dict[Table, list[dict[str, object]]]:
        made = [_MadeUp(number, " ".join(self._words.choices(self._vocabulary, k=80))) for number in numbers]
        now_ms = self._clock.now_ms()
        return {
            _table(IssueRow): [one.issue(now_ms) for one in made if one.number % ISSUE_OF == 0],
            _table(ContentRow): [one.content() for one in made],
            _table(ContentBodyRow): [one.body() for one in made],
            _table(ContentMetaRow): [one.meta() for one in made],
            _table(ContentBandRow): [band for one in made for band in one.bands()],
            _table(IssueContentRow): [one.member(now_ms) for one in made],
        }


class _MadeUp(msgspec.Struct, frozen=True):
    """A content that nobody wrote, as rows of the tables."""

    number: int
    text: str

    @property
    def content_id(self) -> int:
        return _LAST_ID - self.number

    @property
    def issue_id(self) -> int:
        return _LAST_ID - self.number // ISSUE_OF

    @property
    def host(self) -> str:
        return f"news{self.number % 997}.example.com"

    def issue(self, now_ms: int) -> dict[str, object]:
        return {
            "issue_id": self.issue_id,
            "title": self.text[:60],
            "language": "en",
            "first_seen_ms": self._seen_ms(now_ms),
            "last_seen_ms": now_ms,
            "content_count": ISSUE_OF,
            "source_count": ISSUE_OF,
            "velocity": 1.0,
            "state": "active",
        }

    def content(self) -> dict[str, object]:
        url = f"https://{self.host}/{self.number}"
        return {
            **dict.fromkeys(("canonical_url", "source", "root_id", "digest"), ""),
            **dict.fromkeys(("published_ms", "fetched_ms", "raw_id"), 0),
            "content_id": self.content_id,
            "url_hash": url_hash(url),
            "url": url,
            "host": self.host,
            "kind": "news",
            "title": self.text[:60],
            "language": "en",
            "date_required": False,
            "status": "enriched",
        }

    def body(self) -> dict[str, object]:
        text_hash = hashlib.sha256(self.text.encode()).hexdigest()
        signature = secrets.token_bytes(4 * PERMUTATIONS)
        return {"content_id": self.content_id, "body": self.text, "text_hash": text_hash, "signature": signature}

    def meta(self) -> dict[str, object]:
        return {
            **dict.fromkeys(("author", "category", "summary", "code", "reason"), ""),
            **dict.fromkeys(("replacement_share", "quality", "duplicate_of", "near_duplicate_of"), 0),
            "tags": [],
            "images": [],
            "notes": [],
            "field_sources": {},
            "scores": {},
            "content_id": self.content_id,
            "accepted": True,
        }

    def bands(self) -> Iterator[dict[str, object]]:
        for band in range(BANDS):
            yield {"content_id": self.content_id, "band": f"{band}:{secrets.token_hex(8)}"}

    def member(self, now_ms: int) -> dict[str, object]:
        words = self.text.split()
        return {
            "content_id": self.content_id,
            "issue_id": self.issue_id,
            "host": self.host,
            "title": self.text[:60],
            "language": "en",
            "published_ms": self._seen_ms(now_ms),
            "seen_ms": self._seen_ms(now_ms),
            "keywords": words[:10],
            "entities": words[10:20],
        }

    def _seen_ms(self, now_ms: int) -> int:
        """The later its number, the later; all within the last day."""
        return now_ms - 86_400_000 + 86_400_000 * self.number // _LAST_ID


def _table(row: type) -> Table:
    table: Table = row.__table__  # type: ignore[attr-defined]
    return table
