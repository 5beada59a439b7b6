"""A stream of contents on its way through enrich, by one worker or several, and the issues they end in."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.ports.stores import Contents, Issues
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from tests.stages.event_stream import HOUR_MS, Told

Order = Literal["in order", "late", "shuffled"]
_CRAWLED_AFTER_MS = 60_000
_LATEST_H = 12.0


def arrivals(stream: Sequence[Told], order: Order) -> list[tuple[int, Told]]:
    """When each content reaches enrich: as it comes out, half of them up to 12 hours late, or all at the end, mixed."""
    dice = random.Random(5)
    if order == "in order":
        return [(told.out_ms + _CRAWLED_AFTER_MS, told) for told in stream]
    if order == "late":
        delays = [int(dice.choice((0.0, dice.uniform(0, _LATEST_H))) * HOUR_MS) for _ in stream]
        coming = [(told.out_ms + _CRAWLED_AFTER_MS + delay, told) for told, delay in zip(stream, delays, strict=True)]
        return sorted(coming, key=lambda arrival: (arrival[0], arrival[1].content.url))
    end_ms = stream[-1].out_ms + _CRAWLED_AFTER_MS
    return [(end_ms, told) for told in dice.sample(stream, len(stream))]


class Newsroom:
    """One database's contents, and what became of them."""

    def __init__(self, contents: Contents, issues: Issues, clock: FakeClock) -> None:
        self.contents, self.issues, self.clock = contents, issues, clock
        self.known: dict[int, str] = {}
        """The event of each content, by id."""

    def arrive(self, coming: Sequence[tuple[int, Told]], *workers: Callable[[int], object]) -> None:
        """Store each content and let the workers take them, in order, whoever is free. The clock follows."""
        waiting = iter(coming)
        taking = threading.Lock()
        failures: list[BaseException] = []

        def work(enrich: Callable[[int], object]) -> None:
            try:
                while not failures:
                    with taking:
                        arrival = next(waiting, None)
                        if arrival is None:
                            return
                        at_ms, told = arrival
                        self.clock.advance(max(0, at_ms - self.clock.now_ms()))
                        content_id = self.contents.save(told.content)
                        self.known[content_id] = told.event
                    enrich(content_id)
            except BaseException as error:  # noqa: BLE001 - raised again below
                failures.append(error)

        threads = [threading.Thread(target=work, args=(enrich,)) for enrich in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for failure in failures:
            raise failure

    def found(self) -> Mapping[int, int]:
        """The issue of each content, by id."""
        return {view.content_id: view.issue_id for view in self.issues.views(self.known)}


def enriching(handler: EnrichHandler) -> Callable[[int], object]:
    """A worker that does all of enrich."""
    return lambda content_id: handler.handle(
        ContentRef(content_id=content_id, url=""), HandlerContext(Headers(root_id=str(content_id)))
    )
