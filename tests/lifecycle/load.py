"""What goes on while things happen: pages and crawl jobs that keep coming, and somebody who looks at the runs."""

import threading
from contextlib import suppress

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Outgoing, message_of
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, encode_payload
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.ledger import everything
from tests.lifecycle.session import Runs
from tests.stages.parser_world import SENTENCE, article_html

PAUSE_S = 0.4
AT_ONCE = 2


class Load:
    """Pages that were fetched, for the parser, and jobs to crawl, for the buffer. `pages` and `jobs` are the root ids
    that were confirmed; what fails is tried again, under the same id."""

    def __init__(self, parts: Wiring) -> None:
        self._parts = parts
        self.pages: list[str] = []
        self.jobs: list[str] = []

    def run(self, ended: threading.Event) -> None:
        number = 0
        while not ended.wait(PAUSE_S):
            with suppress(TransientError):
                pages = [self._page(place) for place in range(number, number + AT_ONCE)]
                self._parts.producer.publish([Outgoing.of(Topic.FETCHED, page) for page in pages])
                self.pages += [page.headers.root_id for page in pages]
                job = CrawlJob(url=f"https://jobs.example.com/{number}", source="lifecycle")
                report = self._parts.publisher.publish([Request(job=job, parent="lifecycle")])
                self.jobs += [message.headers.root_id for message in report.published]
                number += AT_ONCE

    def handled(self) -> int:
        """Pages that have passed the parser and have a verdict."""
        counts = self._parts.stores.reports.counts()
        return counts["contents.validated"] + counts["contents.rejected"]

    def lost(self) -> set[str]:
        """Root ids that are nowhere at this moment: not passed on by the parser, not in Kafka for the crawler."""
        parsed = {message_of(record).headers.root_id for record in everything(self._parts, Topic.NORMALIZED)}
        to_crawl = {message_of(record).headers.root_id for record in everything(self._parts, Topic.CRAWL_NORMAL)}
        return set(self.pages) - parsed | set(self.jobs) - to_crawl

    def _page(self, number: int) -> Message:
        url = f"https://news.example.com/2026/story-{number}"
        body = article_html(f"Part {number}. {SENTENCE * 6}", title=f"Council votes a {number}th time").encode()
        raw = RawContent(url=url, requested_url=url, status=200, content_type="text/html", body=body, fetched_ms=1)
        raw_id = self._parts.stores.raw_contents.save(raw)
        ref = RawContentRef(raw_id=raw_id, url=url, requested_url=url, target_type=TargetType.ARTICLE, fetched_ms=1)
        headers = Headers(root_id=f"page-{number}", target_type=TargetType.ARTICLE)
        return Message(headers, headers.root_id.encode(), encode_payload(ref))


class SlotWatch:
    """Looks at the runs all the time; `doubled` are slots on which more than one was at work."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.looks = 0
        self.doubled: list[tuple[str, int]] = []

    def run(self, ended: threading.Event) -> None:
        while not ended.wait(0.3):
            self.doubled += self._runs.doubled()
            self.looks += 1
