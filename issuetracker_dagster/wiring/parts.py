"""The parts of one process: each is built when it is first asked for, and shared from then on."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.adapters.kafka.lag import KafkaLag
from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.adapters.kafka.topics import ensure_topics
from issuetracker_dagster.adapters.redis.client import RedisClient, connect
from issuetracker_dagster.adapters.redis.counters import RedisCounters
from issuetracker_dagster.adapters.redis.frontier import RedisFrontier
from issuetracker_dagster.adapters.redis.heartbeats import RedisHeartbeats
from issuetracker_dagster.adapters.redis.hosts import RedisHostGate
from issuetracker_dagster.adapters.redis.locks import RedisLocks
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.adapters.redis.retries import RedisRetrySet
from issuetracker_dagster.adapters.redis.urls import RedisIngestionLock, RedisProcessingLock
from issuetracker_dagster.adapters.sql.engine import connect as connect_sql
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.intake import ZSetIntake
from issuetracker_dagster.flow.publish import DedupeTimes, Publisher
from issuetracker_dagster.flow.resolve import priority_table, standard_chain
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.flow.schedule import ScheduleReport, publish_due_seeds
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueLimits
from issuetracker_dagster.model.records import BlacklistMode
from issuetracker_dagster.model.retry import RetryPolicy
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from issuetracker_dagster.pipeline import queue_limits, topic_partitions
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.endpoints import Endpoints, endpoints, kafka_connection, missing
from issuetracker_dagster.wiring.snapshots import Snapshot

logger = logging.getLogger(__name__)

T = TypeVar("T")

RULES_EVERY_S = 5.0
TOPICS_RETRY_S = 5.0
"""How long a failed try to reach Kafka stands for the tries of everybody."""


class Wiring:
    """Everything that one process needs, from its settings. Thread-safe. Raises `Unavailable` when nothing is there."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = SystemClock()
        self._lock = threading.Lock()
        self._building: dict[str, threading.RLock] = {}
        self._parts: dict[str, Any] = {}
        self._topics_failed: tuple[float, str] | None = None

    def _part(self, name: str, build: Callable[[], T]) -> T:
        # A lock for each part: while one waits for a Kafka that is out, others still reach Redis and SQL.
        with self._lock:
            building = self._building.setdefault(name, threading.RLock())
        with building:
            if name not in self._parts:
                self._parts[name] = build()
            part: T = self._parts[name]
            return part

    @property
    def endpoints(self) -> Endpoints:
        """Where the servers are; kept once Kafka and Redis are both known."""
        return self._part("endpoints", self._find_endpoints)

    def _find_endpoints(self) -> Endpoints:
        found = endpoints(self.settings)
        if not (found.kafka and found.redis):
            raise missing(found)
        return found

    def ready(self) -> None:
        """Make sure that the topics exist; asked once a process. Raises `Unavailable`."""
        self._part("topics", self._create_topics)

    def _create_topics(self) -> bool:
        # Every sensor asks for this and each try takes seconds: one after the other they'd outlast their ticks.
        if self._topics_failed and time.monotonic() - self._topics_failed[0] < TOPICS_RETRY_S:
            raise Unavailable(self._topics_failed[1])
        try:
            ensure_topics(self.kafka, topic_partitions(self.settings), retention_ms=self.settings.kafka.retention)
        except Unavailable as error:
            self._topics_failed = time.monotonic(), str(error)
            raise
        return True

    @property
    def kafka(self) -> KafkaConnection:
        return self._part("kafka", lambda: kafka_connection(self.settings, self.endpoints.kafka))

    @property
    def redis(self) -> RedisClient:
        return self._part("redis", lambda: connect(self.endpoints.redis, cluster=self.settings.redis.cluster))

    @property
    def stores(self) -> SqlStores:
        return self._part("stores", lambda: SqlStores(connect_sql(endpoints(self.settings).database)))

    @property
    def producer(self) -> KafkaTopicProducer:
        self.ready()
        return self._part("producer", lambda: KafkaTopicProducer(self.kafka))

    @property
    def retry_set(self) -> RedisRetrySet:
        return self._part("retry_set", lambda: RedisRetrySet(self.redis))

    @property
    def retries(self) -> RetryScheduler:
        return self._part("retries", lambda: RetryScheduler(self.retry_set, self.producer, self.clock))

    @property
    def heartbeats(self) -> RedisHeartbeats:
        return self._part("heartbeats", lambda: RedisHeartbeats(self.redis))

    @property
    def counters(self) -> RedisCounters:
        return self._part("counters", lambda: RedisCounters(self.redis))

    @property
    def locks(self) -> RedisLocks:
        return self._part("locks", lambda: RedisLocks(self.redis))

    @property
    def processing_lock(self) -> RedisProcessingLock:
        return self._part("processing_lock", lambda: RedisProcessingLock(self.redis))

    @property
    def host_gate(self) -> RedisHostGate:
        return self._part("host_gate", lambda: RedisHostGate(self.redis))

    @property
    def frontier(self) -> RedisFrontier:
        return self._part("frontier", lambda: RedisFrontier(self.redis, QueueLimits()))

    @property
    def publisher(self) -> Publisher:
        return self._part("publisher", self._publisher)

    def _publisher(self) -> Publisher:
        rules = self.stores.parser_rules
        limit = self.settings.publish.priority_rules_load_limit
        priorities = Snapshot(
            lambda: priority_table(rules.priority_rules(limit)), HostTable[Priority](()), RULES_EVERY_S
        )
        blacklist = Snapshot(
            lambda: HostTable((entry.host_pattern, entry.path_pattern, entry.mode) for entry in rules.blacklist()),
            HostTable[BlacklistMode](()),
            RULES_EVERY_S,
        )
        return Publisher(
            producer=self.producer,
            ingestion=RedisIngestionLock(self.redis),
            blacklist=blacklist,
            resolver=standard_chain(priorities),
            clock=self.clock,
            times=DedupeTimes(
                article_ms=self.settings.publish.ingestion_lock_ttl,
                category_ms=self.settings.publish.category_guard_ttl,
            ),
        )

    def queue(self, stage: Stage) -> PriorityZSetQueue:
        """The priority queue of a stage."""
        key = self.settings.queue(stage.value).zset_queue_key
        return self._part(
            f"queue:{stage}", lambda: PriorityZSetQueue(self.redis, key, queue_limits(self.settings, stage))
        )

    def intake(self, stage: Stage) -> ZSetIntake:
        """The intake of a stage; its consumer stays open between ticks."""
        self.ready()
        facts = FACTS[stage]
        return self._part(
            f"intake:{stage}",
            lambda: ZSetIntake(
                stage,
                reader=KafkaIntakeReader(self.kafka, facts.inputs[0].value, facts.group),
                queue=self.queue(stage),
                retries=self.retry_set,
                producer=self.producer,
                locks=self.locks,
                clock=self.clock,
                batch=self.settings.shift.intake_batch,
            ),
        )

    def retry_policy(self) -> RetryPolicy:
        """Bounds of retrying, from the settings."""
        retry = self.settings.retry
        return RetryPolicy(
            max_attempts=retry.retry_max_attempts,
            base_ms=retry.retry_base,
            cap_ms=retry.retry_cap,
            jitter=retry.retry_jitter,
            recrawl_max=retry.recrawl_max,
        )

    def publish_due_seeds(self) -> ScheduleReport:
        """Publish what is due."""
        return publish_due_seeds(self.stores.seeds, self.publisher, self.clock)

    def lags(self) -> Mapping[Topic, int]:
        """Unread messages of each topic that a stage reads; raises `LagUnknown`."""
        lag = self._part("lag", lambda: KafkaLag(self.kafka))
        found: dict[Topic, int] = {}
        for facts in FACTS.values():
            by_partition = lag.lag(facts.group, [topic.value for topic in facts.inputs])
            for topic in facts.inputs:
                found[topic] = sum(count for (name, _), count in by_partition.items() if name == topic.value)
        return found

    def close(self) -> None:
        """Let go of what was opened."""
        with self._lock:
            for name in ("producer", "stores"):
                if name in self._parts:
                    self._parts.pop(name).close()
            self._parts.clear()
