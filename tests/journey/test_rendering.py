"""Hosts whose rule says so are rendered: what that changes for a page, and what it doesn't change for its host."""

import contextlib
import json
import threading
from collections.abc import Iterator

import pytest

from issuetracker_dagster.adapters.browser.renderer import BrowserRenderer
from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, encode_payload
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.stages.fetch.handler import FetchHandler
from issuetracker_dagster.stages.fetch.robots import Robots
from issuetracker_dagster.wiring.crews import opened_shift
from issuetracker_dagster.wiring.parts import Wiring
from tests.contracts.browser_world import SANDBOX, options, running_renderer, started
from tests.journey.stage_work import running_intake
from tests.stages.fetch_world import FetchWorld, running_fetcher
from tests.stages.http_site import Exchange, Page, Site, fixed, running_site, with_etag
from tests.stages.parser_world import ParserWorld
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

HOST = "127.0.0.1"


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site(HOST) as site:
        yield site


@pytest.fixture(scope="module")
def fetcher() -> Iterator[AiohttpFetcher]:
    with running_fetcher() as fetcher:
        yield fetcher


@pytest.fixture(scope="module")
def renderer() -> Iterator[BrowserRenderer]:
    with running_renderer() as renderer:
        yield started(renderer)


class RenderingWorld(FetchWorld):
    """A fetch handler whose hosts on loopback are rendered, unless `renderer` is None."""

    def __init__(self, fetcher: AiohttpFetcher, renderer: BrowserRenderer | None) -> None:
        self.renderer = renderer
        super().__init__(fetcher)
        self.rule(rendering=True)

    def another_worker(self) -> FetchHandler:
        robots = Robots(self.fetcher, self.clock, self.options, self.stores.seeds)
        stores = self.stores
        return FetchHandler(
            self.fetcher,
            self.gate,
            robots,
            stores.raw_contents,
            stores.parser_rules,
            self.clock,
            self.options,
            self.renderer,
        )

    def rule(self, *, rendering: bool, requests_per_hour: int = 0, burst: int = 100) -> None:
        self.stores.parser_rules.save_fetcher_rule(
            FetcherRule(
                host_pattern=HOST,
                rendering=rendering,
                requests_per_hour=requests_per_hour,
                burst=burst,
                concurrency=100,
            )
        )


@pytest.fixture
def world(fetcher: AiohttpFetcher, renderer: BrowserRenderer) -> RenderingWorld:
    return RenderingWorld(fetcher, renderer)


def drawn(script: str, number: int = 1) -> Page:
    """A page of which only the title is there before its script has run."""
    page = f"""<!doctype html><html><head><title>Council votes to rebuild bridge {number}</title>
        <meta property="article:published_time" content="2026-11-30T08:00:00Z"></head>
        <body><div id=root></div><script>
        const draw = parts => {{ document.getElementById('root').innerHTML = '<article><h1>' + document.title + '</h1>'
            + parts.map(part => '<p>' + part + '</p>').join('') + '</article>' }};
        {script}</script></body></html>"""
    return fixed(page.encode())


def parts(count: int) -> list[str]:
    return [f"Part {number}: the council voted on bridge {number} that the flood had taken." for number in range(count)]


def from_the_page(count: int = 8) -> str:
    return f"draw({parts(count)})"


FROM_DATA = "fetch('/api/story').then(answer => answer.json()).then(draw)"


def story(exchange: Exchange) -> None:
    exchange.send(200, json.dumps(parts(8)).encode(), {"Content-Type": "application/json"})


def body_of(world: FetchWorld, page: RawContent) -> str:
    """What the parser stage finds in a stored page; empty when it finds the page to be."""
    parser = ParserWorld(stores=world.stores)
    kind = TargetType.ARTICLE
    ref = RawContentRef(
        raw_id=page.raw_id, url=page.url, requested_url=page.requested_url, target_type=kind, fetched_ms=page.fetched_ms
    )
    outcome = parser.handler.handle(ref, HandlerContext(Headers(root_id="root-1")))
    assert outcome.forward is not None
    content = parser.stores.contents.get(outcome.forward.content_id)  # type: ignore[union-attr]
    assert content is not None
    return content.body


@pytest.mark.parametrize("script", [from_the_page(), FROM_DATA], ids=["in the page", "by a request"])
def test_an_article_that_exists_only_after_its_script_ran_reaches_the_parser_with_its_body(
    world: RenderingWorld, site: Site, script: str
) -> None:
    site.pages |= {"/article": drawn(script), "/api/story": story}
    page = world.fetched(site.url("/article"))
    assert page.is_rendered
    assert page.content_type == "text/html; charset=utf-8"
    assert body_of(world, page).count("the council voted") == 8
    assert site.hits["/article"] == 1


def test_without_a_browser_the_page_is_what_it_was(fetcher: AiohttpFetcher, site: Site) -> None:
    world = RenderingWorld(fetcher, None)
    site.pages["/article"] = drawn(from_the_page())
    page = world.fetched(site.url("/article"))
    assert not page.is_rendered
    assert b"id=root></div>" in page.body
    assert body_of(world, page) == ""


