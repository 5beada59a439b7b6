"""Names of stages and topics, and the facts about a stage that never depend on settings."""

from enum import StrEnum

import msgspec

from issuetracker_dagster.model.priority import Priority


class Stage(StrEnum):
    """The four stages in the order of the journey."""

    FETCH = "fetch"
    PARSER = "parser"
    VALIDATE = "validate"
    ENRICH = "enrich"


QUEUED_STAGES = (Stage.PARSER, Stage.VALIDATE, Stage.ENRICH)
"""Stages with a priority queue in Redis; fetch reads its three topics and keeps a frontier a host."""


class Topic(StrEnum):
    """Short topic names; the prefix is a setting."""

    CRAWL_HIGH = "crawl.high"
    CRAWL_NORMAL = "crawl.normal"
    CRAWL_LOW = "crawl.low"
    FETCHED = "fetched"
    NORMALIZED = "normalized"
    VALIDATED = "validated"
    ENRICHED = "enriched"
    DLQ = "dlq"


CRAWL_TOPICS = {
    Priority.HIGH: Topic.CRAWL_HIGH,
    Priority.NORMAL: Topic.CRAWL_NORMAL,
    Priority.LOW: Topic.CRAWL_LOW,
}
BAND_OF_TOPIC = {topic: priority for priority, topic in CRAWL_TOPICS.items()}
"""The priority of a topic that has only one."""


class StageFacts(msgspec.Struct, frozen=True):
    """`inputs` are read by `group`; what the stage forwards goes to `output`."""

    stage: Stage
    inputs: tuple[Topic, ...]
    group: str
    output: Topic


FACTS = {
    Stage.FETCH: StageFacts(Stage.FETCH, tuple(CRAWL_TOPICS.values()), "issuetracker-crawler-workers", Topic.FETCHED),
    Stage.PARSER: StageFacts(Stage.PARSER, (Topic.FETCHED,), "issuetracker-parsers", Topic.NORMALIZED),
    Stage.VALIDATE: StageFacts(Stage.VALIDATE, (Topic.NORMALIZED,), "issuetracker-validators", Topic.VALIDATED),
    Stage.ENRICH: StageFacts(Stage.ENRICH, (Topic.VALIDATED,), "issuetracker-enrichers", Topic.ENRICHED),
}


def input_topic(stage: Stage, priority: Priority) -> Topic:
    """The topic from which `stage` reads a message of `priority`; where its retry goes."""
    return CRAWL_TOPICS[priority] if stage is Stage.FETCH else FACTS[stage].inputs[0]
