"""A world with buffers: what fills them, drains them, refuses, dies and reads on."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from issuetracker_dagster.adapters.memory.buffer import MemoryBuffer, MemoryBufferSwitch
from issuetracker_dagster.adapters.memory.readers import MemoryLag
from issuetracker_dagster.errors import PublishFailed
from issuetracker_dagster.flow.buffer import BufferingProducer
from issuetracker_dagster.flow.drain import BufferDrainer
from issuetracker_dagster.flow.drain_batch import Job
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.drain import DrainSummary
from issuetracker_dagster.model.headers import Headers, headers_from_raw
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import CrawlJob, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage, Topic
from issuetracker_dagster.ports.topics import Position, Producer
from tests.flow.world import World

GROUP = FACTS[Stage.FETCH].group


class DrainWorld(World):
    """Buffers of normal and low, and drainers of them."""

    def __init__(self, max_len: int = 0) -> None:
        super().__init__()
        self.normal = MemoryBuffer("publisher:buffer:normal", max_len=max_len)
        self.low = MemoryBuffer("publisher:buffer:low", max_len=max_len)
        self.buffers = {Topic.CRAWL_NORMAL.value: self.normal, Topic.CRAWL_LOW.value: self.low}
        self.switch = MemoryBufferSwitch(self.clock)
        self.memory_lag = MemoryLag(self.broker)
        self.buffered: list[Outgoing] = []
        self.drained: list[Job] = []

    def first_publisher(self, **changes: Any) -> BufferingProducer:
        parts: dict[str, Any] = {
            "raw": self.producer,
            "buffers": self.buffers,
            "is_on": self.switch.is_on,
            "clock": self.clock,
            "buffered": self.buffered.extend,
        }
        return BufferingProducer(**parts | changes)

    def drainer(self, **changes: Any) -> BufferDrainer:
        parts: dict[str, Any] = {
            "buffers": self.buffers,
            "producer": self.producer,
            "lag": self.memory_lag,
            "group": GROUP,
            "retries": self.retry_set,
            "ingestion": self.ingestion,
            "locks": self.locks,
            "switch": self.switch,
            "clock": self.clock,
            "target": 1_000,
            "batch": 5,
            "interval_ms": 30_000,
            "drained": self.drained.extend,
        }
        return BufferDrainer(**parts | changes)

    def drain(
        self,
        *,
        accepts: Callable[[], bool] = lambda: True,
        control: Callable[[], str | None] = lambda: None,
        duration_ms: int = 5_000,
        **changes: Any,
    ) -> DrainSummary:
        return self.drainer(**changes).run(accepts=accepts, control=control, duration_ms=duration_ms)

    def fill(self, names: Sequence[str], buffer: MemoryBuffer | None = None) -> None:
        entries = [encode_buffered(BufferedJob(self.clock.now_ms(), job(name))) for name in names]
        (buffer or self.normal).push(entries)

    def read(self, topic: Topic = Topic.CRAWL_NORMAL) -> None:
        """The fetchers have read everything that is there."""
        ends = {found: Position(self.broker.log(found).end) for found in self.broker.partitions([topic.value])}
        self.broker.commit(GROUP, ends)

    def arrived(self, topic: Topic = Topic.CRAWL_NORMAL) -> list[str]:
        """Root ids in a topic, partition by partition, repeats included."""
        return [headers_from_raw(record.headers).root_id for record in self.records(topic)]

    def relaying(self) -> Callable[[], str | None]:
        """A `control` that runs the retry relay beside the drainer."""

        def control() -> str | None:
            with contextlib.suppress(PublishFailed):
                self.retries.relay()
            return None

        return control


class Refusing:
    """A producer that refuses crawl jobs `times` times, each time after `prefix` of the batch arrived."""

    def __init__(self, producer: Producer, *, times: int, prefix: int = 0) -> None:
        self._producer = producer
        self._times = times
        self._prefix = prefix

    def publish(self, records: Sequence[Outgoing]) -> None:
        if self._times and records:
            self._times -= 1
            self._producer.publish(records[: self._prefix])
            raise PublishFailed("the broker refuses")
        self._producer.publish(records)

    def close(self) -> None:
        self._producer.close()


class Killed(BaseException):
    """The process ended here."""


class Death:
    """Ends the process at its `at`-th call, before or after the call's effect. Nothing works after that."""

    def __init__(self, at: int, *, after: bool) -> None:
        self.calls = 0
        self._at = at
        self._after = after

    def mortal(self, target: Any) -> Any:
        death = self

        class Mortal:
            def __getattr__(self, name: str) -> Any:
                found = getattr(target, name)
                return death._wrap(found) if callable(found) else found

        return Mortal()

    def _wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls > self._at or (self.calls == self._at and not self._after):
                raise Killed
            result = call(*args, **kwargs)
            if self.calls == self._at:
                raise Killed
            return result

        return wrapped


def job(name: str, priority: Priority = Priority.NORMAL, value: bytes = b"") -> Outgoing:
    """A crawl job whose host is what precedes the dash in its name."""
    host = f"{name.partition('-')[0]}.example.com"
    headers = Headers(root_id=name, priority=priority)
    payload = value or encode_payload(CrawlJob(url=f"https://{host}/{name}"))
    return Outgoing.of(CRAWL_TOPICS[priority], Message(headers, host.encode(), payload))
