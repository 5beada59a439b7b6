"""What a fetch of a tried page did: the fetcher and robots of a worker, looked over their shoulders; and no pace."""

import time

import msgspec

from issuetracker_dagster.adapters.memory.hosts import MemoryHostGate
from issuetracker_dagster.model.digest import one_line
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.trial import FetchView
from issuetracker_dagster.ports.http import Fetcher, FetchRequest, FetchResponse
from issuetracker_dagster.stages.fetch.options import FetchOptions
from issuetracker_dagster.stages.fetch.robots import Robots, RobotsAnswer


class WatchedFetcher:
    """A fetcher that remembers what it was asked for and what came."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self.asked: list[str] = []
        self.last: FetchResponse | None = None
        self.elapsed_s = 0.0

    def fetch(self, request: FetchRequest) -> FetchResponse:
        self.asked.append(request.url)
        self.last = None
        began = time.monotonic()
        try:
            self.last = self._fetcher.fetch(request)
        finally:
            self.elapsed_s += time.monotonic() - began
        return self.last

    def close(self) -> None:
        self._fetcher.close()


class UnpacedGate(MemoryHostGate):
    """Keeps to no rate: one page is asked for, by hand, and robots.txt before it."""

    def enter(self, host: str, rule: FetcherRule, permit_id: str) -> None:
        super().enter(host, msgspec.structs.replace(rule, requests_per_hour=0), permit_id)


class WatchedRobots(Robots):
    """Remembers the last answer. Without seeds, so sitemaps that are named there are offered to nobody."""

    last: RobotsAnswer | None = None

    def known(self, url: str, user_agent: str) -> RobotsAnswer | None:
        answer = super().known(url, user_agent)
        self.last = answer or self.last
        return answer

    def read(self, url: str, user_agent: str) -> RobotsAnswer:
        self.last = super().read(url, user_agent)
        return self.last


def fetch_view(url: str, watched: WatchedFetcher, robots: WatchedRobots, options: FetchOptions) -> FetchView:
    """What was asked and answered, whether or not it came to a page."""
    response = watched.last
    asked = [one_line(each, 2_000) for each in watched.asked or [url]]
    return FetchView(
        url=asked[-1],
        status=response.status if response else 0,
        redirects=tuple(asked[:-1]),
        robots="ignored" if options.robots == "ignore" else _robots_word(robots.last),
        crawl_delay_ms=robots.last.delay_ms if robots.last else 0,
        content_type=one_line(response.headers.get("content-type", "")) if response else "",
        bytes=len(response.body) if response else 0,
        elapsed_ms=round(watched.elapsed_s * 1000),
    )


def _robots_word(answer: RobotsAnswer | None) -> str:
    if answer is None:
        return "not_asked"
    if answer.unavailable_until_ms:
        return "unavailable"
    return "allowed" if answer.allowed else "disallowed"
