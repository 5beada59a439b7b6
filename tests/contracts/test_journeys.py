"""What `trace` reads in the database, on each kind of database: contents of a root or a URL, roots of a URL."""

import msgspec
import pytest
from sqlalchemy import Engine

from issuetracker_dagster.adapters.sql.journeys import SqlJourneys
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.ports.traces import TraceLine
from tests.contracts.store_worlds import article, member, page

URL = "https://news.example.com/50%_off?id=1"


@pytest.fixture
def stores(sql_engine: Engine) -> SqlStores:
    return SqlStores(sql_engine)


def published(root_id: str, url: str) -> TraceLine:
    return TraceLine(
        root_id=root_id, generation=0, action="message.published", detail=f"low by default: {url}", at_ms=1
    )


def test_contents_are_found_by_root_and_by_url_with_their_issue(stores: SqlStores, sql_engine: Engine) -> None:
    first = stores.contents.save(article(1, root_id="a", url="https://x.com/1", title="One"))
    second = stores.contents.save(article(2, root_id="b", url="https://x.com/2", title="Two"))
    issue_id = stores.issues.assign(member(first), None)
    journeys = SqlJourneys(sql_engine)
    (found,) = journeys.contents(["a"])
    assert (found.content_id, found.status, found.issue_id) == (first, "parsed", issue_id)
    assert found.issue_title
    assert [each.content_id for each in journeys.contents([], "https://x.com/2")] == [second]
    both = journeys.contents(["a"], "https://x.com/2")
    assert [(each.content_id, each.issue_id > 0, each.issue_title != "") for each in both] == [
        (first, True, True),
        (second, False, False),
    ]
    assert journeys.contents([]) == []


def test_roots_of_a_url_are_the_latest_published_and_the_one_that_stored_its_page(
    stores: SqlStores, sql_engine: Engine
) -> None:
    stores.message_trace.write([published("old", URL), published("other", URL.replace("%", "x"))])
    stores.message_trace.write([published("new", URL), published("longer", f"{URL}0")])
    stores.raw_contents.save(msgspec.structs.replace(page(URL), stored_by="stored:3"))
    journeys = SqlJourneys(sql_engine)
    assert journeys.roots_of(URL, 5) == ["new", "old", "stored"]
    assert journeys.roots_of(URL, 1) == ["new"]
    assert journeys.roots_of("https://nobody.com/", 5) == []
