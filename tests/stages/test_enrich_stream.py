"""Clusters of a stream whose events are known: what an analyst would see of some days of news.

`python -m benchmarks.clusters` measures longer streams, and two workers on one database.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sqlalchemy import Engine

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.issues import SqlIssues
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.model.records import Content
from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.cluster import NearestIssueClusterer
from issuetracker_dagster.stages.enrich.extract import LocalExtractor
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.steps import Extraction
from issuetracker_dagster.stages.enrich.vectors import Weighed, vector_of
from tests import services
from tests.migrated import sqlite_at
from tests.stages.bcubed import bcubed
from tests.stages.event_stream import START_MS, Told, event_stream
from tests.stages.newsroom import Newsroom, Order, arrivals, enriching

OPTIONS = EnrichOptions()
CONTENTS = 1_000
BY_TWO_WORKERS = 200
ORDERS: tuple[Order, ...] = ("in order", "late", "shuffled")

pytestmark = pytest.mark.slow


@cache
def extraction_of(title: str, body: str) -> Extraction:
    return LocalExtractor(OPTIONS).extract(Content(url="u", title=title, body=body))


@cache
def clusters(order: Order) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """The event and the issue of each URL."""
    stores = MemoryStores()
    room = Newsroom(stores.contents, stores.issues, FakeClock(START_MS))
    clusterer = NearestIssueClusterer(stores.issues, room.clock, OPTIONS)

    def place(content_id: int) -> None:
        content = stores.contents.rows[content_id]
        clusterer.place(content, extraction_of(content.title, content.body))

    room.arrive(arrivals(event_stream(CONTENTS), order), place)
    url_of = {content_id: content.url for content_id, content in stores.contents.rows.items()}
    events = {url_of[content_id]: event for content_id, event in room.known.items()}
    return events, {url_of[content_id]: issue for content_id, issue in room.found().items()}


@pytest.mark.parametrize("order", ORDERS)
def test_issues_agree_with_the_events_of_the_stream_whatever_the_order(order: Order) -> None:
    measured = bcubed(*clusters(order))
    print(f"{CONTENTS} contents {order}: {measured}")
    assert measured.f1 >= 0.90


@pytest.mark.parametrize("order", ORDERS[1:])
def test_another_order_of_arrival_changes_few_clusters(order: Order) -> None:
    measured = bcubed(clusters("in order")[1], clusters(order)[1])
    print(f"in order against {order}: {measured}")
    assert measured.f1 >= 0.90


def test_the_same_seed_gives_the_same_stream_and_all_that_makes_news_hard() -> None:
    stream = event_stream(CONTENTS)
    assert stream == event_stream(CONTENTS)
    assert stream != event_stream(CONTENTS, seed=2)
    assert {told.kind for told in stream} == {"report", "short", "copy", "thread", "later", "format"}
    korean = sum(told.event[0] >= "가" for told in stream)
    assert 0.2 < korean / len(stream) < 0.5


def test_events_of_the_stream_share_so_many_words_that_links_make_heaps_of_them() -> None:
    """Else the other figures would say nothing: at the threshold of clustering, single links join what is apart."""
    stream = event_stream(CONTENTS)
    vectors = [vector_of(view_of(number, told)) for number, told in enumerate(stream)]
    weighed = Weighed(vectors)
    alike = np.array([weighed.alike(vector) for vector in vectors])
    known = {number: told.event for number, told in enumerate(stream)}
    _, heaps = connected_components(alike >= OPTIONS.join_min)
    assert bcubed(known, dict(enumerate(heaps.tolist()))).f1 < 0.65


def view_of(number: int, told: Told) -> MemberView:
    content = told.content
    return MemberView(number, 0, content.host, content.title, content.body, "", content.published_ms, 0, (), ())


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.services)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield sqlite_at(tmp_path / "stream.db")
        return
    server: services.Postgres = request.getfixturevalue("postgres_server")
    url = server.new_database("stream")
    upgrade(url)
    yield url
    server.drop_database("stream")


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
    """Two enrich stages on one database, each with connections of its own as each shift has."""

    def __init__(self, url: str) -> None:
        self.placed: list[int] = []
        clock = FakeClock(START_MS)
        self.stores = [SqlStores(connect(url)) for _ in range(2)]
        self.room = Newsroom(self.stores[0].contents, self.stores[0].issues, clock)
        self.workers = [
            enriching(EnrichHandler(stores.contents, WitnessedIssues(stores.engine, self.placed), clock, OPTIONS))
            for stores in self.stores
        ]


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    made = Desk(database_url)
    yield made
    for stores in made.stores:
        stores.close()


def groups(found: Mapping[int, int]) -> set[frozenset[int]]:
    by_issue: dict[int, set[int]] = defaultdict(set)
    for content_id, issue_id in found.items():
        by_issue[issue_id].add(content_id)
    return {frozenset(ids) for ids in by_issue.values()}


def replayed(desk: Desk) -> set[frozenset[int]]:
    """What one worker makes of the same contents in the order in which the two gave them their issues."""
    stores = MemoryStores()
    clusterer = NearestIssueClusterer(stores.issues, desk.room.clock, OPTIONS)
    for content_id in sorted(desk.room.known):
        content = desk.room.contents.get(content_id)
        assert content is not None
        assert stores.contents.save(content) == content_id
    for content_id in desk.placed:
        content = stores.contents.rows[content_id]
        clusterer.place(content, extraction_of(content.title, content.body))
    return groups({view.content_id: view.issue_id for view in stores.issues.views(desk.room.known)})


def test_two_workers_split_no_event_that_one_worker_would_not(desk: Desk) -> None:
    desk.room.arrive(arrivals(event_stream(BY_TWO_WORKERS), "shuffled"), *desk.workers)
    assert len(desk.placed) == BY_TWO_WORKERS
    assert sorted(desk.placed) == sorted(desk.room.known)
    assert groups(desk.room.found()) == replayed(desk)
    print(f"two workers, {BY_TWO_WORKERS} contents: {bcubed(desk.room.known, desk.room.found())}")


def test_reports_of_one_event_that_come_at_the_same_moment_open_one_issue(desk: Desk) -> None:
    for number in range(8):
        told = event_stream(1, seed=number)[0]
        copies = [msgspec.structs.replace(told.content, url=f"https://{n}.example/{number}") for n in range(2)]
        ids = [desk.room.contents.save(copy) for copy in copies]
        gate = threading.Barrier(2)

        def enrich(place: int, ids: list[int] = ids, gate: threading.Barrier = gate) -> None:
            gate.wait()
            desk.workers[place](ids[place])

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(enrich, range(2)))
        assert len({view.issue_id for view in desk.stores[0].issues.views(ids)}) == 1
