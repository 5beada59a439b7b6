"""A whole pipeline in memory, for the tests of the flow."""

from collections.abc import Callable, Mapping, Sequence

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.empty_pages import MemoryEmptyPages
from issuetracker_dagster.adapters.memory.locks import MemoryLocks
from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.readers import MemoryIntakeReader, MemoryProducer
from issuetracker_dagster.adapters.memory.retries import MemoryRetrySet
from issuetracker_dagster.adapters.memory.starts import MemoryStarts
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.adapters.memory.topics import MemoryBroker
from issuetracker_dagster.adapters.memory.urls import MemoryIngestionLock
from issuetracker_dagster.errors import IssueTrackerError, PublishFailed
from issuetracker_dagster.flow.dedupe import DedupeTimes
from issuetracker_dagster.flow.intake import ZSetIntake
from issuetracker_dagster.flow.publish import Publisher
from issuetracker_dagster.flow.resolve import PriorityTable, standard_chain
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.flow.settle import Kept, Settlement, Settler
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.flow.upgrade import HostUpgrader
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Origin, Outgoing, Record
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueLimits
from issuetracker_dagster.model.retry import RetryPolicy
from issuetracker_dagster.model.rules import BlacklistMode, FetcherRule
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from issuetracker_dagster.model.urls import ParameterRule
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.traces import PublishedJob

PARTITIONS: Mapping[str, int] = {topic.value: 2 for topic in Topic}


class World:
    """Kafka, Redis and the clock of one test."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.fake_clock = FakeClock()
        self.clock: Clock = clock or self.fake_clock
        self.broker = MemoryBroker(PARTITIONS, self.clock)
        self.producer = MemoryProducer(self.broker)
        self.retry_set = MemoryRetrySet()
        self.retries = RetryScheduler(self.retry_set, self.producer, self.clock)
        self.locks = MemoryLocks(self.clock)
        self.ingestion = MemoryIngestionLock(self.clock)
        self.rules: PriorityTable = HostTable(())
        self.empty_pages = MemoryEmptyPages(self.clock)
        self.stores = MemoryStores()
        self.starts = MemoryStarts()
        self.alone_starts = MemoryStarts()
        self.blacklist: HostTable[BlacklistMode] = HostTable(())
        self.published: list[PublishedJob] = []
        self.parameters: HostTable[ParameterRule] = HostTable(())

    def start_counts(self) -> StartCounts:
        return StartCounts(self.starts)

    def alone_counts(self) -> StartCounts:
        """For a crew on a queue, which counts only the starts of messages that are alone."""
        return StartCounts(self.alone_starts, in_company=0)

    def publisher(self) -> Publisher:
        return Publisher(
            producer=self.producer,
            ingestion=self.ingestion,
            blacklist=lambda: self.blacklist,
            resolver=standard_chain(lambda: self.rules, {"wire": Priority.HIGH}),
            clock=self.clock,
            times=DedupeTimes(),
            published=lambda out: self.published.extend(each.job for each in out),
            parameters=lambda: self.parameters,
        )

    def upgrader(self) -> HostUpgrader:
        return HostUpgrader(
            pages=self.empty_pages,
            rules=self.stores.parser_rules,
            publisher=self.publisher(),
            default_rule=FetcherRule(host_pattern="*", timeout_ms=9_000),
        )

    def settler(self, stage: Stage, *, retry_in_place: bool = False) -> Settler:
        return Settler(
            stage,
            producer=self.producer,
            retries=self.retries,
            publisher=self.publisher(),
            policy=RetryPolicy(),
            clock=self.clock,
            upgrader=self.upgrader() if stage is Stage.PARSER else None,
            retry_in_place=retry_in_place,
            jitter=lambda: 0.5,
        )

    def queue(self, stage: Stage = Stage.PARSER, **limits: int | bool) -> MemoryStageQueue:
        return MemoryStageQueue(f"{stage.value}:zset:queue", QueueLimits(**limits), self.clock)  # type: ignore[arg-type]

    def intake(
        self,
        queue: MemoryStageQueue,
        stage: Stage = Stage.PARSER,
        batch: int = 500,
        reader: MemoryIntakeReader | None = None,
    ) -> ZSetIntake:
        facts = FACTS[stage]
        return ZSetIntake(
            stage,
            reader=reader or MemoryIntakeReader(self.broker, facts.inputs[0].value, facts.group),
            queue=queue,
            retries=self.retry_set,
            producer=self.producer,
            locks=self.locks,
            clock=self.clock,
            batch=batch,
        )

    def records(self, topic: Topic) -> list[Record]:
        """Everything that a topic holds, partition by partition."""
        return [
            record
            for partition in self.broker.partitions([topic.value])
            for record in self.broker.log(partition).read(0, 1_000_000)
        ]

    def send(self, topic: Topic, *messages: Message) -> None:
        """Publish to a topic."""
        self.producer.publish([Outgoing.of(topic, message) for message in messages])


class NoDlq(MemoryProducer):
    """A producer whose broker has lost the DLQ."""

    def publish(self, records: Sequence[Outgoing]) -> None:
        if any(record.topic == Topic.DLQ for record in records):
            raise PublishFailed("dlq has no leader")
        super().publish(records)


class HalfDlq(MemoryProducer):
    """A producer whose broker takes each letter, but answers for every second one of the first batch only."""

    failed = False

    def publish(self, records: Sequence[Outgoing]) -> None:
        if self.failed or any(record.topic != Topic.DLQ for record in records):
            super().publish(records)
            return
        self.failed = True
        there = records[::2]
        super().publish(there)
        raise PublishFailed("dlq lost a leader", arrived=there)


class Doing:
    """The work of a crew made of a function; a message whose handler had no say stays unanswered, and is noted."""

    def __init__(self, run: Callable[[Delivery], Settlement]) -> None:
        self.failed: list[IssueTrackerError] = []
        self.run = run

    def fail(self, delivery: Delivery, error: IssueTrackerError) -> Settlement:
        self.failed.append(error)
        return Kept()


def message(root_id: str = "root", priority: Priority = Priority.NORMAL, **headers: object) -> Message:
    """A message for the parser, as fetch would send it."""
    payload = RawContentRef(
        raw_id=1,
        url=f"https://news.example.com/{root_id}",
        requested_url=f"https://news.example.com/{root_id}",
        target_type=TargetType.CATEGORY,
        fetched_ms=1,
    )
    typed = Headers(
        root_id=root_id,
        priority=priority,
        target_type=TargetType.CATEGORY,
        crawler="news",
        timeout_ms=7_000,
        trace_id="trace",
        first_published_ms=5,
    ).evolve(**headers)
    return Message(typed, root_id.encode(), encode_payload(payload), Origin("fetched", 0, 1, 1_000))


def crawl_message(url: str, root_id: str = "root", priority: Priority = Priority.NORMAL) -> Message:
    """A crawl job as the publisher would send it."""
    headers = Headers(root_id=root_id, priority=priority, target_type=TargetType.ARTICLE)
    return Message(headers, b"news.example.com", encode_payload(CrawlJob(url=url)))


def dlq_notes(record: Record) -> dict[str, str]:
    """The dead-letter headers of a record, without their prefix."""
    return {name[4:]: value.decode() for name, value in record.headers if name.startswith("dlq_")}
