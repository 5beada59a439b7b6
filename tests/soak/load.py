"""A steady stream of numbered crawl jobs of the soak's own, through the product's publisher and through the faults."""

import threading
import time
from collections import Counter

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.requests import Request, root_id_of
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.wiring.parts import Wiring
from tests.soak.ledger import End, Expected
from tests.soak.site import HOSTS, Page, Site, links_of, page_of, path_of

SOURCE = "soak"
_PRIORITIES = (Priority.HIGH, Priority.NORMAL, Priority.NORMAL, Priority.LOW, Priority.NORMAL, Priority.LOW)
_ENDS = {Page.GONE: End.DEAD, Page.SHOUTED: End.REJECTED, Page.LIST: End.LINKS}


class Load:
    """Publishes until it is told to stop. What the publisher acknowledged has to arrive; the rest is tried again, under
    the same root id. While `is_held_back` is set nothing new comes: a slow machine would have to drain for an hour.
    """

    def __init__(self, wiring: Wiring, site: Site, a_second: float) -> None:
        self._wiring = wiring
        self._site = site
        self._pause_s = 1.0 / a_second
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self._published: list[Expected] = []
        self.is_held_back = False
        self.refused: Counter[str] = Counter()

    def start(self) -> None:
        for host in HOSTS:
            self._wiring.stores.parser_rules.save_fetcher_rule(
                FetcherRule(host_pattern=host, requests_per_hour=36_000, burst=20, concurrency=4, source=SOURCE)
            )
        self._thread.start()

    def stop(self, timeout_s: float = 120.0) -> bool:
        """No more jobs; whether the one at hand was published within that time."""
        self._stopping.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def published(self) -> list[Expected]:
        """What the publisher acknowledged so far."""
        return list(self._published)

    def _run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._stopping.is_set():
            if not self.is_held_back:
                self._insist(number)
                number += 1
            due = max(due + self._pause_s, time.monotonic() - 5.0)
            self._stopping.wait(max(0.0, due - time.monotonic()))

    def _insist(self, number: int) -> None:
        page, path = page_of(number), path_of(number)
        url = self._site.url(path, number)
        kind = TargetType.CATEGORY if page is Page.LIST else TargetType.ARTICLE
        request = Request(
            job=CrawlJob(url=url, source=SOURCE, target_type=kind),
            parent=f"soak:{number}",
            priority=_PRIORITIES[number % len(_PRIORITIES)],
        )
        links = tuple(self._site.url(link, number) for link in links_of(number)) if page is Page.LIST else ()
        expected = Expected(root_id_of(request.parent, url), url, _ENDS.get(page, End.ENRICHED), links)
        tried = 0
        while True:
            try:
                report = self._wiring.publisher.publish([request])
            except IssueTrackerError as error:
                self.refused[type(error).__name__] += 1
                tried += 1
                if self._stopping.wait(1.0) and tried > 60:
                    return  # never acknowledged: nobody was promised anything
                continue
            if report.published or report.known:
                self._published.append(expected)
            else:
                self.refused["dropped"] += 1
            return
