"""The parts of the flow in one process, built from its connections when they are first asked for, and shared."""

from collections.abc import Mapping, Sequence

from issuetracker_dagster.adapters.kafka.arrivals import KafkaArrivals
from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.adapters.kafka.letters import KafkaLetterReader
from issuetracker_dagster.adapters.kafka.oldest import KafkaOldest
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.errors import TopicMissing
from issuetracker_dagster.flow.dedupe import DedupeTimes
from issuetracker_dagster.flow.dlq_index import DLQ_GROUP, DeadLetterIndexer
from issuetracker_dagster.flow.intake import ZSetIntake
from issuetracker_dagster.flow.publish import Published, Publisher
from issuetracker_dagster.flow.redrive import Redriver
from issuetracker_dagster.flow.refresh import PriorityRulesRefresher
from issuetracker_dagster.flow.requests import name_of
from issuetracker_dagster.flow.resolve import PriorityTable, standard_chain
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.flow.schedule import ScheduleReport, publish_due_seeds
from issuetracker_dagster.flow.upgrade import HostUpgrader
from issuetracker_dagster.flow.watched import WatchedProducer, is_no_letter
from issuetracker_dagster.flow.watched_queue import WatchedQueue
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority, priority_from_label
from issuetracker_dagster.model.retry import RetryPolicy
from issuetracker_dagster.model.rules import BlacklistMode, FetcherRule
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from issuetracker_dagster.model.urls import ParameterRule
from issuetracker_dagster.pipeline import queue_limits
from issuetracker_dagster.wiring.buffering import Buffering
from issuetracker_dagster.wiring.snapshots import LatestBlacklist, LatestParameters, LatestPriorities, Snapshot

RULES_EVERY_S = 5.0
PARAMETERS_EVERY_S = 60.0
"""All rules are read for these, and another reading of parameters makes other pages: nobody is in a hurry for it."""


