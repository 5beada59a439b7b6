"""Each hop of a redirect is checked like the first URL."""

import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.model.payload import RawContentRef
from tests.stages.fetch_world import FetchWorld
from tests.stages.http_site import Exchange, Site, fixed, redirect


@pytest.fixture
def world(fetcher: AiohttpFetcher, site: Site, other: Site) -> FetchWorld:
    for one in (site, other):
        one.pages.clear()
        one.hits.clear()
    return FetchWorld(fetcher)


def test_the_page_is_stored_under_both_urls(world: FetchWorld, site: Site, other: Site) -> None:
    site.pages["/a"] = redirect(other.url("/b#part"), 301)
    other.pages["/b"] = redirect("c?x=1", 308)
    other.pages["/c"] = fixed(b"the end")
    outcome = world.fetch(site.url("/a"))
    assert isinstance(outcome.forward, RawContentRef)
    assert (outcome.forward.requested_url, outcome.forward.url) == (site.url("/a"), other.url("/c?x=1"))


def test_five_redirects_are_followed_and_a_sixth_is_not(world: FetchWorld, site: Site) -> None:
    for number in range(6):
        site.pages[f"/{number}"] = redirect(f"/{number + 1}")
    site.pages["/6"] = fixed(b"far away")
    assert world.fetched(site.url("/1")).body == b"far away"
    assert world.refused(site.url("/0")) == "too_many_redirects"


def test_a_loop_is_an_error(world: FetchWorld, site: Site) -> None:
    site.pages["/a"] = redirect("/b")
    site.pages["/b"] = redirect("/a#again")
    site.pages["/self"] = redirect("/self")
    assert world.refused(site.url("/a")) == "redirect_loop"
    assert world.refused(site.url("/self")) == "redirect_loop"
    assert site.hits["/a"] == 1


@pytest.mark.parametrize(
    "target", ["http://127.0.0.3/", "http://169.254.169.254/latest/meta-data", "http://[::1]/", "//0177.0.0.9/"]
)
def test_a_redirect_to_the_inside_is_refused(world: FetchWorld, site: Site, target: str) -> None:
    site.pages["/trap"] = redirect(target)
    assert world.refused(site.url("/trap")) == "private_address"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "javascript:alert(1)", "ftp://news.test/", "http://"])
def test_a_redirect_to_no_page_is_refused(world: FetchWorld, site: Site, target: str) -> None:
    site.pages["/trap"] = redirect(target)
    assert world.refused(site.url("/trap")) == "bad_url"


def test_a_redirect_without_a_target_is_an_answer_like_any_other(world: FetchWorld, site: Site) -> None:
    site.pages["/nowhere"] = fixed(b"", 302)
    assert world.refused(site.url("/nowhere")) == "http_302"


def test_robots_of_the_new_host_are_asked(world: FetchWorld, site: Site, other: Site) -> None:
    site.pages["/a"] = redirect(other.url("/private/b"))
    other.pages["/robots.txt"] = fixed(b"User-agent: *\nDisallow: /private/", Content_Type="text/plain")
    other.pages["/private/b"] = fixed(b"secret")
    assert world.refused(site.url("/a")) == "robots_disallowed"
    assert other.hits["/private/b"] == 0


def test_a_new_host_that_is_not_due_makes_the_job_wait_for_it(world: FetchWorld, site: Site, other: Site) -> None:
    site.pages["/a"] = redirect(other.url("/b"))
    other.pages["/b"] = fixed()
    until_ms = world.clock.now_ms() + 5_000
    world.gate.block(other.authority, until_ms)
    error = world.not_due(site.url("/a"))
    assert (error.host, error.due_ms) == (other.authority, until_ms)
    world.clock.advance(5_001)
    world.fetched(site.url("/a"))


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("/뉴스/속보?q=한국".encode(), "/%EB%89%B4%EC%8A%A4/%EC%86%8D%EB%B3%B4?q=%ED%95%9C%EA%B5%AD"),
        ("/뉴스".encode("cp949"), "/%B4%BA%BD%BA"),
    ],
    ids=["utf-8", "cp949"],
)
def test_raw_bytes_in_a_location_are_percent_encoded(world: FetchWorld, site: Site, raw: bytes, path: str) -> None:
    def moved(exchange: Exchange) -> None:
        exchange.write(
            b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\nLocation: " + raw + b"\r\n\r\n"
        )

    site.pages["/moved"] = moved
    site.pages[path.partition("?")[0]] = fixed(b"found")
    assert world.fetched(site.url("/moved")).url == site.url(path)
