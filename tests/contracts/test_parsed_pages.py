"""What parsing made of the pages of a time, as the database gives it."""

from sqlalchemy import Engine

from issuetracker_dagster.adapters.sql.stores import SqlStores
from tests.contracts.store_worlds import article, page


def stored(stores: SqlStores, number: int, fetched_ms: int, **fields: object) -> int:
    url = f"https://a.com/{number}"
    raw_id = stores.raw_contents.save(page(url, fetched_ms=fetched_ms))
    stores.contents.save(article(number, url=url, host="a.com", raw_id=raw_id, fetched_ms=fetched_ms, **fields))
    return raw_id


def test_pages_of_the_time_come_latest_first_and_no_more_than_asked_for(sql_engine: Engine) -> None:
    stores = SqlStores(sql_engine)
    for number, fetched_ms in enumerate([900, 1_000, 1_500, 1_999, 2_000]):
        stored(stores, number, fetched_ms, field_sources={"rule": f"missed:{number}"}, replacement_share=0.25)
    found = stores.parsed_pages.between(1_000, 2_000, 10)
    assert [each.url for each in found] == ["https://a.com/3", "https://a.com/2", "https://a.com/1"]
    assert (found[0].host, found[0].sources, found[0].replacement_share) == ("a.com", {"rule": "missed:3"}, 0.25)
    assert [each.url for each in stores.parsed_pages.between(1_000, 2_000, 2)] == ["https://a.com/3", "https://a.com/2"]


def test_a_page_that_was_only_confirmed_was_not_parsed_in_that_time(sql_engine: Engine) -> None:
    stores = SqlStores(sql_engine)
    raw_id = stored(stores, 1, 500)
    stores.raw_contents.touch(raw_id, 1_500, "", "")
    assert stores.parsed_pages.between(1_000, 2_000, 10) == []
