"""Clusters of a stream whose events are known: what an analyst would see of some days of news.

`make clusters` measures longer streams of several seeds, and two workers on 2,000 contents.
"""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.vectors import Weighed, vector_of
from tests import services
from tests.migrated import sqlite_at
from tests.stages.bcubed import bcubed
from tests.stages.event_stream import Told, event_stream
from tests.stages.newsroom import OPTIONS, ORDERS, Desk, Order, arrivals, clustered, groups, replayed, split

CONTENTS = 1_000
BY_TWO_WORKERS = 500

pytestmark = pytest.mark.slow


@cache
def clusters(order: Order) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """The event and the issue of each URL."""
    room = clustered(arrivals(event_stream(CONTENTS), order))
    contents = {content_id: room.contents.get(content_id) for content_id in room.known}
    url_of = {content_id: content.url for content_id, content in contents.items() if content is not None}
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


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    made = Desk(database_url, workers=2)
    yield made
    made.close()


def test_two_workers_split_no_event_that_one_worker_would_not(desk: Desk) -> None:
    desk.room.arrive(arrivals(event_stream(BY_TWO_WORKERS), "shuffled"), *desk.workers)
    assert len(desk.placed) == BY_TWO_WORKERS
    assert sorted(desk.placed) == sorted(desk.room.known)
    found, by_one = desk.room.found(), replayed(desk)
    assert split(desk.room.known, found, by_one) == []
    assert groups(found) == groups(by_one)
    print(f"two workers, {BY_TWO_WORKERS} contents: {bcubed(desk.room.known, found)}")


def test_an_event_that_is_in_more_issues_than_before_counts_as_split() -> None:
    events = {1: "fire", 2: "fire", 3: "flood", 4: "flood"}
    one, other = {1: 10, 2: 10, 3: 20, 4: 30}, {1: 10, 2: 11, 3: 20, 4: 20}
    assert split(events, other, by_one=one) == ["fire"]
    assert split(events, one, by_one=one) == []


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