class Wiring(Buffering):
    """Everything that one process needs, from its settings. Thread-safe. Raises `Unavailable` when nothing is there."""

    @property
    def retries(self) -> RetryScheduler:
        return self._part("retries", self._retries)

    def _retries(self) -> RetryScheduler:
        producer = WatchedProducer(self.producer, meant=is_no_letter, told=self.telemetry.steps.relayed)
        return RetryScheduler(self.retry_set, producer, self.clock)

    @property
    def publisher(self) -> Publisher:
        return self._part("publisher", self._publisher)

    def _publisher(self) -> Publisher:
        rules = self.stores.parser_rules
        priorities = Snapshot(LatestPriorities(self.stores.rule_snapshots), PriorityTable(()), RULES_EVERY_S)
        blacklist = Snapshot(LatestBlacklist(rules), HostTable[BlacklistMode](()), RULES_EVERY_S)
        return Publisher(
            producer=self.first_publisher,
            ingestion=self.ingestion,
            blacklist=blacklist,
            resolver=standard_chain(priorities, self.priority_by_source()),
            clock=self.clock,
            times=DedupeTimes(
                article_ms=self.settings.publish.ingestion_lock_ttl,
                category_ms=self.settings.publish.category_guard_ttl,
            ),
            published=self.tell_published,
            parameters=self.parameters,
        )

    def tell_published(self, published: Sequence[Published]) -> None:
        """Remember what went out, for previews of rules and for its trace."""
        self.published_log.note([each.job for each in published])
        self.telemetry.steps.published(published)

    @property
    def parameters(self) -> Snapshot[HostTable[ParameterRule]]:
        """What the query parameters of each host mean."""
        return self._part(
            "parameters",
            lambda: Snapshot(
                LatestParameters(self.stores.parser_rules), HostTable[ParameterRule](()), PARAMETERS_EVERY_S
            ),
        )

    def name_of(self, url: str) -> str:
        """The URL under which that page is published, known and stored; raises `BadUrl` and `Unavailable`."""
        return name_of(url, self.parameters())

    def priority_by_source(self) -> Mapping[str, Priority]:
        """Sources whose jobs have a priority whatever the rules say."""
        by_source = self.settings.publish.priority_by_source
        return {source: priority_from_label(word) for source, word in by_source.items()}

    @property
    def rules_refresher(self) -> PriorityRulesRefresher:
        return self._part(
            "rules_refresher",
            lambda: PriorityRulesRefresher(
                rules=self.stores.parser_rules,
                snapshots=self.stores.rule_snapshots,
                clock=self.clock,
                limit=self.settings.publish.priority_rules_load_limit,
            ),
        )

    @property
    def default_fetcher_rule(self) -> FetcherRule:
        """How hosts without a fetcher rule are asked."""
        return FetcherRule(host_pattern="*", timeout_ms=self.settings.fetch.timeout)

    @property
    def upgrader(self) -> HostUpgrader:
        return self._part(
            "upgrader",
            lambda: HostUpgrader(
                pages=self.empty_pages,
                rules=self.stores.parser_rules,
                publisher=self.publisher,
                default_rule=self.default_fetcher_rule,
            ),
        )

    def queue(self, stage: Stage) -> PriorityZSetQueue:
        """The priority queue of a stage."""
        key = self.settings.queue(stage.value).zset_queue_key
        return self._part(
            f"queue:{stage}", lambda: PriorityZSetQueue(self.redis, key, queue_limits(self.settings, stage))
        )

    def watched_queue(self, stage: Stage) -> WatchedQueue:
        """The same for those who move messages through it: it tells what they do."""
        return WatchedQueue(self.queue(stage), stage, self.telemetry.steps)

    def intake(self, stage: Stage) -> ZSetIntake:
        """The intake of a stage; its consumer stays open between ticks."""
        self.ready()
        facts = FACTS[stage]
        return self._part(
            f"intake:{stage}",
            lambda: ZSetIntake(
                stage,
                reader=KafkaIntakeReader(self.kafka, facts.inputs[0].value, facts.group),
                queue=self.watched_queue(stage),
                retries=self.retry_set,
                producer=self.producer,
                locks=self.locks,
                clock=self.clock,
                batch=self.settings.shift.intake_batch,
            ),
        )

    @property
    def dead_letter_indexer(self) -> DeadLetterIndexer:
        """What keeps the index of the DLQ; its consumer stays open between ticks."""
        self.ready()
        return self._part(
            "dead_letter_indexer",
            lambda: DeadLetterIndexer(
                reader=KafkaIntakeReader(self.kafka, Topic.DLQ.value, DLQ_GROUP),
                index=self.stores.dead_letters,
                clock=self.clock,
                forget_after_ms=self.settings.purge.dead_letters_after,
            ),
        )

    @property
    def letter_reader(self) -> KafkaLetterReader:
        return self._part("letter_reader", lambda: KafkaLetterReader(self.kafka))

    @property
    def arrivals(self) -> KafkaArrivals:
        return self._part("arrivals", lambda: KafkaArrivals(self.kafka))

    @property
    def redriver(self) -> Redriver:
        # Servers are asked for only when they are needed: a dry run works without, unless a letter isn't kept in the
        # index.
        return self._part(
            "redriver",
            lambda: Redriver(
                index=self.stores.dead_letters,
                read=lambda letter: self.letter_reader.read(letter),
                publish=lambda records: self._redrive(records),
                clock=self.clock,
                locks=lambda: self.locks,
            ),
        )

    def _redrive(self, records: Sequence[Outgoing]) -> None:
        WatchedProducer(self.producer, meant=is_no_letter, told=self.telemetry.steps.redriven).publish(records)

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
        return publish_due_seeds(
            self.stores.seeds,
            self.stores.raw_contents,
            self.publisher,
            self.clock,
            hold_back=self.throttler.hold_back,
        )

    def lags(self) -> Mapping[Topic, int]:
        """Unread messages of each topic that a stage reads, but of none that doesn't exist; raises `LagUnknown`."""
        asked = [(topic, self.lag_of(facts.group, topic)) for facts in FACTS.values() for topic in facts.inputs]
        return {topic: lag for topic, lag in asked if lag is not None}

    def lag_of(self, group: str, topic: Topic) -> int | None:
        """Messages of a topic that the group hasn't read; None without the topic. Raises `LagUnknown`."""
        try:
            return sum(self.lag.lag(group, [topic.value]).values())
        except TopicMissing:
            return None

    @property
    def oldest(self) -> KafkaOldest:
        return self._part("oldest", lambda: KafkaOldest(self.kafka))
