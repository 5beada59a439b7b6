"""All hosts of the demo site in one process, each on its own loopback port."""

import asyncio
import logging
from collections.abc import Mapping

from aiohttp import web

from issuetracker_dagster.local.ports import LOOPBACK
from issuetracker_dagster.local.site.articles import article_page
from issuetracker_dagster.local.site.feeds import feed, news_sitemap, robots, section_of
from issuetracker_dagster.local.site.hosts import HOSTS, LIVE, ODD, Host
from issuetracker_dagster.local.site.live import live_page
from issuetracker_dagster.local.site.newsroom import Newsroom
from issuetracker_dagster.local.site.odd import OddPages
from issuetracker_dagster.local.site.pages import list_page
from issuetracker_dagster.ports.clock import Clock

logger = logging.getLogger(__name__)

_SHUTDOWN_S = 0.3


class SiteServer:
    """Serves until `stop`. `ports` by host key; which host is asked is told by the port, not by the Host header."""

    def __init__(self, newsroom: Newsroom, ports: Mapping[str, int], clock: Clock) -> None:
        self._newsroom = newsroom
        self._clock = clock
        self._hosts = {ports[host.key]: host for host in HOSTS}
        self._base_urls = {host.key: f"http://{host.name}:{ports[host.key]}" for host in HOSTS}
        self._stopping = asyncio.Event()
        self._odd = OddPages(newsroom, self._base_urls[ODD.key], self._stopping)
        application = web.Application()
        application.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=_SHUTDOWN_S)

    async def start(self) -> None:
        """Listen on every port. Raises OSError when one is taken."""
        await self._runner.setup()
        for port in self._hosts:
            await web.TCPSite(self._runner, LOOPBACK, port).start()

    async def stop(self) -> None:
        """End every answer, also those that would never end, and close the ports."""
        self._stopping.set()
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            raise web.HTTPServiceUnavailable
        host = self._hosts[transport.get_extra_info("sockname")[1]]
        now_ms = self._clock.now_ms()
        if host is ODD and (odd := await self._odd.answer(request, now_ms)):
            return odd
        told = self._text(host, request.path, request.path_qs, now_ms)
        if told is None:
            return web.Response(status=404, text="There is nothing here.")
        kind, text = told
        # A host that names its charset inside the page only is what the label in the page is for.
        label = "; charset=utf-8" if host.charset == "utf-8" else ""
        return web.Response(body=text.encode(host.charset, "xmlcharrefreplace"), headers={"Content-Type": kind + label})

    def _text(self, host: Host, path: str, path_and_query: str, now_ms: int) -> tuple[str, str] | None:
        base_url, newsroom = self._base_urls[host.key], self._newsroom
        if path == "/robots.txt":
            return "text/plain", robots(host, base_url)
        if path == host.feed_path:
            return f"application/{host.feed}+xml", feed(host, newsroom.latest(host, now_ms), base_url)
        if path == "/news-sitemap.xml":
            return "application/xml", news_sitemap(host, newsroom.latest(host, now_ms), base_url)
        if path == "/":
            return "text/html", list_page(host, host.title, newsroom.latest(host, now_ms), base_url, now_ms)
        if host is LIVE and (live := live_page(host, path, now_ms)):
            return "text/html", live
        section = section_of(host, path)
        if section is not None:
            stories = newsroom.latest(host, now_ms, section)
            return "text/html", list_page(host, section.capitalize(), stories, base_url, now_ms)
        story = newsroom.at(host, path_and_query, now_ms)
        return ("text/html", article_page(story, base_url, now_ms)) if story else None
