"""A pipeline in memory that tells about its messages, and is handed over when somebody looks."""

from issuetracker_dagster.adapters.memory.metrics import MemoryMetricStore
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.publish import Publisher
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.telemetry import Telemetry
from issuetracker_dagster.flow.watched import WatchedHandler, WatchedProducer, WatchedWork, is_letter, is_no_letter
from issuetracker_dagster.flow.watched_queue import WatchedQueue
from issuetracker_dagster.model.message import Message, Record
from issuetracker_dagster.model.metrics import MetricName
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, Payload, RawContentRef
from issuetracker_dagster.model.readings import Readings
from issuetracker_dagster.model.stage import Stage
from tests.flow.drain_world import DrainWorld

PAYLOADS: dict[Stage, type[Payload]] = {Stage.FETCH: CrawlJob, Stage.PARSER: RawContentRef}


class Answers:
    """A handler that takes two seconds and ends as it was told."""

    def __init__(self, world: DrainWorld, result: Outcome | Exception) -> None:
        self._world = world
        self._result = result

    def handle(self, payload: Payload, context: HandlerContext) -> Outcome:
        self._world.fake_clock.advance(2_000)
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def close(self) -> None:
        pass


class Told(DrainWorld):
    """The world; its parser queue is watched."""

    def __init__(self, **limits: int) -> None:
        super().__init__()
        self.metrics = MemoryMetricStore(self.clock)
        self.telemetry = Telemetry(
            add=lambda batch: self.metrics.add(batch),
            write=lambda lines: self.stores.message_trace.write(lines),
            clock=self.clock,
        )
        self.steps = self.telemetry.steps
        letters = WatchedProducer(self.producer, meant=is_letter, told=self.steps.buried)
        self.producer = letters  # type: ignore[assignment]
        relayed = WatchedProducer(letters, meant=is_no_letter, told=self.steps.relayed)
        self.retries = RetryScheduler(self.retry_set, relayed, self.clock)
        self.parser_queue = WatchedQueue(self.queue(Stage.PARSER, **limits), Stage.PARSER, self.steps)

    def tells(self, publisher: Publisher) -> Publisher:
        """A publisher that tells what it published, too."""
        publisher._published = self.steps.published
        return publisher

    def handles(self, stage: Stage, delivery: Delivery, result: Outcome | Exception) -> str:
        """One message through its stage; returns the kind of its settlement."""
        work: StageWork[CrawlJob] = StageWork(
            stage=stage,
            payload_type=PAYLOADS.get(stage, ContentRef),  # type: ignore[arg-type]
            handler=WatchedHandler(Answers(self, result), stage, self.steps, self.clock),
            settler=self.settler(stage),
        )
        return WatchedWork(work, stage, self.steps, self.clock).run(delivery).kind

    def readings(self) -> Readings:
        """All figures so far."""
        self.telemetry.flush()
        return self.metrics.read()

    def total(self, name: MetricName, **labels: str) -> int:
        """One counter."""
        return self.readings().total(name, **labels)

    def trace(self, root_id: str = "root") -> list[str]:
        """The steps of a message, each as `stage action detail`."""
        self.telemetry.flush()
        lines = self.stores.message_trace.of(root_id, 100)
        return [f"{line.stage} {line.action} {line.detail}".strip() for line in lines]


def read(sent: Message) -> Delivery:
    """A delivery that was read straight from Kafka."""
    assert sent.origin is not None
    return Delivery(sent, Record(sent.origin, sent.key, sent.value, tuple(sent.headers.to_raw())))
