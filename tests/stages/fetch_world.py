"""A fetch handler on real sockets with gate, stores and clock in memory."""

from collections.abc import Iterator
from contextlib import contextmanager

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.adapters.memory.hosts import MemoryHostGate
from issuetracker_dagster.adapters.memory.robots import MemorySharedRobots
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.errors import NotDue, PermanentError, TransientError
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.stages.fetch.handler import FetchHandler
from issuetracker_dagster.stages.fetch.options import FetchOptions
from issuetracker_dagster.stages.fetch.robots import Robots

HOSTS = ["127.0.0.1/32", "127.0.0.2/32"]
FAST = FetcherRule(host_pattern="*", requests_per_hour=0, concurrency=100)


class FetchWorld:
    """`fetch` hands one job to the handler; hosts may be asked as fast as one likes unless `options` say otherwise."""

    def __init__(self, fetcher: AiohttpFetcher, options: FetchOptions | None = None) -> None:
        self.options = options or FetchOptions(user_agent="Tester/1", default_rule=FAST)
        self.clock = FakeClock()
        self.stores = MemoryStores()
        self.gate = MemoryHostGate(self.clock)
        self.shared_robots = MemorySharedRobots(self.clock)
        self.fetcher = fetcher
        self.handler = self.another_worker()

    def another_worker(self) -> FetchHandler:
        """A handler that shares everything but its memory."""
        robots = Robots(self.fetcher, self.clock, self.options, self.stores.seeds, self.shared_robots)
        return FetchHandler(
            self.fetcher,
            self.gate,
            robots,
            self.stores.raw_contents,
            self.stores.parser_rules,
            self.clock,
            self.options,
        )

    def fetch(
        self,
        url: str,
        root_id: str = "root-1",
        *,
        target_type: TargetType = TargetType.ARTICLE,
        unconditional: bool = False,
        recrawl_count: int = 0,
        generation: int = 0,
        timeout_ms: int = 30_000,
    ) -> Outcome:
        job = CrawlJob(
            url=url, source="seed", target_type=target_type, depth=2, timeout_ms=timeout_ms, unconditional=unconditional
        )
        headers = Headers(root_id=root_id, generation=generation, target_type=target_type, recrawl_count=recrawl_count)
        return self.handler.handle(job, HandlerContext(headers))

    def fetched(self, url: str, root_id: str = "root-1", **options: int) -> RawContent:
        """The stored page after a fetch that was passed on."""
        outcome = self.fetch(url, root_id, timeout_ms=options.get("timeout_ms", 30_000))
        assert isinstance(outcome.forward, RawContentRef), outcome
        raw = self.stores.raw_contents.get(outcome.forward.raw_id)
        assert raw is not None
        return raw

    def refused(self, url: str) -> str:
        """The code of the permanent error that a fetch ended with."""
        try:
            self.fetch(url)
        except PermanentError as error:
            return error.code
        raise AssertionError("the page was fetched")

    def failed(self, url: str, timeout_ms: int = 30_000) -> TransientError:
        """The transient error that a fetch ended with."""
        try:
            self.fetch(url, timeout_ms=timeout_ms)
        except TransientError as error:
            return error
        raise AssertionError("the page was fetched")

    def not_due(self, url: str) -> NotDue:
        """The refusal by gate or robots that a fetch ended with."""
        try:
            self.fetch(url)
        except NotDue as error:
            return error
        raise AssertionError("the page was fetched")


@contextmanager
def running_fetcher() -> Iterator[AiohttpFetcher]:
    """A fetcher that may ask two loopback addresses; every other private one is out of bounds."""
    fetcher = AiohttpFetcher(allowed_networks=HOSTS)
    try:
        yield fetcher
    finally:
        fetcher.close()
