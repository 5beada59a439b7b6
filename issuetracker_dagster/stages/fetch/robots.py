"""robots.txt of each host, kept for a day (an unavailable one for minutes), together with all other workers."""

import functools
import logging
import threading
from collections.abc import Callable, Sequence

import msgspec

from issuetracker_dagster.errors import NotDue, PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.seeds import Seed, check_seed
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl, parse_http, spelled
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import SharedRobots
from issuetracker_dagster.ports.http import Fetcher, FetchRequest, FetchResponse, TimedOut
from issuetracker_dagster.ports.seeds import Seeds
from issuetracker_dagster.stages.fetch.answers import left_alone_until_ms, redirect_target
from issuetracker_dagster.stages.fetch.options import FetchOptions
from issuetracker_dagster.stages.fetch.robots_memory import Found, Known, RobotsMemory
from issuetracker_dagster.stages.fetch.robots_text import RobotsText

logger = logging.getLogger(__name__)

_MAX_REDIRECTS = 5
_LOCKS = 64
_LINE_UP_S = 2.0
_LINE_UP_AGAIN_MS = 1_000


class RobotsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """May this URL be fetched? `unavailable_until_ms` > 0: nobody knows before then. `delay_ms` between requests.

    `was_asked_for`: it took a request to the host just now.
    """

    allowed: bool = True
    delay_ms: int = 0
    unavailable_until_ms: int = 0
    was_asked_for: bool = False


class Robots:
    """Answers from memory, from what others `shared`, or by asking the host.

    With `seeds`, sitemaps found there are offered as disabled seeds.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        options: FetchOptions,
        seeds: Seeds | None = None,
        shared: SharedRobots | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._options = options
        self._seeds = seeds
        self._memory = RobotsMemory(clock, options.robots_hosts, shared)
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def known(self, url: str, user_agent: str) -> RobotsAnswer | None:
        """The answer when it takes no request."""
        answer = self.known_of(url, user_agent)
        return None if answer is None else answer(url)

    def known_of(self, url: str, user_agent: str) -> Callable[[str], RobotsAnswer] | None:
        """The answer to every URL of that one's host, from memory alone; None when the first takes a request."""
        known = self._memory.get(_origin(url), user_agent)
        return None if known is None else functools.partial(self._answer, known)

    def read(self, url: str, user_agent: str) -> RobotsAnswer:
        """The answer, asking the host when needed; one thread asks, others line up for a moment.

        Raises `NotDue` when that moment wasn't enough, `TransientError` when the host can't be reached at all, and
        `PermanentError` when it may not be asked (its address).
        """
        origin = _origin(url)
        lock = self._locks[hash(origin) % _LOCKS]
        if not lock.acquire(timeout=_LINE_UP_S):
            due_ms = self._clock.now_ms() + _LINE_UP_AGAIN_MS
            raise NotDue(str(parse_http(url).host), due_ms, "its robots.txt is being fetched")
        try:
            known = self._memory.get(origin, user_agent)
            was_asked_for = known is None
            if known is None:
                known = self._memory.put(origin, user_agent, self._fetch(origin, user_agent))
        finally:
            lock.release()
        return msgspec.structs.replace(self._answer(known, url), was_asked_for=was_asked_for)

    def _answer(self, known: Known, url: str) -> RobotsAnswer:
        if known.unavailable_until_ms:
            return RobotsAnswer(allowed=False, unavailable_until_ms=known.unavailable_until_ms)
        if known.text is None:
            return RobotsAnswer()
        delay_ms = min(known.text.crawl_delay_ms, self._options.crawl_delay_cap_ms)
        return RobotsAnswer(allowed=known.text.allows(url), delay_ms=delay_ms)

    def _fetch(self, origin: str, user_agent: str) -> Found:
        try:
            response = self._get(f"{origin}/robots.txt", user_agent)
        except TimedOut as error:
            return self._unavailable(origin, str(error), None)
        except PermanentError as error:
            if error.code in ("bad_encoding", "too_large"):
                return self._unavailable(origin, str(error), None)
            raise
        until_ms = self._clock.now_ms() + self._options.robots_ttl_ms
        if response is None:
            return Found(until_ms=until_ms)
        if response.status >= 500 or response.status == 429:
            cap_ms = self._options.retry_after_cap_ms
            asked_ms = left_alone_until_ms(response, self._clock.now_ms(), cap_ms)
            return self._unavailable(origin, f"{response.url} answered {response.status}", asked_ms)
        if not 200 <= response.status < 300:
            return Found(until_ms=until_ms)
        self._offer(origin, RobotsText(response.body, user_agent).sitemaps)
        return Found(until_ms=until_ms, raw=response.body)

    def _get(self, url: str, user_agent: str) -> FetchResponse | None:
        """The last answer after redirects; None when they lead nowhere: no robots.txt then (RFC 9309, 2.3.1)."""
        response = self._ask(url, user_agent)  # what is wrong with the host itself is the caller's to know
        try:
            for _ in range(_MAX_REDIRECTS):
                target = redirect_target(response)
                if target is None:
                    return response
                response = self._ask(target, user_agent)
            return response if redirect_target(response) is None else None
        except PermanentError:
            return None

    def _ask(self, url: str, user_agent: str) -> FetchResponse:
        request = FetchRequest(
            url=url,
            user_agent=user_agent,
            timeout_ms=self._options.robots_timeout_ms,
            max_bytes=self._options.robots_max_bytes,
            cut=True,
        )
        return self._fetcher.fetch(request)

    def _unavailable(self, origin: str, reason: str, until_ms: int | None) -> Found:
        until_ms = max(until_ms or 0, self._clock.now_ms() + self._options.robots_error_ttl_ms)
        logger.warning(
            f"robots.txt of {origin} is unavailable, its pages wait: {reason}",
            extra=action("robots.unavailable", origin=origin, until_ms=until_ms),
        )
        return Found(until_ms=until_ms, unavailable_until_ms=until_ms)

    def _offer(self, origin: str, sitemaps: Sequence[str]) -> None:
        if self._seeds is None or not sitemaps:
            return
        host = str(parse_http(origin).host)
        seeds = []
        for sitemap in sitemaps:
            try:
                url = spelled(sitemap, origin)
                seed = Seed(url=url, source=f"robots:{host}", target_type=TargetType.SITEMAP, enabled=False)
                check_seed(seed)
            except (BadUrl, PermanentError):
                continue  # a page isn't worth less because its host names a sitemap that can't be
            seeds.append(seed)
        self._seeds.add(seeds)


def _origin(url: str) -> str:
    return str(parse_http(url).origin)
