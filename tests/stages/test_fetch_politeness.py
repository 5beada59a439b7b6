"""When a host may be asked: robots.txt, Retry-After, breaker, pace."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.errors import NotDue, PermanentError, TransientError, Unavailable
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.stages.fetch import robots
from issuetracker_dagster.stages.fetch.options import FetchOptions
from issuetracker_dagster.stages.fetch.robots_text import RobotsText, product_token
from tests.stages.fetch_world import FAST, FetchWorld
from tests.stages.http_site import Page, Site, endless, fixed, in_turn, redirect

DISALLOW = fixed(b"User-agent: *\nDisallow: /no", Content_Type="text/plain")
HOUR_MS = 3_600_000


@pytest.fixture
def world(fetcher: AiohttpFetcher, site: Site, other: Site) -> FetchWorld:
    for one in (site, other):
        one.pages.clear()
        one.hits.clear()
        one.pages["/a"] = fixed(b"a")
        one.pages["/no"] = fixed(b"no")
    return FetchWorld(fetcher)


def test_what_robots_disallow_is_not_asked_for(world: FetchWorld, site: Site) -> None:
    site.pages["/robots.txt"] = DISALLOW
    assert world.refused(site.url("/no")) == "robots_disallowed"
    assert world.fetched(site.url("/a")).body == b"a"
    assert site.hits["/no"] == 0


def test_robots_can_be_ignored_by_setting(world: FetchWorld, fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/robots.txt"] = DISALLOW
    free = FetchWorld(fetcher, FetchOptions(default_rule=FAST, robots="ignore"))
    assert free.fetched(site.url("/no")).body == b"no"
    assert site.hits["/robots.txt"] == 0


def test_robots_are_kept_for_a_day(world: FetchWorld, site: Site) -> None:
    site.pages["/robots.txt"] = in_turn(fixed(b""), DISALLOW)
    world.fetched(site.url("/no"))
    world.clock.advance(24 * HOUR_MS - 1)
    world.fetch(site.url("/no"))
    assert site.hits["/robots.txt"] == 1
    world.clock.advance(2)
    assert world.refused(site.url("/no")) == "robots_disallowed"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_without_robots_everything_is_allowed(world: FetchWorld, site: Site, status: int) -> None:
    site.pages["/robots.txt"] = fixed(b"User-agent: *\nDisallow: /", status)
    world.fetched(site.url("/no"))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_unavailable_robots_make_the_host_wait_for_minutes(world: FetchWorld, site: Site, status: int) -> None:
    site.pages["/robots.txt"] = in_turn(fixed(b"", status), fixed(b""))
    error = world.not_due(site.url("/a"))
    assert (error.host, error.due_ms) == (site.authority, world.clock.now_ms() + 300_000)
    with pytest.raises(NotDue):  # nor by a worker that hasn't asked yet
        world.gate.enter(site.authority, FAST, "another worker")
    world.clock.advance(299_000)
    world.not_due(site.url("/a"))
    assert (site.hits["/robots.txt"], site.hits["/a"]) == (1, 0)
    world.clock.advance(1_001)
    world.fetched(site.url("/a"))


def test_robots_that_time_out_make_the_host_wait(world: FetchWorld, fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/robots.txt"] = endless(lambda: b"#", wait_s=0.05)
    impatient = FetchWorld(fetcher, FetchOptions(default_rule=FAST, robots_timeout_ms=200))
    assert impatient.not_due(site.url("/a")).due_ms == impatient.clock.now_ms() + 300_000


def test_robots_are_followed_through_five_redirects(world: FetchWorld, site: Site, other: Site) -> None:
    site.pages["/robots.txt"] = redirect(other.url("/r1"))
    for number in range(1, 5):
        other.pages[f"/r{number}"] = redirect(f"/r{number + 1}")
    other.pages["/r5"] = DISALLOW
    assert world.refused(site.url("/no")) == "robots_disallowed"


@pytest.mark.parametrize("target", ["/robots.txt", "http://127.0.0.3/robots.txt", "ftp://news.test/robots.txt"])
def test_robots_that_redirect_to_nowhere_count_as_none(world: FetchWorld, site: Site, target: str) -> None:
    site.pages["/robots.txt"] = redirect(target)
    world.fetched(site.url("/no"))


def test_robots_are_read_up_to_500_kib(world: FetchWorld, site: Site) -> None:
    rules = b"User-agent: *\nDisallow: /no\n"
    site.pages["/robots.txt"] = fixed(rules + b"# filler\n" * 100_000 + b"Disallow: /a\n")
    assert world.refused(site.url("/no")) == "robots_disallowed"
    world.fetched(site.url("/a"))


def test_a_host_that_cannot_be_reached_for_its_robots_is_an_error_for_later(world: FetchWorld) -> None:
    with pytest.raises(TransientError, match=r"robots\.txt"):
        world.fetch("http://127.0.0.2:9/a")


def test_one_thread_asks_for_robots_while_others_line_up(world: FetchWorld, site: Site) -> None:
    site.pages["/robots.txt"] = DISALLOW
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: world.fetch(site.url("/a"), f"root-{n}"), range(8)))
    assert site.hits["/robots.txt"] == 1


def test_a_job_does_not_hold_its_slot_while_robots_are_slow(
    world: FetchWorld, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots, "_LINE_UP_S", 0.1)
    asked, go_on = threading.Event(), threading.Event()

    def slow(exchange: object) -> None:
        asked.set()
        go_on.wait(20)

    site.pages["/robots.txt"] = slow
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(world.fetch, site.url("/a"))
        assert asked.wait(5)
        assert "being fetched" in world.not_due(site.url("/a")).reason
        go_on.set()
        with pytest.raises(TransientError):
            first.result(10)


def test_a_crawl_delay_keeps_the_distance(world: FetchWorld, site: Site) -> None:
    site.pages["/robots.txt"] = fixed(b"User-agent: *\nCrawl-delay: 10")
    world.fetched(site.url("/a"))
    assert world.not_due(site.url("/no")).due_ms == world.clock.now_ms() + 10_000
    world.clock.advance(10_001)
    world.fetched(site.url("/no"))
    assert world.not_due(site.url("/no")).due_ms == world.clock.now_ms() + 10_000


def test_a_redirect_inside_a_host_costs_a_crawl_delay_of_its_own(world: FetchWorld, site: Site) -> None:
    site.pages["/robots.txt"] = fixed(b"User-agent: *\nCrawl-delay: 10")
    site.pages["/old"] = redirect("/a")
    world.fetched(site.url("/a"))
    world.clock.advance(10_001)
    world.fetched(site.url("/old"))
    world.clock.advance(10_001)
    assert world.not_due(site.url("/a")).reason == "rate"
    world.clock.advance(10_001)
    world.fetched(site.url("/a"))


@pytest.mark.parametrize("delay", [b"31", b"86400", b"1e308"])
def test_a_crawl_delay_is_capped(world: FetchWorld, site: Site, delay: bytes) -> None:
    site.pages["/robots.txt"] = fixed(b"User-agent: *\nCrawl-delay: " + delay)
    world.fetched(site.url("/a"))
    assert world.not_due(site.url("/no")).due_ms == world.clock.now_ms() + 30_000


def test_sitemaps_named_in_robots_are_offered_as_disabled_seeds(world: FetchWorld, site: Site) -> None:
    site.pages["/robots.txt"] = fixed(b"Sitemap: /map.xml\nSitemap: https://cdn.test/map.gz?rss=1\nSitemap: ftp://x/y")
    world.fetched(site.url("/a"))
    seeds = world.stores.seeds.all()
    # With all its parameters: what they mean is up to the publisher, who knows the rule of their host.
    assert [seed.url for seed in seeds] == [site.url("/map.xml"), "https://cdn.test/map.gz?rss=1"]
    assert {(seed.enabled, seed.target_type) for seed in seeds} == {(False, TargetType.SITEMAP)}


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_in_seconds_blocks_the_host(world: FetchWorld, site: Site, status: int) -> None:
    site.pages["/busy"] = fixed(b"", status, Retry_After="120")
    until_ms = world.clock.now_ms() + 120_000
    assert world.failed(site.url("/busy")).retry_at_ms == until_ms
    assert world.not_due(site.url("/a")).due_ms == until_ms
    world.clock.advance(120_001)
    world.fetched(site.url("/a"))


def test_retry_after_as_a_date_blocks_the_host(world: FetchWorld, site: Site) -> None:
    until_ms = world.clock.now_ms() + 90_000
    date = format_datetime(datetime.fromtimestamp(until_ms / 1000, UTC), usegmt=True)
    site.pages["/busy"] = fixed(b"", 503, Retry_After=date)
    assert world.failed(site.url("/busy")).retry_at_ms == until_ms


@pytest.mark.parametrize(
    ("said", "wait_ms"),
    [("999999999999", HOUR_MS), ("Fri, 01 Jan 2100 10:00:00 GMT", HOUR_MS), ("Sat, 01 Jan 2000 10:00:00 GMT", 0)],
)
def test_retry_after_is_bounded(world: FetchWorld, site: Site, said: str, wait_ms: int) -> None:
    site.pages["/busy"] = fixed(b"", 429, Retry_After=said)
    assert world.failed(site.url("/busy")).retry_at_ms == world.clock.now_ms() + wait_ms


@pytest.mark.parametrize("said", ["soon", "-5", "²", ""])
def test_a_retry_after_that_says_nothing_blocks_nobody(world: FetchWorld, site: Site, said: str) -> None:
    site.pages["/busy"] = fixed(b"", 429, Retry_After=said)
    assert world.failed(site.url("/busy")).retry_at_ms is None
    world.fetched(site.url("/a"))


def test_five_failures_in_a_row_open_the_breaker_and_jobs_wait(world: FetchWorld, site: Site) -> None:
    site.pages["/down"] = in_turn(*[fixed(b"", 500)] * 5, fixed(b"up"))
    for _ in range(5):
        world.failed(site.url("/down"))
    assert world.not_due(site.url("/a")).due_ms == world.clock.now_ms() + 60_000
    world.clock.advance(60_001)
    assert world.fetched(site.url("/down")).body == b"up"
    world.fetched(site.url("/a"))


@pytest.mark.parametrize("page", [fixed(b"", 404), fixed(b"", 429), endless(lambda: b"x" * 100_000)])
def test_an_answer_of_a_working_host_closes_the_breaker(world: FetchWorld, site: Site, page: Page) -> None:
    site.pages["/down"] = fixed(b"", 500)
    site.pages["/odd"] = page
    for _ in range(4):
        world.failed(site.url("/down"))
    with pytest.raises((PermanentError, TransientError)):
        world.fetch(site.url("/odd"))
    world.failed(site.url("/down"))
    world.fetched(site.url("/a"))


def test_a_permit_is_given_back_however_the_job_ends(world: FetchWorld, fetcher: AiohttpFetcher, site: Site) -> None:
    rule = FetcherRule(host_pattern="*", requests_per_hour=0, concurrency=1)
    narrow = FetchWorld(fetcher, FetchOptions(default_rule=rule))
    site.pages["/robots.txt"] = DISALLOW
    site.pages["/loop"] = redirect("/loop")
    site.pages["/broken"] = fixed(b"only this", Content_Length="1000")
    assert narrow.refused(site.url("/no")) == "robots_disallowed"
    assert narrow.refused(site.url("/loop")) == "redirect_loop"
    assert narrow.refused(site.url("/missing")) == "http_404"
    narrow.failed(site.url("/broken"))
    narrow.fetched(site.url("/a"))
    narrow.gate.enter(site.authority, rule, "next")


def test_a_redirect_inside_a_host_needs_no_second_permit(
    world: FetchWorld, fetcher: AiohttpFetcher, site: Site
) -> None:
    rule = FetcherRule(host_pattern="*", requests_per_hour=60, burst=1, concurrency=1)
    narrow = FetchWorld(fetcher, FetchOptions(default_rule=rule, robots="ignore"))
    site.pages["/old"] = redirect("/a")
    assert narrow.fetched(site.url("/old")).body == b"a"
    narrow.clock.advance(60_001)
    assert narrow.not_due(site.url("/a")).reason == "rate"  # the redirect was a request, too
    narrow.clock.advance(60_001)
    narrow.fetched(site.url("/a"))


def test_robots_are_a_request_like_any_other(world: FetchWorld, fetcher: AiohttpFetcher, site: Site) -> None:
    rule = FetcherRule(host_pattern="*", requests_per_hour=60, burst=1, concurrency=1)
    narrow = FetchWorld(fetcher, FetchOptions(default_rule=rule))
    assert narrow.not_due(site.url("/a")).due_ms == narrow.clock.now_ms() + 60_000
    assert (site.hits["/robots.txt"], site.hits["/a"]) == (1, 0)
    narrow.clock.advance(60_001)
    assert narrow.fetched(site.url("/a")).body == b"a"
    assert narrow.not_due(site.url("/a")).reason == "rate"


def test_robots_are_asked_for_once_for_all_workers(world: FetchWorld, site: Site) -> None:
    site.pages["/robots.txt"] = DISALLOW
    world.fetched(site.url("/a"))
    world.handler = world.another_worker()
    assert world.refused(site.url("/no")) == "robots_disallowed"
    assert site.hits["/robots.txt"] == 1
    world.clock.advance(24 * HOUR_MS + 1)
    world.handler = world.another_worker()
    world.refused(site.url("/no"))
    assert site.hits["/robots.txt"] == 2


def test_robots_that_cannot_be_shared_hold_for_this_worker(
    world: FetchWorld, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.shared_robots, "put", unavailable)
    site.pages["/robots.txt"] = DISALLOW
    assert world.fetched(site.url("/a")).body == b"a"
    assert world.refused(site.url("/no")) == "robots_disallowed"
    assert site.hits["/robots.txt"] == 1


def test_an_outage_of_ours_is_not_held_against_the_host(
    world: FetchWorld, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["/robots.txt"] = fixed(b"Sitemap: /map.xml")
    with monkeypatch.context() as outage:
        outage.setattr(world.stores.seeds, "add", unavailable)
        for _ in range(6):
            world.failed(site.url("/a"))
    assert world.fetched(site.url("/a")).body == b"a"


def unavailable(*_: object) -> None:
    raise Unavailable("not now")


def test_the_rule_of_a_host_says_who_we_are_and_how_long_we_wait(world: FetchWorld, site: Site) -> None:
    world.stores.parser_rules.save_fetcher_rule(
        FetcherRule(host_pattern="127.0.0.1", user_agent="Somebody/2", timeout_ms=300, requests_per_hour=0)
    )
    site.pages["/drip"] = endless(lambda: b".", wait_s=0.05)
    assert "300 ms" in str(world.failed(site.url("/drip")))
    assert {one.headers["user-agent"] for one in site.seen[-2:]} == {"Somebody/2"}


@pytest.mark.parametrize(
    ("file", "url", "allowed"),
    [
        ("robots-with-utf8-bom.txt", "/login.aspx", False),
        ("robots-with-utf16le-bom.txt", "/login.aspx", False),
        ("robots-with-utf16be-bom.txt", "/login.aspx", False),
        ("robots-with-utf8-bom.txt", "/story", True),
        ("robots-with-utf16le-bom.txt", "/story", True),
        ("malformed-path.txt", "/wiki/Wikipedia_talk:Mediation_Committee/x", False),
        ("malformed-path.txt", "/wiki/Main", True),
    ],
)
def test_recorded_robots_are_understood(
    world: FetchWorld, site: Site, shared_data: Path, file: str, url: str, allowed: bool
) -> None:
    site.pages["/robots.txt"] = fixed((shared_data / "robots" / file).read_bytes())
    site.pages[url] = fixed(b"page")
    if allowed:
        world.fetched(site.url(url))
    else:
        assert world.refused(site.url(url)) == "robots_disallowed"


def test_every_recorded_robots_file_is_read_without_an_error(shared_data: Path) -> None:
    files = sorted((shared_data / "robots").iterdir())
    assert files
    for file in files:
        text = RobotsText(file.read_bytes(), "IssueTracker/0.1")
        assert text.allows("https://news.test/") in (True, False)
        assert text.crawl_delay_ms >= 0


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("IssueTracker/0.1", "IssueTracker"),
        ("Mozilla/5.0 (compatible; Some-bot/1.0; +https://x.test)", "Some-bot"),
        ("Mozilla/5.0 (X11) Safari", "Mozilla"),
        ("", "*"),
    ],
)
def test_the_name_in_a_user_agent(agent: str, name: str) -> None:
    assert product_token(agent) == name


def test_our_own_group_counts_before_the_general_one() -> None:
    raw = b"User-agent: *\nDisallow: /\n\nUser-agent: a\nUser-agent: issuetracker/2.1\nDisallow: /no\nCrawl-delay: 2"
    text = RobotsText(raw, "IssueTracker/0.1")
    assert (text.allows("https://x.test/yes"), text.allows("https://x.test/no")) == (True, False)
    assert text.crawl_delay_ms == 2_000
    assert not RobotsText(raw, "Another/1").allows("https://x.test/yes")


def test_the_group_of_a_crawler_with_a_longer_or_shorter_name_is_not_ours() -> None:
    raw = b"User-agent: issue\nUser-agent: issue9\nUser-agent: issuetracker-images\nDisallow: /\n"
    assert RobotsText(raw, "IssueTracker/0.1").allows("https://x.test/yes")


def test_thousands_of_agents_times_thousands_of_rules_cost_little() -> None:
    agents = "".join(f"User-agent: a{number}\n" for number in range(15_000))
    rules = "".join(f"Disallow: /{number}\n" for number in range(15_000))
    text = RobotsText((agents + "User-agent: *\n" + rules).encode(), "IssueTracker/0.1")
    assert not text.allows("https://x.test/14999")
    assert RobotsText(("User-agent: *\nDisallow: /" + "*a" * 100 + "*b").encode(), "X").allows(
        "https://x.test/" + "a" * 2_000
    )
