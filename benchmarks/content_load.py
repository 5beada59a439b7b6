"""A database full of contents, and what judging and enriching one more page takes there."""

import time
from itertools import islice
from pathlib import Path

from benchmarks.made_up_contents import fill
from benchmarks.recorded_pages import recorded_pages, stored
from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.parser.handler import ParserHandler
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import InProcessReader
from issuetracker_dagster.stages.validate.handler import ValidateHandler
from issuetracker_dagster.stages.validate.options import ValidateOptions

PAGES, WARM_UP = 60, 20


class Contents:
    """Contents in SQLite: made-up ones in made-up issues by the thousand, and real pages, parsed but not judged."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "contents.db"
        url = f"sqlite:///{self._file}"
        upgrade(url)
        self._engine = connect(url)
        self._stores = SqlStores(self._engine)
        self._clock = SystemClock()
        self._filled = 0
        self._pages = recorded_pages(10 * PAGES)

    def fill(self, count: int) -> None:
        """Have so many contents, each with a text of its own, its marks for copies, and a place in an open issue."""
        self._engine.dispose()  # nobody else may have the file open
        fill(self._file, range(self._filled, count), self._clock.now_ms())
        self._filled = count

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
