"""Hosts whose pages come out empty are switched to rendering, and those pages are published once more.

Called by settle for what the parser returned, before the message is settled: what is published here is confirmed by
Kafka before the message that caused it is acknowledged. How pages are rendered is the business of fetch.
"""

import logging
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.errors import PermanentError, Unavailable
from issuetracker_dagster.flow.publish import Publisher
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.outcome import Outcome, is_empty_page
from issuetracker_dagster.model.payload import CrawlJob, Payload, RawContentRef
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.hosts import EmptyPage, EmptyPages
from issuetracker_dagster.ports.rules import ParserRules

logger = logging.getLogger(__name__)


class HostUpgrader:
    """Counts empty pages and upgrades their host. `default_rule` holds for hosts that have no fetcher rule."""

    def __init__(
        self, *, pages: EmptyPages, rules: ParserRules, publisher: Publisher, default_rule: FetcherRule
    ) -> None:
        self._pages = pages
        self._rules = rules
        self._publisher = publisher
        self._default_rule = default_rule

    def consider(self, message: Message, payload: Payload | None, result: Outcome | BaseException) -> None:
        """Note an empty page and, when it is one too many, save the host's rule, publish, then forget what was noted.

        Killed in between, the message is delivered again and the rest is done under the same root ids. Raises
        `PublishFailed`, and `Unavailable` for the database: the message must wait. Without Redis there is no upgrade.
        """
        page = empty_page(message, payload, result)
        if page is None:
            return
        host = host_of(page.job.url)
        rule = self._rules.fetcher_rule(host) or self._default_rule
        try:
            pages = self._pages.note(host, page, switched=rule.rendering)
        except Unavailable as error:
            logger.warning("an empty page wasn't counted: %s", error, extra=action("redis.unavailable"))
            return
        if pages:
            self._upgrade(host, rule, pages)

    def _upgrade(self, host: str, rule: FetcherRule, pages: Sequence[EmptyPage]) -> None:
        try:
            if not rule.rendering:
                self._rules.save_fetcher_rule(rendering_rule(host, rule))
            report = self._publisher.publish(upgrade_requests(pages))
        except PermanentError as error:
            # The page that came last isn't to blame, and it mustn't be dead-lettered for it.
            logger.error("%s can't be upgraded: %s", host, error, extra=action("publish.failed", host=host))
            return
        logger.warning(
            "the pages of %s come out empty: it is switched to rendering, %d of them are fetched again",
            host,
            len(report.published),
            extra=action("host.upgraded", host=host, count=len(report.published)),
        )
        try:
            self._pages.upgraded(host)
        except Unavailable as error:
            # It lapses by itself, and nothing is counted for a host that is switched.
            logger.warning("empty pages stay noted for a while: %s", error, extra=action("redis.unavailable"))


def empty_page(message: Message, payload: Payload | None, result: Outcome | BaseException) -> EmptyPage | None:
    """The page that came out without a body, as it would be fetched again; None for every other end of a message."""
    if not isinstance(payload, RawContentRef) or not is_empty_page(result) or not host_of(payload.url):
        return None
    headers = message.headers
    if headers.is_reparse:
        return None  # old pages read again say nothing about how their host answers today
    job = CrawlJob(
        url=payload.url,
        source=payload.source or "upgrade",
        target_type=payload.target_type,
        crawler=headers.crawler,
        timeout_ms=headers.timeout_ms,
        depth=payload.depth,
        # The stored page must not end the fetch as `unchanged`.
        unconditional=True,
        metadata={"upgrade": "rendering"},
    )
    return EmptyPage(owner=headers.root_id, job=job, trace_id=headers.trace_id)


def rendering_rule(host: str, applied: FetcherRule) -> FetcherRule:
    """The rule that makes just this host's pages rendered, as polite as the rule that applied until now."""
    return msgspec.structs.replace(applied, host_pattern=host, rendering=True, source="auto")


def upgrade_requests(pages: Sequence[EmptyPage]) -> list[Request]:
    """A new root for each URL among the pages: no explicit priority, past dedupe, with the trace of its page."""
    by_url = {page.job.url: page for page in pages}
    return [
        Request(job=page.job, parent=f"upgrade:{page.owner}", trace_id=page.trace_id, dedupe=False)
        for page in by_url.values()
    ]
