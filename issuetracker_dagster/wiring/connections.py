"""What one process reaches outside itself: each part is built when it is first asked for, and shared from then on."""

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from issuetracker_dagster.adapters.clock import ServerClock, SystemClock
from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.adapters.kafka.lag import KafkaLag
from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.adapters.kafka.topics import ensure_topics
from issuetracker_dagster.adapters.redis.client import RedisClient, connect
from issuetracker_dagster.adapters.redis.empty_pages import RedisEmptyPages
from issuetracker_dagster.adapters.redis.frontier import RedisFrontier
from issuetracker_dagster.adapters.redis.heartbeats import RedisHeartbeats
from issuetracker_dagster.adapters.redis.hosts import RedisHostGate
from issuetracker_dagster.adapters.redis.locks import RedisLocks
from issuetracker_dagster.adapters.redis.metrics import RedisMetricStore
from issuetracker_dagster.adapters.redis.retries import RedisRetrySet
from issuetracker_dagster.adapters.redis.robots import RedisSharedRobots
from issuetracker_dagster.adapters.redis.urls import RedisIngestionLock, RedisProcessingLock
from issuetracker_dagster.adapters.sql.engine import connect as connect_sql
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.published import PublishedLog
from issuetracker_dagster.flow.telemetry import Telemetry
from issuetracker_dagster.flow.watched import WatchedProducer, is_letter
from issuetracker_dagster.model.queue import QueueLimits
from issuetracker_dagster.pipeline import topic_partitions
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.endpoints import Endpoints, endpoints, kafka_connection, missing

T = TypeVar("T")

FRONTIER_LIMITS = QueueLimits(max_deliveries=1_000)
"""Out of reach: poison among crawl jobs is found by their starts; a delivery here may just be a place on a shelf."""
BATCH_LINGER_MS = 100
"""More than the client takes to accept a hundred records, after which it is told to send."""
TOPICS_RETRY_S = 5.0
"""How long a failed try to reach Kafka stands for the tries of everybody."""


class Connections:
    """The servers, stores and locks of one process, from its settings. Thread-safe; raises `Unavailable`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clock = ServerClock(lambda: self.heartbeats.now_ms())
        self.machine_clock = SystemClock()
        """The clock of Dagster's own records, which are written by this machine or one like it."""
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
    def published_log(self) -> PublishedLog:
        return self._part("published_log", lambda: PublishedLog(self.stores.published_recent, self.clock))

    @property
    def telemetry(self) -> Telemetry:
        """What this process tells about its messages; asks Redis and SQL only when it has something for them."""
        return self._part("telemetry", self._telemetry)

    def _telemetry(self) -> Telemetry:
        made = Telemetry(
            add=lambda batch: self.metric_store.add(batch),
            write=lambda lines: self.stores.message_trace.write(lines),
            clock=self.clock,
        )
        made.start()
        return made

    @property
    def producer(self) -> WatchedProducer:
        self.ready()
        return self._part("producer", self._producer)

    @property
    def batch_producer(self) -> WatchedProducer:
        """The same for who publishes one full batch after the other."""
        self.ready()
        return self._part("batch_producer", lambda: self._producer(BATCH_LINGER_MS))

    def _producer(self, linger_ms: int = 0) -> WatchedProducer:
        inner = KafkaTopicProducer(self.kafka, linger_ms=linger_ms)
        return WatchedProducer(inner, meant=is_letter, told=self.telemetry.steps.buried)

    @property
    def lag(self) -> KafkaLag:
        return self._part("lag", lambda: KafkaLag(self.kafka))

    @property
    def retry_set(self) -> RedisRetrySet:
        return self._part("retry_set", lambda: RedisRetrySet(self.redis))

    @property
    def heartbeats(self) -> RedisHeartbeats:
        return self._part("heartbeats", lambda: RedisHeartbeats(self.redis))

    @property
    def metric_store(self) -> RedisMetricStore:
        return self._part("metric_store", lambda: RedisMetricStore(self.redis))

    @property
    def locks(self) -> RedisLocks:
        return self._part("locks", lambda: RedisLocks(self.redis))

    @property
    def ingestion(self) -> RedisIngestionLock:
        return self._part("ingestion", lambda: RedisIngestionLock(self.redis))

    @property
    def processing_lock(self) -> RedisProcessingLock:
        return self._part("processing_lock", lambda: RedisProcessingLock(self.redis))

    @property
    def host_gate(self) -> RedisHostGate:
        return self._part("host_gate", lambda: RedisHostGate(self.redis))

    @property
    def shared_robots(self) -> RedisSharedRobots:
        return self._part("shared_robots", lambda: RedisSharedRobots(self.redis))

    @property
    def empty_pages(self) -> RedisEmptyPages:
        return self._part("empty_pages", lambda: RedisEmptyPages(self.redis))

    @property
    def frontier(self) -> RedisFrontier:
        return self._part("frontier", lambda: RedisFrontier(self.redis, FRONTIER_LIMITS))

    def close(self) -> None:
        """Let go of what was opened."""
        with self._lock:
            telemetry: Telemetry | None = self._parts.pop("telemetry", None)
        if telemetry is not None:
            telemetry.close()  # it asks for Redis and SQL once more
        with self._lock:
            for name in ("published_log", "producer", "batch_producer", "stores"):
                if name in self._parts:
                    self._parts.pop(name).close()
            self._parts.clear()
