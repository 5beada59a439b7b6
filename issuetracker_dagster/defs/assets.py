"""Buffers, topics, queues and tables as external assets, in the lineage of the journey, and beside it the servers that
hold them. Dagster never makes them."""

from collections.abc import Iterator, Mapping

import dagster as dg

from issuetracker_dagster.defs.asset_facts import (
    BUFFER_GUIDE,
    FIGURES_GUIDE,
    HISTORY_GUIDE,
    LETTERS_GUIDE,
    OUTAGES_GUIDE,
    QUEUE_GUIDE,
    RULES_GUIDE,
    SEEDS_GUIDE,
    described,
)
from issuetracker_dagster.model.queue import QueueDepth
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.losses import FRONTIER as WAITING_LINES
from issuetracker_dagster.wiring.losses import HOLDINGS, RETRY_SET, holding_of
from issuetracker_dagster.wiring.servers import KAFKA, REDIS, SQL

RETRIES = dg.AssetKey(["redis", "retries"])
FRONTIER = dg.AssetKey(["redis", "frontier"])
BUFFERED = (Topic.CRAWL_NORMAL, Topic.CRAWL_LOW)

SERVERS: dict[str, tuple[str, tuple[str, ...]]] = {
    KAFKA: ("Kafka, which carries the messages.", ("KAFKA_BOOTSTRAP_SERVERS", "KAFKA_SECURITY_PROTOCOL")),
    REDIS: ("Redis, which orders the work and keeps what waits.", ("REDIS_URL", "REDIS_CLUSTER")),
    SQL: ("The database of rules, pages and results.", ("DATABASE_URL",)),
}

TABLES: dict[str, tuple[Stage, ...]] = {
    "raw_contents": (Stage.FETCH,),
    "contents": (Stage.PARSER, Stage.VALIDATE),
    "enriched_contents": (Stage.ENRICH,),
    "issues": (Stage.ENRICH,),
}
"""Tables of results and the stages that write them."""


def topic_key(topic: Topic) -> dg.AssetKey:
    """`kafka/<topic>`, with the dot of crawl topics as an underscore."""
    return dg.AssetKey(["kafka", topic.value.replace(".", "_")])


def queue_key(stage: Stage) -> dg.AssetKey:
    """`redis/<stage>_queue`."""
    return dg.AssetKey(["redis", f"{stage.value}_queue"])


def buffer_key(topic: Topic) -> dg.AssetKey:
    """`redis/buffer_normal` of `crawl.normal`, `redis/buffer_low` of `crawl.low`."""
    return dg.AssetKey(["redis", f"buffer_{topic.value.rpartition('.')[2]}"])


def table_key(name: str) -> dg.AssetKey:
    """`sql/<table>`."""
    return dg.AssetKey(["sql", name])


def server_key(server: str) -> dg.AssetKey:
    """`servers/kafka`, `servers/redis`, `servers/sql`."""
    return dg.AssetKey(["servers", server])


def _inputs(stage: Stage) -> list[dg.AssetKey]:
    """What a stage's results come from: its queue, or its topics and what waited for its host."""
    if stage in QUEUED_STAGES:
        return [queue_key(stage)]
    return [*(topic_key(topic) for topic in FACTS[stage].inputs), FRONTIER]


def asset_specs(settings: Settings) -> list[dg.AssetSpec]:
    """Every external asset: servers, seeds, buffers, topics, queues, tables; in groups that follow each other as stages
    do."""
    return [
        *_server_specs(),
        *_entry_specs(),
        *_buffer_specs(),
        *_topic_specs(settings),
        *_queue_specs(settings),
        *_waiting_specs(),
        *_table_specs(),
    ]


def _server_specs() -> Iterator[dg.AssetSpec]:
    for server, (said, variables) in SERVERS.items():
        yield dg.AssetSpec(server_key(server), **described(server, "servers", said, OUTAGES_GUIDE, *variables))


def _entry_specs() -> Iterator[dg.AssetSpec]:
    seeds, rules = "scheduler_entries", "parser_rules"
    said = "Seeds: entry URLs and when they are due."
    variables = ("STAGES_SCHEDULER_ENABLED", "SCHEDULER_MAX_BACKLOG")
    yield dg.AssetSpec(table_key(seeds), **described("sql", "entry", said, SEEDS_GUIDE, *variables, table=seeds))
    said = "Rules: how pages are read, and with which priority they are crawled."
    variables = ("PRIORITY_RULES_REFRESH_INTERVAL", "PRIORITY_RULES_LOAD_LIMIT")
    yield dg.AssetSpec(table_key(rules), **described("sql", "entry", said, RULES_GUIDE, *variables, table=rules))


def _buffer_specs() -> Iterator[dg.AssetSpec]:
    variables = [f"PUBLISHER_REDIS_BUFFER_{name}" for name in ("ENABLED", "TARGET_BACKLOG", "DRAIN_BATCH", "MAX_LEN")]
    for topic in BUFFERED:
        said = f"Jobs that wait until {topic.value} is short enough, in the order of their publishing."
        deps = [table_key("scheduler_entries"), table_key("parser_rules")]
        facts = described("redis", "fetch", said, BUFFER_GUIDE, *variables, key=HOLDINGS[holding_of(topic)])
        yield dg.AssetSpec(buffer_key(topic), deps=deps, **facts)


