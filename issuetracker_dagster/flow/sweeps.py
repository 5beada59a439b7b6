"""What is purged of the database: fetched pages with their history, and the index of dead letters.

The tables of traces have a cap that each of their writers keeps.
"""

from collections.abc import Callable, Collection

from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.ports.dead_letters import DeadLetterIndex
from issuetracker_dagster.ports.stores import RawContents

BATCH = 500


class PageSweep:
    """Fetched pages that were last fetched or confirmed too long ago, but for those that somebody still needs.

    Letters that aren't purged keep their pages in the database's own query; `waiting` names the pages of messages that
    wait elsewhere. It is asked once, before the first step.
    """

    name = "raw_contents"

    def __init__(self, pages: RawContents, waiting: Callable[[], Collection[int]], after_ms: int) -> None:
        self._pages = pages
        self._waiting = waiting
        self._after_ms = after_ms
        self._keep: frozenset[int] | None = None
        self._cursor = 0

    def count(self, now_ms: int) -> Removed:
        kept = self._kept()
        found = Removed()
        while pages := self._pages.old(now_ms - self._after_ms, self._cursor, BATCH):
            self._cursor = pages[-1].raw_id
            going = [page.bytes for page in pages if page.raw_id not in kept]
            found += Removed(rows=len(going), bytes=sum(going))
        return found

    def step(self, now_ms: int) -> Removed | None:
        kept = self._kept()
        before_ms = now_ms - self._after_ms
        pages = self._pages.old(before_ms, self._cursor, BATCH)
        if not pages:
            return None
        self._cursor = pages[-1].raw_id
        going = {page.raw_id: page.bytes for page in pages if page.raw_id not in kept}
        gone = self._pages.remove(list(going), before_ms)
        return Removed(rows=len(gone), bytes=sum(going[raw_id] for raw_id in gone))

    def _kept(self) -> frozenset[int]:
        if self._keep is None:
            self._keep = frozenset(self._waiting())
        return self._keep


class PageHistorySweep:
    """When pages that are fetched again and again had which bytes, but for the latest of each."""

    name = "raw_content_history"

    def __init__(self, pages: RawContents, after_ms: int) -> None:
        self._pages = pages
        self._after_ms = after_ms

    def count(self, now_ms: int) -> Removed:
        return Removed(rows=self._pages.old_history(now_ms - self._after_ms))

    def step(self, now_ms: int) -> Removed | None:
        removed = self._pages.shorten_history(now_ms - self._after_ms, BATCH)
        return Removed(rows=removed) if removed else None


class LetterSweep:
    """The index of dead letters."""

    name = "dead_letters"

    def __init__(self, index: DeadLetterIndex, after_ms: int) -> None:
        self._index = index
        self._after_ms = after_ms

    def count(self, now_ms: int) -> Removed:
        return Removed(rows=self._index.count(LetterFilter(states=(), before_ms=now_ms - self._after_ms)))

    def step(self, now_ms: int) -> Removed | None:
        removed = self._index.remove(now_ms - self._after_ms, BATCH)
        return Removed(rows=removed) if removed else None