def test_a_host_without_the_rule_and_what_is_no_page_arent_rendered(world: RenderingWorld, site: Site) -> None:
    site.pages["/feed"] = fixed(b"<rss><channel/></rss>", Content_Type="text/html")
    outcome = world.fetch(site.url("/feed"), target_type=TargetType.FEED)
    assert isinstance(outcome.forward, RawContentRef)
    feed = world.stores.raw_contents.get(outcome.forward.raw_id)
    assert feed is not None
    assert not feed.is_rendered
    site.pages["/data"] = fixed(b"{}", Content_Type="application/json")
    assert not world.fetched(site.url("/data")).is_rendered
    site.pages["/gone"] = fixed(from_the_page().encode(), status=404)
    assert world.refused(site.url("/gone")) == "http_404"
    world.rule(rendering=False)
    world.handler = world.another_worker()
    site.pages["/article"] = drawn(from_the_page())
    assert not world.fetched(site.url("/article")).is_rendered


def test_robots_txt_of_the_host_holds_for_what_its_pages_ask_for(world: RenderingWorld, site: Site) -> None:
    site.pages |= {
        "/robots.txt": fixed(b"User-agent: *\nDisallow: /api/\n"),
        "/article": drawn(FROM_DATA + f".catch(() => {{ {from_the_page(3)} }})"),
        "/api/story": story,
    }
    assert body_of(world, world.fetched(site.url("/article"))).count("the council voted") == 3
    assert site.hits["/api/story"] == 0
    assert world.refused(site.url("/api/story")) == "robots_disallowed"


