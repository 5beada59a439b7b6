"""What becomes of an answer: stored and passed on, unchanged, for later, or never."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import RawContentRef
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.ports.http import FetchRequest, FetchResponse, TimedOut
from issuetracker_dagster.stages.fetch.options import FetchOptions
from tests.stages.fetch_world import FetchWorld, running_fetcher
from tests.stages.http_site import Page, Site, endless, fixed, in_turn, redirect, running_site, with_etag


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


@pytest.fixture(scope="module")
def fetcher() -> Iterator[AiohttpFetcher]:
    with running_fetcher() as fetcher:
        yield fetcher


@pytest.fixture
def world(fetcher: AiohttpFetcher, site: Site) -> FetchWorld:
    site.pages.clear()
    site.hits.clear()
    return FetchWorld(fetcher)


def test_a_page_is_stored_and_passed_on_by_reference(world: FetchWorld, site: Site) -> None:
    body = "<meta charset=euc-kr>속보: 똠방각하".encode("cp949")
    site.pages["/a"] = fixed(body, Content_Type="text/html; charset=euc-kr")
    outcome = world.fetch(site.url("/a?id=7#top"), target_type=TargetType.CATEGORY)
    assert outcome.forward == RawContentRef(
        raw_id=1,
        url=site.url("/a?id=7"),
        requested_url=site.url("/a?id=7"),
        target_type=TargetType.CATEGORY,
        fetched_ms=world.clock.now_ms(),
        source="seed",
        depth=2,
    )
    raw = world.stores.raw_contents.get(1)
    assert raw is not None
    assert (raw.body, raw.content_type, raw.stored_by) == (body, "text/html; charset=euc-kr", "root-1:0")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 451, 204, 206, 304])
def test_an_answer_that_will_not_change_is_permanent(world: FetchWorld, site: Site, status: int) -> None:
    site.pages["/gone"] = fixed(b"", status)
    assert world.refused(site.url("/gone")) == f"http_{status}"
    assert world.stores.raw_contents.count() == 0


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_an_answer_that_may_change_is_for_later(world: FetchWorld, site: Site, status: int) -> None:
    site.pages["/busy"] = fixed(b"", status)
    error = world.failed(site.url("/busy"))
    assert str(status) in str(error)
    assert error.retry_at_ms is None


@pytest.mark.parametrize("kind", ["image/png", "video/mp4", "application/pdf", "Application/PDF; q=1"])
def test_what_is_no_page_is_refused(world: FetchWorld, site: Site, kind: str) -> None:
    site.pages["/file"] = fixed(b"binary", Content_Type=kind)
    assert world.refused(site.url("/file")) == "unsupported_type"


@pytest.mark.parametrize("kind", ["application/rss+xml", "application/octet-stream", "application/x-gzip", ""])
def test_feeds_and_sitemaps_of_any_usual_type_are_taken(world: FetchWorld, site: Site, kind: str) -> None:
    site.pages["/feed"] = fixed(b"\x1f\x8bfeed", Content_Type=kind)
    assert world.fetched(site.url("/feed")).body == b"\x1f\x8bfeed"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "ftp://news.test/a", "not a url", ""])
def test_what_is_no_url_is_refused(world: FetchWorld, url: str) -> None:
    assert world.refused(url) == "bad_url"


def test_a_private_address_is_refused(world: FetchWorld) -> None:
    assert world.refused("http://127.0.0.3/") == "private_address"
    assert world.refused("http://[::ffff:10.0.0.1]/") == "private_address"


def test_a_page_without_end_is_refused(world: FetchWorld, site: Site) -> None:
    site.pages["/endless"] = endless(lambda: b"x" * 100_000)
    assert world.refused(site.url("/endless")) == "too_large"


def test_the_time_of_the_job_bounds_a_slow_page(world: FetchWorld, site: Site) -> None:
    site.pages["/drip"] = endless(lambda: b".", wait_s=0.05)
    assert isinstance(world.failed(site.url("/drip"), timeout_ms=300), TimedOut)


def test_a_longer_time_by_setting_holds_for_jobs_that_name_none(
    fetcher: AiohttpFetcher, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[FetchRequest] = []
    answer = fetcher.fetch

    def fetch(request: FetchRequest) -> FetchResponse:
        asked.append(request)
        return answer(request)

    monkeypatch.setattr(fetcher, "fetch", fetch)
    rule = FetcherRule(host_pattern="*", requests_per_hour=0, timeout_ms=60_000)
    world = FetchWorld(fetcher, FetchOptions(timeout_ms=60_000, robots="ignore", default_rule=rule))
    site.pages["/a"] = fixed(b"a page")
    world.fetch(site.url("/a"))
    world.fetch(site.url("/a"), timeout_ms=5_000, unconditional=True)
    assert [request.timeout_ms for request in asked] == [60_000, 5_000]


def test_a_page_that_did_not_change_ends_as_unchanged(world: FetchWorld, site: Site) -> None:
    site.pages["/a"] = with_etag(b"news", '"1"')
    world.fetched(site.url("/a"))
    world.clock.advance(60_000)
    outcome = world.fetch(site.url("/a"), "root-2")
    assert (outcome.forward, outcome.note) == (None, "unchanged")
    assert site.last("/a").headers["if-none-match"] == '"1"'
    stored = world.stores.raw_contents.latest(site.url("/a"))
    assert stored is not None
    assert (stored.fetched_ms, stored.etag) == (world.clock.now_ms(), '"1"')


def test_the_same_bytes_end_as_unchanged_and_bring_newer_validators(world: FetchWorld, site: Site) -> None:
    site.pages["/a"] = in_turn(fixed(b"news", ETag='"1"'), fixed(b"news", ETag='"2"'))
    world.fetched(site.url("/a"))
    assert world.fetch(site.url("/a"), "root-2").note == "unchanged"
    world.fetch(site.url("/a"), "root-3")
    assert site.last("/a").headers["if-none-match"] == '"2"'


def test_changed_bytes_replace_the_page_and_keep_its_history(world: FetchWorld, site: Site) -> None:
    site.pages["/a"] = in_turn(fixed(b"first"), fixed(b"second"))
    first = world.fetched(site.url("/a"))
    world.clock.advance(1_000)
    second = world.fetched(site.url("/a"), "root-2")
    assert (first.raw_id, second.body) == (second.raw_id, b"second")
    assert len(world.stores.raw_contents.history(first.raw_id)) == 2


@pytest.mark.parametrize("page", [with_etag(b"news", '"1"'), fixed(b"news")], ids=["304", "same bytes"])
def test_a_job_delivered_again_after_a_crash_before_its_forward_is_passed_on(
    world: FetchWorld, site: Site, page: Page
) -> None:
    site.pages["/a"] = page
    world.fetch(site.url("/a"))  # stored, and the worker dies before it forwards
    world.handler = world.another_worker()
    again = world.fetch(site.url("/a"))
    assert isinstance(again.forward, RawContentRef)
    retried = world.fetch(site.url("/a"), generation=1)
    assert isinstance(retried.forward, RawContentRef)


@pytest.mark.parametrize("how", [{"unconditional": True}, {"recrawl_count": 1}])
def test_a_recrawl_is_unconditional_and_passed_on(world: FetchWorld, site: Site, how: dict[str, int]) -> None:
    site.pages["/a"] = with_etag(b"news", '"1"')
    world.fetched(site.url("/a"))
    outcome = world.fetch(
        site.url("/a"), "root-2", unconditional="unconditional" in how, recrawl_count=how.get("recrawl_count", 0)
    )
    assert isinstance(outcome.forward, RawContentRef)
    assert "if-none-match" not in site.last("/a").headers


def test_a_page_wanted_as_something_else_is_passed_on_once(world: FetchWorld, site: Site) -> None:
    site.pages["/a"] = with_etag(b"links", '"1"')
    world.fetch(site.url("/a"))
    outcome = world.fetch(site.url("/a"), "root-2", target_type=TargetType.CATEGORY)
    assert isinstance(outcome.forward, RawContentRef)
    assert outcome.forward.target_type is TargetType.CATEGORY
    assert world.fetch(site.url("/a"), "root-3", target_type=TargetType.CATEGORY).note == "unchanged"


def test_last_modified_is_sent_back_unless_it_is_in_the_future(world: FetchWorld, site: Site) -> None:
    past, future = "Sat, 01 Mar 2025 10:00:00 GMT", "Fri, 01 Jan 2100 10:00:00 GMT"
    site.pages["/past"] = fixed(b"1", Last_Modified=past)
    site.pages["/future"] = fixed(b"1", Last_Modified=future)
    for path in ("/past", "/future"):
        world.fetch(site.url(path))
        world.fetch(site.url(path), "root-2")
    assert site.last("/past").headers["if-modified-since"] == past
    assert "if-modified-since" not in site.last("/future").headers


def test_validators_go_only_to_the_url_that_gave_them(world: FetchWorld, site: Site) -> None:
    site.pages["/short"] = redirect("/story")
    site.pages["/story"] = with_etag(b"story", '"s"')
    world.fetch(site.url("/short"))
    assert world.fetch(site.url("/short"), "root-2").note == "unchanged"
    assert "if-none-match" not in site.last("/short").headers
    assert site.last("/story").headers["if-none-match"] == '"s"'


def test_many_threads_fetch_through_one_handler(world: FetchWorld, site: Site) -> None:
    for number in range(40):
        site.pages[f"/n{number}"] = fixed(b"page %d" % number)
    with ThreadPoolExecutor(11) as pool:
        numbers = range(40)
        pages = list(pool.map(lambda number: world.fetched(site.url(f"/n{number}"), f"root-{number}"), numbers))
    assert [page.body for page in pages] == [b"page %d" % number for number in numbers]
    assert site.hits["/robots.txt"] == 1
