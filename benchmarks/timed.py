"""What a publish or a drain is made of: parts that note how long they were at work."""

import time
from collections.abc import Sequence

from benchmarks.stopwatch import Stopwatch
from issuetracker_dagster.flow.dedupe import DedupeTimes
from issuetracker_dagster.flow.publish import Published, Publisher
from issuetracker_dagster.flow.resolve import priority_table, standard_chain
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistMode, PriorityRule
from issuetracker_dagster.ports.locks import IngestionLock, Mark, MarkView
from issuetracker_dagster.ports.topics import Producer
from issuetracker_dagster.wiring.parts import Wiring

HOSTS = 100


class TimedProducer:
    """`Producer` that adds up the seconds of its publishes; `last` is when the latest one ended."""

    def __init__(self, inner: Producer) -> None:
        self._inner = inner
        self.seconds = self.last = 0.0

    def publish(self, records: Sequence[Outgoing]) -> None:
        began = time.perf_counter()
        self._inner.publish(records)
        self.last = time.perf_counter()
        self.seconds += self.last - began

    def close(self) -> None:
        self._inner.close()


class TimedMarkers:
    """`IngestionLock` that adds up the seconds of its round trips."""

    def __init__(self, inner: IngestionLock) -> None:
        self._inner = inner
        self.seconds = 0.0

    def begin(self, marks: Sequence[Mark]) -> Sequence[bool]:
        began = time.perf_counter()
        answers = self._inner.begin(marks)
        self.seconds += time.perf_counter() - began
        return answers

    def confirm(self, marks: Sequence[tuple[Mark, int]]) -> None:
        began = time.perf_counter()
        self._inner.confirm(marks)
        self.seconds += time.perf_counter() - began

    def abandon(self, marks: Sequence[Mark]) -> None:
        self._inner.abandon(marks)

    def release(self, marks: Sequence[Mark]) -> None:
        self._inner.release(marks)

    def view(self, url: str) -> MarkView | None:
        return self._inner.view(url)


class Capture:
    """`Producer` that keeps what it is given."""

    def __init__(self) -> None:
        self.records: list[Outgoing] = []

    def publish(self, records: Sequence[Outgoing]) -> None:
        self.records += records

    def close(self) -> None:
        pass


class TimedPublisher:
    """A whole publisher with dedupe, rules, blacklist and log, and what each of its parts cost."""

    def __init__(self, wiring: Wiring, producer: Producer) -> None:
        self._markers = TimedMarkers(wiring.ingestion)
        self._producer = TimedProducer(producer)
        self._noting = Stopwatch()
        blacklist = HostTable[BlacklistMode](())

        def note(out: Sequence[Published]) -> None:
            with self._noting:
                wiring.tell_published(out)

        self.publisher = Publisher(
            producer=self._producer,
            ingestion=self._markers,
            blacklist=lambda: blacklist,
            resolver=standard_chain(lambda: TABLE),
            clock=wiring.clock,
            times=DedupeTimes(),
            published=note,
        )

    def shares_us(self, seconds: float, jobs: int) -> dict[str, float]:
        """Microseconds a job of each part, of `seconds` in all for that many."""
        parts = {
            "producer": self._producer.seconds,
            "dedupe markers": self._markers.seconds,
            "log of what was published": self._noting.seconds,
        }
        parts["normalising, rules and encoding"] = seconds - sum(parts.values())
        return {name: taken / jobs * 1_000_000 for name, taken in parts.items()}


TABLE = priority_table(
    PriorityRule(host=f"site{host}.example.com", path=f"^/{word}/", priority=Priority.HIGH)
    for host in range(HOSTS)
    for word in ("breaking", "live", "alerts", "elections", "markets")
)