def test_the_browsers_thread_asks_no_server_of_ours(
    world: RenderingWorld, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = world.stores.parser_rules
    read, asked_in = rules.fetcher_rule, set()

    def told(host: str) -> FetcherRule | None:
        asked_in.add(threading.current_thread().name)
        return read(host)

    def outlast(exchange: Exchange) -> None:
        world.clock.advance(world.options.rule_ttl_ms)
        exchange.send(200, b"")

    monkeypatch.setattr(rules, "fetcher_rule", told)
    site.pages |= {"/article": drawn(f"fetch('/slow').then(() => {FROM_DATA})"), "/slow": outlast, "/api/story": story}
    assert "the council voted" in body_of(world, world.fetched(site.url("/article")))
    assert asked_in == {threading.current_thread().name}


def test_where_a_script_leads_is_fetched_as_a_redirect_is(world: RenderingWorld, site: Site) -> None:
    site.pages |= {
        "/robots.txt": fixed(b"User-agent: *\nDisallow: /private/\n"),
        "/old": drawn("location = '/article'"),
        "/article": drawn(from_the_page()),
        "/lured": drawn("location = '/private/page'"),
    }
    page = world.fetched(site.url("/old"))
    assert (page.url, page.requested_url) == (site.url("/article"), site.url("/old"))
    assert "the council voted" in body_of(world, page)
    assert world.refused(site.url("/lured")) == "robots_disallowed"
    assert site.hits["/private/page"] == 0


def test_redirects_by_script_end_as_redirects_do(world: RenderingWorld, site: Site) -> None:
    site.pages |= {
        "/there": drawn("location = '/back'"),
        "/back": drawn("location = '/there'"),
        "/endless": drawn("location = '/endless?' + (Number(location.search.slice(1)) + 1)"),
    }
    assert world.refused(site.url("/there")) == "redirect_loop"
    assert world.refused(site.url("/endless")) == "too_many_redirects"
    assert site.hits["/endless"] == world.options.max_redirects + 1


def test_what_a_page_asks_of_its_host_counts_as_requests(world: RenderingWorld, site: Site) -> None:
    """A request a minute, three at once: an article with its data leaves one, an article without takes that."""
    site.pages |= {"/first": drawn(from_the_page()), "/article": drawn(FROM_DATA), "/api/story": story}
    world.fetched(site.url("/first"))  # robots.txt is known from now on
    world.rule(rendering=True, requests_per_hour=60, burst=3)
    world.clock.advance(world.options.rule_ttl_ms)
    assert "the council voted" in body_of(world, world.fetched(site.url("/article")))
    world.fetch(site.url("/first"), "root-2")
    assert world.not_due(site.url("/another")).host == site.authority
    assert site.hits["/another"] == 0


def test_a_rendered_page_is_asked_for_whole_since_its_data_may_have_changed(world: RenderingWorld, site: Site) -> None:
    text = "The council voted on Monday to rebuild the bridge. " * 8
    shell = b"<title>Council votes</title><div id=text></div><script>fetch('/api/text').then(one => one.text())" + (
        b".then(text => document.getElementById('text').textContent = text)</script>"
    )
    site.pages |= {"/article": with_etag(shell, '"same"'), "/api/text": fixed(text.encode())}
    world.rule(rendering=False)
    assert world.fetched(site.url("/article")).etag == '"same"'
    world.rule(rendering=True)
    world.handler = world.another_worker()
    first = world.fetched(site.url("/article"), "root-2")
    assert (first.is_rendered, first.etag) == (True, "")
    assert world.fetch(site.url("/article"), "root-3").note == "unchanged"
    site.pages["/api/text"] = fixed(text.replace("bridge", "tower").encode())
    assert b"tower" in world.fetched(site.url("/article"), "root-4").body


def test_while_all_pages_of_the_browser_are_in_use_a_job_waits_and_its_host_isnt_asked(
    fetcher: AiohttpFetcher, site: Site
) -> None:
    site.pages["/article"] = drawn(from_the_page())
    with running_renderer(pages=1) as busy:
        world = RenderingWorld(fetcher, started(busy))
        busy.reserve(is_urgent=True, wait_ms=0)
        assert "FETCH_RENDER_PAGES" in world.not_due(site.url("/article")).reason
        assert not site.seen
        busy.release()
        assert world.fetched(site.url("/article")).is_rendered


def test_an_upgraded_job_knows_the_rule_that_it_comes_from(world: RenderingWorld, site: Site) -> None:
    site.pages["/article"] = drawn(from_the_page())
    world.rule(rendering=False)
    assert not world.fetched(site.url("/article")).is_rendered
    world.rule(rendering=True)
    job = CrawlJob(url=site.url("/article"), unconditional=True, metadata={"upgrade": "rendering"})
    outcome = world.handler.handle(job, HandlerContext(Headers(root_id="upgraded")))
    assert isinstance(outcome.forward, RawContentRef)
    page = world.stores.raw_contents.get(outcome.forward.raw_id)
    assert page is not None
    assert page.is_rendered


def test_a_page_beyond_its_limits_is_refused_and_the_next_one_is_fetched(world: RenderingWorld, site: Site) -> None:
    site.pages |= {
        "/huge": drawn("document.body.setAttribute('data-x', 'x'.repeat(2e7))"),
        "/hangs": drawn("while (true);"),
        "/article": drawn(from_the_page()),
    }
    assert world.refused(site.url("/huge")) == "too_large"
    assert "rendered within" in str(world.failed(site.url("/hangs"), timeout_ms=3_000))
    assert world.fetched(site.url("/article")).is_rendered


@pytest.mark.services
def test_a_host_whose_pages_come_out_empty_is_rendered_from_then_on(wiring_with_browser: Wiring, site: Site) -> None:
    """Five of them cause the upgrade, which fetches them once more; the sixth is rendered at once."""
    wiring = wiring_with_browser
    paths = [f"/article/{number}" for number in range(5)]
    site.pages |= {path: drawn(from_the_page(), number) for number, path in enumerate([*paths, "/article/5"])}

    def crawl(path: str) -> None:
        headers = Headers(root_id=f"crawl-{path}")
        payload = encode_payload(CrawlJob(url=site.url(path)))
        wiring.producer.publish([Outgoing.of(Topic.CRAWL_NORMAL, Message(headers, site.authority.encode(), payload))])

    def bodies() -> dict[str, str]:
        return {view.url: body(wiring, view.content_id) for view in wiring.stores.reports.contents(100)}

    with contextlib.ExitStack() as stages:
        stages.enter_context(running_intake(wiring, Stage.PARSER))
        for stage in (Stage.FETCH, Stage.PARSER):
            stages.enter_context(working(wiring, stage))
        for path in paths:
            crawl(path)
        wanted = {site.url(path) for path in paths}
        eventually(lambda: {url for url, body in bodies().items() if "the council voted" in body} == wanted, 90)
        rule = wiring.stores.parser_rules.fetcher_rule(HOST)
        assert rule is not None
        assert (rule.rendering, rule.source) == (True, "auto")
        crawl("/article/5")
        eventually(lambda: "the council voted" in bodies().get(site.url("/article/5"), ""), 30)
    assert [site.hits[path] for path in [*paths, "/article/5"]] == [2] * 5 + [1]


@contextlib.contextmanager
def working(wiring: Wiring, stage: Stage) -> Iterator[None]:
    """A shift of the stage as it is, in a thread of its own."""
    ended = threading.Event()

    def work() -> None:
        with opened_shift(
            wiring,
            stage,
            flag_is_on=lambda: True,
            control=lambda: "the test is over" if ended.is_set() else None,
            duration_ms=600_000,
        ) as shift:
            shift.run()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)


def body(wiring: Wiring, content_id: int) -> str:
    content = wiring.stores.contents.get(content_id)
    return content.body if content else ""


@pytest.fixture
def wiring_with_browser(
    journey_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Wiring:
    options()  # says what is missing
    monkeypatch.setenv("FETCH_RENDER_SANDBOX", str(SANDBOX).lower())
    made: Wiring = request.getfixturevalue("wiring")
    return made
