"""A stream of contents on its way through enrich, by one worker or several, and the issues they end in.

What two workers make of a stream is held against what one makes of it in the order in which they got to it.
"""

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from sqlalchemy import Engine

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.issues import SqlIssues
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.records import Content
from issuetracker_dagster.ports.stores import Contents, Issues, MemberView
from issuetracker_dagster.stages.enrich.cluster import NearestIssueClusterer
from issuetracker_dagster.stages.enrich.extract import LocalExtractor
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.steps import Extraction
from tests.stages.event_stream import HOUR_MS, START_MS, Told

Order = Literal["in order", "late", "shuffled"]
ORDERS: tuple[Order, ...] = ("in order", "late", "shuffled")
OPTIONS = EnrichOptions()
_CRAWLED_AFTER_MS = 60_000
_LATEST_H = 12.0


def arrivals(stream: Sequence[Told], order: Order) -> list[tuple[int, Told]]:
    """When each content reaches enrich: as it comes out, half of them up to 12 hours late, or all at the end, mixed."""
    dice = random.Random(5)
    if order == "in order":
        return [(told.out_ms + _CRAWLED_AFTER_MS, told) for told in stream]
    if order == "late":
        delays = [int(dice.choice((0.0, dice.uniform(0, _LATEST_H))) * HOUR_MS) for _ in stream]
        coming = [(told.out_ms + _CRAWLED_AFTER_MS + delay, told) for told, delay in zip(stream, delays, strict=True)]
        return sorted(coming, key=lambda arrival: (arrival[0], arrival[1].content.url))
    end_ms = stream[-1].out_ms + _CRAWLED_AFTER_MS
    return [(end_ms, told) for told in dice.sample(stream, len(stream))]


class Newsroom:
    """One database's contents, and what became of them."""

    def __init__(self, contents: Contents, issues: Issues, clock: FakeClock) -> None:
        self.contents, self.issues, self.clock = contents, issues, clock
        self.known: dict[int, str] = {}
        """The event of each content, by id."""

    def arrive(self, coming: Sequence[tuple[int, Told]], *workers: Callable[[int], object]) -> None:
        """Store each content and let the workers take them, in order, whoever is free. The clock follows."""
        waiting = iter(coming)
        taking = threading.Lock()
        failures: list[BaseException] = []

        def work(enrich: Callable[[int], object]) -> None:
            try:
                while not failures:
                    with taking:
                        arrival = next(waiting, None)
                        if arrival is None:
                            return
                        at_ms, told = arrival
                        self.clock.advance(max(0, at_ms - self.clock.now_ms()))
                        content_id = self.contents.save(told.content)
                        self.known[content_id] = told.event
                    enrich(content_id)
            except BaseException as error:  # noqa: BLE001 - raised again below
                failures.append(error)

        threads = [threading.Thread(target=work, args=(enrich,)) for enrich in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for failure in failures:
            raise failure

    def found(self) -> Mapping[int, int]:
        """The issue of each content, by id."""
        return {view.content_id: view.issue_id for view in self.issues.views(self.known)}


@lru_cache(maxsize=20_000)
def extraction_of(title: str, body: str) -> Extraction:
    return LocalExtractor(OPTIONS).extract(Content(url="u", title=title, body=body))


def placing(stores: MemoryStores, clock: FakeClock) -> Callable[[int], object]:
    """A worker that does of enrich what clusters depend on."""
    clusterer = NearestIssueClusterer(stores.issues, clock, OPTIONS)

    def place(content_id: int) -> object:
        content = stores.contents.rows[content_id]
        return clusterer.place(content, extraction_of(content.title, content.body))

    return place


def clustered(coming: Sequence[tuple[int, Told]]) -> Newsroom:
    """The contents in memory, as one worker clusters them."""
    stores = MemoryStores()
    room = Newsroom(stores.contents, stores.issues, FakeClock(START_MS))
    room.arrive(coming, placing(stores, room.clock))
    return room


def groups(found: Mapping[int, int]) -> set[frozenset[int]]:
    """The contents of each issue."""
    by_issue: dict[int, set[int]] = defaultdict(set)
    for content_id, issue_id in found.items():
        by_issue[issue_id].add(content_id)
    return {frozenset(ids) for ids in by_issue.values()}


class WitnessedIssues(SqlIssues):
    """Tells in which order contents were given their issue, which happens under the lock of their language."""

    def __init__(self, engine: Engine, placed: list[int]) -> None:
        super().__init__(engine)
        self.placed = placed

    def assign(self, view: MemberView, issue_id: int | None) -> int:
        found = super().assign(view, issue_id)
        self.placed.append(view.content_id)
        return found


class Desk:
    """Enrich stages on one database, each with connections of its own as each shift has."""

    def __init__(self, url: str, workers: int) -> None:
        self.placed: list[int] = []
        clock = FakeClock(START_MS)
        self.stores = [SqlStores(connect(url)) for _ in range(workers)]
        self.room = Newsroom(self.stores[0].contents, self.stores[0].issues, clock)
        self.workers = [
            enriching(EnrichHandler(stores.contents, WitnessedIssues(stores.engine, self.placed), clock, OPTIONS))
            for stores in self.stores
        ]

    def close(self) -> None:
        for stores in self.stores:
            stores.close()


def replayed(desk: Desk) -> Mapping[int, int]:
    """The issues that one worker makes of a desk's contents, in the order in which its workers gave them theirs.

    All at the time that the desk's clock has reached: only for arrivals that come at the same time.
    """
    stores = MemoryStores()
    for content_id in sorted(desk.room.known):
        content = desk.room.contents.get(content_id)
        assert content is not None
        assert stores.contents.save(content) == content_id
    place = placing(stores, desk.room.clock)
    for content_id in desk.placed:
        place(content_id)
    return {view.content_id: view.issue_id for view in stores.issues.views(desk.room.known)}


def split(known: Mapping[int, str], found: Mapping[int, int], by_one: Mapping[int, int]) -> list[str]:
    """The events whose contents are in more issues than one worker makes of them."""
    once = _spread(known, by_one)
    return [event for event, count in _spread(known, found).items() if count > once[event]]


def _spread(known: Mapping[int, str], found: Mapping[int, int]) -> Mapping[str, int]:
    issues: dict[str, set[int]] = defaultdict(set)
    for content_id, event in known.items():
        issues[event].add(found[content_id])
    return {event: len(ids) for event, ids in issues.items()}


def enriching(handler: EnrichHandler) -> Callable[[int], object]:
    """A worker that does all of enrich."""
    return lambda content_id: handler.handle(
        ContentRef(content_id=content_id, url=""), HandlerContext(Headers(root_id=str(content_id)))
    )
