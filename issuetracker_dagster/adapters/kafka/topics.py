"""The topics of the journey, created explicitly at start: a topic that Kafka makes by itself has the wrong shape."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, TopicAlreadyExistsError

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import (
    DLQ_MAX_MESSAGE_BYTES,
    MAX_MESSAGE_BYTES,
    KafkaConnection,
    failure_text,
    reaching,
)
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

_MAX_REPLICAS = 3
_CLUSTER_DEFAULT = -1
_VISIBLE_WITHIN_MS = 10_000


class TopicState(msgspec.Struct, frozen=True):
    """A topic after `ensure_topics`; `partitions` below `wanted` is for an operator to decide on."""

    topic: Topic
    partitions: int
    wanted: int
    created: bool


def ensure_topics(
    connection: KafkaConnection, partitions: Mapping[Topic, int], *, retention_ms: int
) -> Sequence[TopicState]:
    """Create what is missing, align retention and message size of what is there, and report each topic.

    Safe to repeat and to run twice at once. Partitions are never added to a topic that exists: the key decides the
    partition, so that one key's messages would be split over two. Raises `Unavailable`.
    """
    with reaching(connection, "creating topics"):
        admin = opened(KafkaAdminClient, connection.client_options())
        try:
            present = _partition_counts(admin, connection, partitions)
            missing = [topic for topic in partitions if topic not in present]
            replicas = _replicas(admin) if missing else 0
            for topic in missing:
                _create(admin, connection.topic_name(topic), partitions[topic], replicas, _configs(topic, retention_ms))
            if missing:
                admin.wait_for_topics([connection.topic_name(topic) for topic in missing], _VISIBLE_WITHIN_MS)
            _align(admin, connection, {topic: _configs(topic, retention_ms) for topic in present})
            found = _partition_counts(admin, connection, partitions)
        finally:
            admin.close()
    states = [TopicState(topic, found.get(topic, 0), wanted, topic in missing) for topic, wanted in partitions.items()]
    for state in states:
        if state.partitions != state.wanted:
            logger.warning(
                "topic %s has %d partitions, %d are set; it is left as it is, since adding some would split its keys",
                state.topic,
                state.partitions,
                state.wanted,
                extra=action("service.started", topic=state.topic, partitions=state.partitions),
            )
    return states


def _replicas(admin: KafkaAdminClient) -> int:
    """One on each of up to three brokers."""
    try:
        return min(_MAX_REPLICAS, len(admin.describe_cluster()["brokers"]))
    except KeyError:
        # The client stumbles over the answer of brokers before Kafka 3.7; those know their own default.
        return _CLUSTER_DEFAULT


def _configs(topic: Topic, retention_ms: int) -> dict[str, str]:
    largest = DLQ_MAX_MESSAGE_BYTES if topic is Topic.DLQ else MAX_MESSAGE_BYTES
    return {"retention.ms": str(retention_ms), "max.message.bytes": str(largest), "cleanup.policy": "delete"}


def _partition_counts(
    admin: KafkaAdminClient, connection: KafkaConnection, topics: Mapping[Topic, int]
) -> dict[Topic, int]:
    by_name = {connection.topic_name(topic): topic for topic in topics}
    described = admin.describe_topics(list(by_name))
    return {by_name[found["name"]]: len(found["partitions"]) for found in described if not found["error_code"]}


def _create(admin: KafkaAdminClient, name: str, partitions: int, replicas: int, configs: dict[str, str]) -> None:
    if replicas >= _MAX_REPLICAS:
        # With one replica in sync, acks=all would promise no more than acks=1.
        configs = {**configs, "min.insync.replicas": "2"}
    wanted = {"num_partitions": partitions, "replication_factor": replicas, "configs": configs}
    try:
        admin.create_topics({name: wanted})
    except TopicAlreadyExistsError:
        logger.info("topic %s was just created by another process", name)


def _align(admin: KafkaAdminClient, connection: KafkaConnection, wanted: Mapping[Topic, Mapping[str, str]]) -> None:
    """Set configs that differ. A cluster whose operator forbids it keeps its own, and the log says so."""
    if not wanted:
        return
    resources = [ConfigResource(ConfigResourceType.TOPIC, connection.topic_name(topic)) for topic in wanted]
    try:
        described: Mapping[str, Mapping[str, Any]] = admin.describe_configs(resources, config_filter="all")["topic"]
        for topic, configs in wanted.items():
            name = connection.topic_name(topic)
            differing = {
                key: value for key, value in configs.items() if described[name].get(key, {}).get("value") != value
            }
            if differing:
                admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, differing)])
                logger.info("topic %s: set %s", name, differing)
    except KafkaError as error:
        logger.warning(
            "%s", failure_text(connection, "setting topic configs", error), extra=action("kafka.unavailable")
        )
