"""Rules about Kafka: our topics as the settings want them, kept longer than anything may wait in a queue."""

from collections.abc import Iterator

from issuetracker_dagster.adapters.kafka.cluster_facts import ClusterFacts, TopicFacts
from issuetracker_dagster.adapters.kafka.connection import DLQ_MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES
from issuetracker_dagster.model.durations import exact_duration
from issuetracker_dagster.model.finding import Finding, fail, ok, warn
from issuetracker_dagster.model.stage import QUEUED_STAGES, Topic
from issuetracker_dagster.pipeline import topic_partitions
from issuetracker_dagster.settings.load import Settings

_FOR_EVER = -1
_AGAIN = "any start of a worker sets it; if the brokers forbid that, their operator has to"


def kafka_findings(facts: ClusterFacts, settings: Settings) -> Iterator[Finding]:
    """What is to say of the cluster and its topics: one line where all are well, else one for each that isn't."""
    version = f" {facts.version}" if facts.version else ", which doesn't tell its version"
    brokers = f", {facts.brokers} broker{'' if facts.brokers == 1 else 's'}" if facts.brokers else ""
    yield ok("kafka.version", f"Kafka{version}{brokers}")
    yield _existing(facts)
    if not facts.topics:
        return
    for rule, judge, well in (
        ("kafka.partitions", _partitions, "topics have the partitions that are set"),
        ("kafka.retention", _retention, "topics keep messages as long as is set, longer than any may wait in a queue"),
        ("kafka.message_size", _sizes, "message sizes are as wanted; letters fit into the DLQ"),
        ("kafka.replicas", _replicas, "topics are replicated as far as there are brokers"),
    ):
        found = [
            finding
            for topic, topic_facts in facts.topics.items()
            if (finding := judge(rule, topic, topic_facts, settings, facts.brokers))
        ]
        yield from found or [ok(rule, well)]


def _existing(facts: ClusterFacts) -> Finding:
    absent = [topic.value for topic in Topic if topic not in facts.topics]
    if len(absent) == len(Topic):
        return warn("kafka.topics", "there are no topics yet", "the first worker or `issuetracker publish` makes them")
    if absent:
        return fail("kafka.topics", f"topics are missing: {', '.join(absent)}", "restart the workers: they make them")
    return ok("kafka.topics", f"all {len(Topic)} topics are there")


def _partitions(rule: str, topic: Topic, facts: TopicFacts, settings: Settings, _: int) -> Finding | None:
    wanted = topic_partitions(settings)[topic]
    if facts.partitions == wanted:
        return None
    return warn(
        rule,
        f"{topic.value} has {facts.partitions} partitions, {wanted} are set (KAFKA_PARTITIONS_*)",
        f"set {facts.partitions}, or empty and delete the topic; partitions that are added would split its keys",
    )


def _retention(rule: str, topic: Topic, facts: TopicFacts, settings: Settings, _: int) -> Finding | None:
    kept, wanted = facts.retention_ms, settings.kafka.retention
    longest = max(settings.queue(stage.value).zset_entry_ttl for stage in QUEUED_STAGES)
    if kept is None:
        return None
    if kept != _FOR_EVER and kept <= longest:
        return fail(
            rule,
            f"{topic.value} keeps messages for {exact_duration(kept)}, entries may wait in a queue for "
            f"{exact_duration(longest)}: a queue that is lost couldn't be filled again",
            f"retention.ms of {wanted} (KAFKA_RETENTION); {_AGAIN}",
        )
    if kept != wanted:
        said = "for ever" if kept == _FOR_EVER else f"for {exact_duration(kept)}"
        return warn(rule, f"{topic.value} keeps messages {said}, KAFKA_RETENTION is {exact_duration(wanted)}", _AGAIN)
    return None


def _sizes(rule: str, topic: Topic, facts: TopicFacts, _: Settings, __: int) -> Finding | None:
    wanted = DLQ_MAX_MESSAGE_BYTES if topic is Topic.DLQ else MAX_MESSAGE_BYTES
    if facts.max_message_bytes is None or facts.max_message_bytes == wanted:
        return None
    said = f"{topic.value} takes messages of {facts.max_message_bytes} bytes, {wanted} are wanted"
    is_smaller = facts.max_message_bytes < wanted
    if is_smaller == (topic is Topic.DLQ):
        return fail(
            rule, f"{said}: the largest couldn't be dead-lettered whole", f"max.message.bytes of {wanted}; {_AGAIN}"
        )
    return warn(rule, said, _AGAIN)


def _replicas(rule: str, topic: Topic, facts: TopicFacts, _: Settings, brokers: int) -> Finding | None:
    if brokers < 2 or facts.replicas > 1:
        return None
    return warn(
        rule,
        f"{topic.value} lies on one of {brokers} brokers only, and is gone with it",
        "reassign its partitions with a replication factor of up to 3",
    )
