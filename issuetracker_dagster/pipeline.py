"""THE table: what each stage reads, in which group, which payload, what it passes on, and which settings size it."""

import msgspec

from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef
from issuetracker_dagster.model.queue import MOST_DELIVERIES, QueueLimits
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage, StageFacts, Topic
from issuetracker_dagster.settings.load import Settings

PayloadType = type[CrawlJob] | type[RawContentRef] | type[ContentRef]

FETCH_LEASE_MS = 120_000
"""Lease of a job that waited in a host's frontier: a fetch with all its redirects fits in."""

LEASES_PER_START = 20
"""How many lost leases make up for a start. Crews count starts; the queue's own limit is for what never gets as far.
Leases are also lost while a message only waits beside another one that ends its workers."""


class StageRow(msgspec.Struct, frozen=True):
    """One stage. `facts` name topics and group; attempts, lease and queue come from the settings."""

    facts: StageFacts
    payload: PayloadType

    @property
    def stage(self) -> Stage:
        return self.facts.stage

    @property
    def has_queue(self) -> bool:
        return self.stage in QUEUED_STAGES

    def lease_ms(self, settings: Settings) -> int:
        """How long a claimed message is held without a sign of life."""
        return settings.queue(self.stage.value).zset_lease if self.has_queue else FETCH_LEASE_MS

    def max_deliveries(self, settings: Settings) -> int:
        """How many workers a message may cost before it is dead-lettered."""
        return settings.queue(self.stage.value).zset_max_deliveries if self.has_queue else QueueLimits().max_deliveries

    def workers(self, settings: Settings) -> int:
        """Concurrent handlers of one shift."""
        if self.has_queue:
            return settings.queue(self.stage.value).worker_count
        fetch = settings.fetch
        return fetch.high_worker_count + fetch.normal_worker_count + fetch.low_worker_count


PIPELINE: dict[Stage, StageRow] = {
    #                            topics, group, output          payload
    Stage.FETCH: StageRow(FACTS[Stage.FETCH], CrawlJob),
    Stage.PARSER: StageRow(FACTS[Stage.PARSER], RawContentRef),
    Stage.VALIDATE: StageRow(FACTS[Stage.VALIDATE], ContentRef),
    Stage.ENRICH: StageRow(FACTS[Stage.ENRICH], ContentRef),
}


def queue_limits(settings: Settings, stage: Stage) -> QueueLimits:
    """The bounds of a stage's queue."""
    queue = settings.queue(stage.value)
    return QueueLimits(
        max_size=queue.zset_max_size,
        entry_ttl_ms=queue.zset_entry_ttl,
        backpressure=queue.zset_overflow == "backpressure",
        max_deliveries=min(LEASES_PER_START * queue.zset_max_deliveries, MOST_DELIVERIES),
        max_wait_ms=queue.zset_max_wait,
        max_wait_share=queue.zset_max_wait_share,
    )


def topic_partitions(settings: Settings) -> dict[Topic, int]:
    """How many partitions each topic is created with."""
    kafka = settings.kafka
    by_name = {
        Topic.CRAWL_HIGH: kafka.partitions_high,
        Topic.CRAWL_NORMAL: kafka.partitions_normal,
        Topic.CRAWL_LOW: kafka.partitions_low,
        Topic.DLQ: kafka.partitions_dlq,
    }
    return {topic: by_name.get(topic, kafka.partitions_stage) for topic in Topic}
