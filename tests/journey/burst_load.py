"""What goes on during a burst: the publisher, a slow crawler, the relay, and somebody who looks at the lag."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.kafka.lag import KafkaLag
from issuetracker_dagster.errors import LagUnknown, PublishFailed, Unavailable
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay

GROUP = FACTS[Stage.FETCH].group
CHUNK = 1_000


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A burst. `rate` is how many jobs a second the crawler takes, `target` the lag up to which the buffer drains."""

    jobs: int
    hosts: int
    target: int
    batch: int
    rate: int
    drainer_kills: int = 10


@contextmanager
def in_thread(run: Callable[[threading.Event], None]) -> Iterator[None]:
    """`run` in a thread that is told to end with the block; what it raises fails the block."""
    ended = threading.Event()
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            run(ended)
        except BaseException as error:  # noqa: BLE001 -- raised again below
            failures.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)
    if failures:
        raise failures[0]


class Publishing:
    """The publisher of the burst: `published` is host and root id in order, `seconds` what it took, 0 until then."""

    def __init__(self, wiring: Wiring, plan: Plan) -> None:
        self._wiring = wiring
        self._plan = plan
        self.published: list[tuple[str, str]] = []
        self.seconds = 0.0

    def run(self, _: threading.Event) -> None:
        began = time.monotonic()
        for first in range(0, self._plan.jobs, CHUNK):
            requests = [self._request(number) for number in range(first, min(first + CHUNK, self._plan.jobs))]
            report = self._wiring.publisher.publish(requests)
            self.published += [((one.key or b"").decode(), one.headers.root_id) for one in report.published]
        self.seconds = time.monotonic() - began

    def _request(self, number: int) -> Request:
        url = f"https://site{number % self._plan.hosts}.example.com/2025/06/15/story-{number}"
        return Request(job=CrawlJob(url=url, source="burst"), parent="burst")


class SlowCrawler:
    """A member of the crawler group that reads and commits at most `rate` jobs a second."""

    def __init__(self, wiring: Wiring, rate: int) -> None:
        self._wiring = wiring
        self._rate = rate
        self.taken = 0

    def run(self, ended: threading.Event) -> None:
        reader = KafkaGroupReader(self._wiring.kafka, [topic.value for topic in FACTS[Stage.FETCH].inputs], GROUP)
        credit, looked = 0.0, time.monotonic()
        while not ended.wait(0.05):
            now = time.monotonic()
            credit, looked = min(credit + (now - looked) * self._rate, self._rate), now
            if credit < 1:
                continue
            with suppress(Unavailable):  # it goes on when the broker is back
                records = reader.poll(int(credit), 50)
                reader.settled(records)
                reader.commit()
                credit -= len(records)
                self.taken += len(records)
        with suppress(Unavailable):
            reader.close()


class LagWatch:
    """Looks at the lag of the crawler group without a pause and keeps the highest that it saw."""

    def __init__(self, wiring: Wiring) -> None:
        self._lag = KafkaLag(wiring.kafka)
        self.highest = self.looks = 0

    def run(self, ended: threading.Event) -> None:
        while not ended.wait(0.02):
            with suppress(LagUnknown):
                self.highest = max(self.highest, sum(self._lag.lag(GROUP, [Topic.CRAWL_NORMAL]).values()))
                self.looks += 1
        self._lag.close()


def relay_until(wiring: Wiring, ended: threading.Event) -> None:
    """The relay's tick, which brings back what the broker refused."""
    while not ended.wait(0.5):
        with suppress(Unavailable, PublishFailed):
            relay(wiring, 1_000)