def _topic_specs(settings: Settings) -> Iterator[dg.AssetSpec]:
    readers = {topic: facts.group for facts in FACTS.values() for topic in facts.inputs}

    def topic_spec(
        topic: Topic, group: str, deps: list[dg.AssetKey], said: str, partitions: str, guide: str = FIGURES_GUIDE
    ) -> dg.AssetSpec:
        places = {"topic": settings.kafka.topic_prefix + topic.value}
        places |= {"read_by_group": readers[topic]} if topic in readers else {}
        variables = (f"KAFKA_PARTITIONS_{partitions}", "KAFKA_RETENTION")
        return dg.AssetSpec(topic_key(topic), deps=deps, **described("kafka", group, said, guide, *variables, **places))

    for priority, topic in CRAWL_TOPICS.items():
        deps = [table_key("scheduler_entries"), table_key("parser_rules")]
        deps += [buffer_key(topic)] if topic in BUFFERED else []
        said = f"Crawl jobs of {priority.label} priority."
        yield topic_spec(topic, "fetch", deps, said, priority.name)
    for stage in Stage:
        said = f"What {stage.value} passed on."
        yield topic_spec(FACTS[stage].output, stage.value, _inputs(stage), said, "STAGE")
    said = "Messages that can't go on, byte for byte, with the reason in their headers."
    deps = list(dict.fromkeys([*(key for stage in Stage for key in _inputs(stage)), *map(buffer_key, BUFFERED)]))
    yield topic_spec(Topic.DLQ, "dead_letters", deps, said, "DLQ", LETTERS_GUIDE)


def _queue_specs(settings: Settings) -> Iterator[dg.AssetSpec]:
    for stage in QUEUED_STAGES:
        names = ("PRIORITY_QUEUE_ENABLED", "ZSET_QUEUE_KEY", "ZSET_MAX_SIZE", "ZSET_ENTRY_TTL", "ZSET_MAX_WAIT")
        variables = [f"{stage.name}_{name}" for name in names]
        said = f"The priority queue of {stage.value}: high before normal before low, oldest first."
        key = settings.queue(stage.value).zset_queue_key
        facts = described("redis", stage.value, said, QUEUE_GUIDE, *variables, key=key)
        yield dg.AssetSpec(queue_key(stage), deps=[topic_key(topic) for topic in FACTS[stage].inputs], **facts)


def _waiting_specs() -> Iterator[dg.AssetSpec]:
    said = "Crawl jobs that wait until their host may be asked."
    facts = described("redis", "fetch", said, OUTAGES_GUIDE, "FETCH_ROBOTS", key=HOLDINGS[WAITING_LINES])
    yield dg.AssetSpec(FRONTIER, deps=[topic_key(topic) for topic in FACTS[Stage.FETCH].inputs], **facts)
    said = "Failed messages that wait for their next attempt."
    variables = ("RETRY_MAX_ATTEMPTS", "RETRY_BASE", "RETRY_CAP", "RECRAWL_MAX")
    facts = described("redis", "retries", said, OUTAGES_GUIDE, *variables, key=HOLDINGS[RETRY_SET])
    yield dg.AssetSpec(RETRIES, deps=[key for stage in Stage for key in _inputs(stage)], **facts)


def _table_specs() -> Iterator[dg.AssetSpec]:
    said = {
        "raw_contents": "Pages as they were fetched, to which messages refer.",
        "contents": "Articles and posts that parser read from pages, with the verdict of validate.",
        "enriched_contents": "What enrich found in a content: keywords, names, claims, trust.",
        "issues": "Clusters of contents about one event.",
    }
    read = {
        "contents": ("raw_contents", "parser_rules"),
        "enriched_contents": ("contents",),
        "issues": ("contents",),
    }
    variables = {"raw_contents": ("PURGE_RAW_CONTENTS_AFTER",)}
    for name, stages in TABLES.items():
        deps = [key for stage in stages for key in _inputs(stage)] + [table_key(table) for table in read.get(name, ())]
        # The last stage that writes it: with the first one an arrow between the groups would lead back.
        group, guide = stages[-1].value, HISTORY_GUIDE if name in variables else FIGURES_GUIDE
        facts = described("sql", group, said[name], guide, *variables.get(name, ()), table=name)
        yield dg.AssetSpec(table_key(name), deps=deps, **facts)


def lag_observations(lags: Mapping[Topic, int]) -> Iterator[dg.AssetObservation]:
    """Unread messages of each topic, as runless events."""
    for topic, lag in lags.items():
        yield dg.AssetObservation(topic_key(topic), metadata={"lag": lag})


def queue_observations(depths: Mapping[Stage, QueueDepth]) -> Iterator[dg.AssetObservation]:
    """The depth of each queue, as runless events."""
    for stage, depth in depths.items():
        yield dg.AssetObservation(
            queue_key(stage),
            metadata={
                **{f"ready_{priority.label}": band.ready for priority, band in depth.bands.items()},
                "leased": depth.leased,
                "delayed": depth.delayed,
                "outbox": depth.outbox,
                "oldest_age_s": max((band.oldest_age_ms for band in depth.bands.values()), default=0) / 1000,
            },
        )


def table_observations(counts: Mapping[str, int]) -> Iterator[dg.AssetObservation]:
    """The rows of each table, as runless events."""
    for name in TABLES:
        yield dg.AssetObservation(table_key(name), metadata={"rows": counts.get(name, 0)})
