"""Stored pages go through parser, validate and enrich again, without being fetched.

In order of their ids, a bounded batch at a time, and only while the parser has less than a target to do. A reparse
that was ended goes on behind the id that it reached. What is published twice is known by its identity while it waits,
and changes nothing when it was done already.
"""

import logging
from collections.abc import Callable, Sequence

import msgspec

from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.reparse import PageFilter, StoredArticle, reparsed
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.stored_articles import StoredArticles

logger = logging.getLogger(__name__)

BATCH = 200
TARGET = 1_000
"""Messages that may wait for the parser before a reparse waits, too."""
LOOK_AGAIN_S = 1.0
_MINUTE_MS = 60_000


class ReparseOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`after` is the id behind which to go on, `limit` the most pages published (0: all that are meant)."""

    after: int = 0
    limit: int = 0
    target: int = TARGET
    priority: Priority = Priority.LOW
    dry_run: bool = False


class ReparseReport(msgspec.Struct, frozen=True, kw_only=True):
    """How many were published (in a dry run: would be), how many pages were looked at, up to which id, and what ended
    it before the last of them."""

    published: int = 0
    looked_at: int = 0
    reached: int = 0
    stopped: str = ""


class Reparser:
    """`waiting` says how many messages the parser has before it, in Kafka and in its queue."""

    def __init__(
        self,
        *,
        articles: StoredArticles,
        waiting: Callable[[], int],
        publish: Callable[[Sequence[Outgoing]], None],
        clock: Clock,
    ) -> None:
        self._articles = articles
        self._waiting = waiting
        self._publish = publish
        self._clock = clock

    def run(
        self,
        wanted: PageFilter,
        options: ReparseOptions,
        *,
        rule: ParserRule | None = None,
        told: Callable[[ReparseReport], None] = lambda _: None,
        control: Callable[[], str | None] = lambda: None,
    ) -> ReparseReport:
        """Publish what is meant and, with a rule, lies where that rule reads; `told` after each batch.

        `reached` of the last report told is what to go on behind after a kill. Raises `PublishFailed`, `Unavailable`;
        ValueError for a host that is none.
        """
        places = [HostTable([(wanted.host, "", True)])] if wanted.host else []
        places += [HostTable([(rule.host_pattern, rule.path_pattern, True)])] if rule else []
        # Of its own among the generations of a root, which retries count up one by one; and the same for a minute.
        generation = self._clock.now_ms() // _MINUTE_MS
        report = ReparseReport(reached=options.after)
        while not options.limit or report.published < options.limit:
            if stopped := control():
                return msgspec.structs.replace(report, stopped=stopped)
            pages = self._articles.after(wanted, report.reached, BATCH)
            if not pages:
                return report
            chosen = [page for page in pages if all(place.find(page.url) for place in places)]
            # Asked for only then: of a rule that reads few pages whole batches are passed over.
            room = self._room(options) if chosen else 0
            if chosen and room <= 0:
                self._clock.sleep(LOOK_AGAIN_S)
                continue
            room = min(room, options.limit - report.published) if options.limit else room
            if len(chosen) > room:
                chosen = chosen[:room]
                pages = pages[: pages.index(chosen[-1]) + 1]
            if chosen and not options.dry_run:
                self._send(chosen, generation, options.priority)
            report = ReparseReport(
                published=report.published + len(chosen),
                looked_at=report.looked_at + len(pages),
                reached=pages[-1].raw_id,
            )
            told(report)
        return report

    def _room(self, options: ReparseOptions) -> int:
        return BATCH if options.dry_run else options.target - self._waiting()

    def _send(self, pages: Sequence[StoredArticle], generation: int, priority: Priority) -> None:
        now_ms = self._clock.now_ms()
        messages = [reparsed(page, generation, priority, now_ms) for page in pages]
        self._publish([Outgoing.of(Topic.FETCHED, message) for message in messages])
        logger.info("%d pages are read again", len(pages), extra=action("page.reparsed", count=len(pages)))
