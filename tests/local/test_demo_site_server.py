"""The demo site over real HTTP, as the crawler meets it."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.errors import IssueTrackerError, PermanentError
from issuetracker_dagster.local import children
from issuetracker_dagster.local.demo import start_site
from issuetracker_dagster.local.ports import is_listening
from issuetracker_dagster.local.site.hosts import BUSAN, DAILY, FORUM, HOSTS, METRO, SEOUL, WORLD, Host
from issuetracker_dagster.local.site.remembered import Remembered, settle
from issuetracker_dagster.ports.http import FetchRequest, FetchResponse
from issuetracker_dagster.stages.parser.charset import decode_page
from issuetracker_dagster.stages.parser.feeds import read_feed
from issuetracker_dagster.stages.parser.links import discover
from issuetracker_dagster.stages.parser.sitemaps import read_sitemap
from tests.waiting import eventually

pytestmark = pytest.mark.slow  # the site is a process of its own

REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT = 10 * 1024 * 1024


class Site:
    """A running site and a fetcher that may reach it."""

    def __init__(self, home: Path, fetcher: AiohttpFetcher) -> None:
        self.found = settle(home, 7, time.time_ns() // 1_000_000)
        self.identity = start_site(home, 7, self.found)
        self._fetcher = fetcher

    def get(self, key: str, path: str, timeout_ms: int = 10_000) -> FetchResponse:
        url = path if path.startswith("http") else self.found.url(key, path)
        return self._fetcher.fetch(FetchRequest(url=url, user_agent="test", timeout_ms=timeout_ms, max_bytes=LIMIT))

    def text(self, key: str, path: str) -> str:
        response = self.get(key, path)
        assert response.status == 200, path
        return decode_page(response.body, response.headers.get("content-type", "")).text

    def links(self, key: str, path: str) -> list[str]:
        return discover(LexborHTMLParser(self.text(key, path)), self.found.url(key, path))


@pytest.fixture(scope="module")
def fetcher() -> Iterator[AiohttpFetcher]:
    opened = AiohttpFetcher(allow_private_addresses=True)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, fetcher: AiohttpFetcher) -> Iterator[Site]:
    started = Site(tmp_path_factory.mktemp("home"), fetcher)
    yield started
    children.stop(started.identity, grace_s=3)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.key))
def test_the_feed_of_each_host_leads_to_dated_articles(site: Site, host: Host) -> None:
    key, path = host.key, host.feed_path
    response = site.get(key, path)
    entries = read_feed(response.body, response.headers["content-type"], response.url)
    assert len(entries) >= 5
    assert all(entry.published_ms > 0 for entry in entries)
    assert site.get(key, entries[0].url).status == 200
    assert site.get(key, entries[-1].url).status == 200


def test_sitemaps_name_the_same_stories_as_feeds(site: Site) -> None:
    for host in HOSTS:
        feed, sitemap = site.get(host.key, host.feed_path), site.get(host.key, "/news-sitemap.xml")
        told = {entry.url for entry in read_feed(feed.body, feed.headers["content-type"], feed.url)}
        listed = {entry.url for entry in read_sitemap(sitemap.body, "application/xml", sitemap.url, LIMIT)}
        # A story may come out between the two requests.
        assert len(told & listed) >= len(told) - 2


def test_sections_link_their_stories_one_host_by_way_of_base(site: Site) -> None:
    page = site.text(DAILY.key, "/business/")
    assert "<base href=" in page
    articles = [url for url in site.links(DAILY.key, "/business/") if "/business/20" in url]
    assert articles
    assert all(site.get(DAILY.key, url).status == 200 for url in articles)
    for path in ("/", "/breaking/", "/archive/"):
        assert any(path in url for url in site.links(METRO.key, path))


def test_one_host_sends_korean_in_euc_kr_and_says_so_only_inside_the_page(site: Site) -> None:
    response = site.get(SEOUL.key, "/")
    assert "charset" not in response.headers["content-type"]
    with pytest.raises(UnicodeDecodeError):
        response.body.decode("utf-8")
    assert "서울아침" in response.body.decode("cp949")
    decoded = decode_page(response.body, response.headers["content-type"])
    assert "서울아침" in decoded.text
    assert decoded.replacement_share == 0


def test_robots_close_a_folder_on_one_host_and_ask_for_a_pause_on_another(site: Site) -> None:
    assert "Disallow: /private/" in site.text(FORUM.key, "/robots.txt")
    assert "Crawl-delay: 1" in site.text(BUSAN.key, "/robots.txt")
    assert f"Sitemap: {site.found.url(WORLD.key, '/news-sitemap.xml')}" in site.text(WORLD.key, "/robots.txt")
    assert any("/private/" in url for url in site.links(FORUM.key, "/odd/"))


def test_the_odd_pages_are_as_odd_as_they_say(site: Site) -> None:
    linked = {url.removeprefix(site.found.url(FORUM.key)) for url in site.links(FORUM.key, "/odd/")}
    assert {"/odd/slow", "/odd/missing", "/odd/endless", "/odd/huge", "/calendar/2031/05/"} <= linked
    assert site.get(FORUM.key, "/odd/missing").status == 404
    assert site.get(FORUM.key, "/odd/error").status == 500
    with pytest.raises(IssueTrackerError):
        site.get(FORUM.key, "/odd/truncated")
    with pytest.raises(PermanentError) as too_large:
        site.get(FORUM.key, "/odd/huge")
    assert too_large.value.code == "too_large"
    with pytest.raises(IssueTrackerError):
        site.get(FORUM.key, "/odd/endless", timeout_ms=300)


def test_the_slow_page_takes_its_time(site: Site) -> None:
    began = time.monotonic()
    assert site.get(FORUM.key, "/odd/slow").status == 200
    assert time.monotonic() - began >= 2


def test_redirects_lead_to_a_thread_or_in_a_circle(site: Site) -> None:
    for step in ("3", "2"):
        response = site.get(FORUM.key, f"/odd/redirect/{step}")
        assert (response.status, response.headers["location"]) == (302, f"/odd/redirect/{int(step) - 1}")
    last = site.get(FORUM.key, "/odd/redirect/1").headers["location"]
    assert site.get(FORUM.key, last).status == 200
    assert site.get(FORUM.key, "/odd/loop/a").headers["location"] == "/odd/loop/b"
    assert site.get(FORUM.key, "/odd/loop/b").headers["location"] == "/odd/loop/a"


def test_a_copy_names_its_canonical_url(site: Site) -> None:
    node = LexborHTMLParser(site.text(FORUM.key, "/odd/copy")).css_first("link[rel=canonical]")
    assert node is not None
    canonical = node.attributes["href"]
    assert canonical
    assert site.get(FORUM.key, canonical).status == 200


def test_the_calendar_goes_on_for_ever(site: Site) -> None:
    path = "/calendar/2031/05/"
    for _ in range(10):
        links = site.links(FORUM.key, path)
        path = "/" + links[-1].split("/", 3)[3]
    assert path == "/calendar/2032/03/"


def test_ports_and_stories_are_the_same_after_a_restart(tmp_path: Path, fetcher: AiohttpFetcher) -> None:
    first = Site(tmp_path, fetcher)
    told = site_urls(first)
    children.stop(first.identity, grace_s=3)
    second = Site(tmp_path, fetcher)
    try:
        assert second.found == first.found
        assert all(second.get(DAILY.key, url).status == 200 for url in told)
    finally:
        children.stop(second.identity, grace_s=3)


def site_urls(site: Site) -> set[str]:
    feed = site.get(DAILY.key, DAILY.feed_path)
    return {entry.url for entry in read_feed(feed.body, feed.headers["content-type"], feed.url)}


def test_a_port_that_is_taken_is_replaced_and_another_seed_begins_anew(tmp_path: Path) -> None:
    first = settle(tmp_path, 7, 1_000)
    with socket.create_server(("127.0.0.1", first.ports["metro"])):
        second = settle(tmp_path, 7, 2_000)
    assert second.epoch_ms == 1_000
    assert second.ports["metro"] != first.ports["metro"]
    assert {key: port for key, port in second.ports.items() if key != "metro"}.items() <= first.ports.items()
    assert settle(tmp_path, 8, 3_000) == Remembered(8, 3_000, second.ports)


def test_sigterm_ends_the_site_at_once_though_an_endless_page_is_open(tmp_path: Path, fetcher: AiohttpFetcher) -> None:
    site = Site(tmp_path, fetcher)
    with socket.create_connection(("127.0.0.1", site.found.ports["forum"]), timeout=5) as reading:
        reading.sendall(b"GET /odd/endless HTTP/1.1\r\nHost: forum.localhost\r\n\r\n")
        assert reading.recv(1_000)
        os.kill(site.identity.pid, signal.SIGTERM)
        assert children.gone_within(site.identity, 10)
    assert children.exit_code(site.identity) == 0
    assert not is_listening(site.found.ports["forum"])


def test_the_site_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    starts = (
        "import sys, time; from pathlib import Path\n"
        "from issuetracker_dagster.local.demo import start_site\n"
        "from issuetracker_dagster.local.site.remembered import settle\n"
        "home = Path(sys.argv[1]); print(start_site(home, 7, settle(home, 7, 1_000)).pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", starts, str(tmp_path)], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert psutil.pid_exists(pid)
    parent.kill()
    parent.communicate()
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, timeout_s=10)


def test_many_at_once_are_served(site: Site) -> None:
    answers: list[int] = []
    urls = site.links(METRO.key, "/")[:20]
    threads = [threading.Thread(target=lambda url=url: answers.append(site.get("", url).status)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * len(urls)
