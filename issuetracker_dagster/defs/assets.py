"""Buffers, topics, queues and tables as external assets, in the lineage of the journey. Dagster never makes them."""

from collections.abc import Iterator, Mapping

import dagster as dg

from issuetracker_dagster.model.queue import QueueDepth
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, QUEUED_STAGES, Stage, Topic

BUFFERED = (Topic.CRAWL_NORMAL, Topic.CRAWL_LOW)

TABLES: dict[str, tuple[Stage, ...]] = {
    "raw_contents": (Stage.FETCH,),
    "contents": (Stage.PARSER, Stage.VALIDATE),
    "enriched_contents": (Stage.ENRICH,),
    "issues": (Stage.ENRICH,),
}


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


def _inputs(stage: Stage) -> list[dg.AssetKey]:
    """What a stage's results come from: its queue, or its topics when it has none."""
    if stage in QUEUED_STAGES:
        return [queue_key(stage)]
    return [topic_key(topic) for topic in FACTS[stage].inputs]


def asset_specs() -> list[dg.AssetSpec]:
    """Every external asset: seeds, buffers, topics, queues, tables."""
    return [
        dg.AssetSpec(
            table_key("scheduler_entries"),
            description="Seeds: entry URLs and when they are due.",
            kinds={"sql"},
            group_name="entry",
        ),
        dg.AssetSpec(
            table_key("parser_rules"),
            description="Rules: how pages are read, and with which priority they are crawled.",
            kinds={"sql"},
            group_name="entry",
        ),
        *_buffer_specs(),
        *_topic_specs(),
        *_queue_specs(),
        *_table_specs(),
    ]


def _buffer_specs() -> Iterator[dg.AssetSpec]:
    for topic in BUFFERED:
        yield dg.AssetSpec(
            buffer_key(topic),
            deps=[table_key("scheduler_entries")],
            description=f"Jobs that wait until {topic.value} is short enough, in the order of their publishing.",
            kinds={"redis"},
            group_name="fetch",
        )


def _topic_specs() -> Iterator[dg.AssetSpec]:
    for priority, topic in CRAWL_TOPICS.items():
        yield dg.AssetSpec(
            topic_key(topic),
            deps=[
                table_key("scheduler_entries"),
                table_key("parser_rules"),
                *([buffer_key(topic)] if topic in BUFFERED else []),
            ],
            description=f"Crawl jobs of {priority.label} priority.",
            kinds={"kafka"},
            group_name="fetch",
        )
    for stage in Stage:
        yield dg.AssetSpec(
            topic_key(FACTS[stage].output),
            deps=_inputs(stage),
            description=f"What {stage.value} passed on.",
            kinds={"kafka"},
            group_name=stage.value,
        )
    yield dg.AssetSpec(
        topic_key(Topic.DLQ),
        deps=[*(key for stage in Stage for key in _inputs(stage)), *map(buffer_key, BUFFERED)],
        description="Messages that can't go on, byte for byte, with the reason in their headers.",
        kinds={"kafka"},
        group_name="dead_letters",
    )


def _queue_specs() -> Iterator[dg.AssetSpec]:
    for stage in QUEUED_STAGES:
        yield dg.AssetSpec(
            queue_key(stage),
            deps=[topic_key(topic) for topic in FACTS[stage].inputs],
            description=f"The priority queue of {stage.value}: high before normal before low, oldest first.",
            kinds={"redis"},
            group_name=stage.value,
        )


def _table_specs() -> Iterator[dg.AssetSpec]:
    for name, stages in TABLES.items():
        yield dg.AssetSpec(
            table_key(name),
            deps=[key for stage in stages for key in _inputs(stage)],
            description=f"Rows written by {' and '.join(stage.value for stage in stages)}.",
            kinds={"sql"},
            group_name=stages[0].value,
        )


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
