"""What a Kafka cluster says of itself and of our topics, for `issuetracker doctor`."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import KafkaConnection, reaching
from issuetracker_dagster.model.stage import Topic


class TopicFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A topic as it is. `retention_ms` -1 keeps records for ever; None is what the brokers don't tell."""

    partitions: int
    replicas: int
    retention_ms: int | None
    max_message_bytes: int | None


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster; topics that don't exist are left out. `version` is empty and `brokers` 0 where nobody says."""

    brokers: int
    version: str
    topics: Mapping[Topic, TopicFacts]


def cluster_facts(connection: KafkaConnection) -> ClusterFacts:
    """Asks nothing but descriptions; raises `Unavailable`."""
    with reaching(connection, "asking the cluster about itself"):
        admin = opened(KafkaAdminClient, connection.client_options())
        try:
            brokers = _brokers(admin)
            return ClusterFacts(
                brokers=len(brokers), version=_version(admin, brokers), topics=_topics(admin, connection)
            )
        finally:
            admin.close()


def _brokers(admin: KafkaAdminClient) -> list[int]:
    try:
        return [int(broker["broker_id"]) for broker in admin.describe_cluster()["brokers"]]
    except KeyError:
        return []  # the client stumbles over the answer of brokers before Kafka 3.7


def _version(admin: KafkaAdminClient, brokers: list[int]) -> str:
    if not brokers:
        return ""
    ask: Callable[[int], Any] = admin.get_broker_version_data
    found = ask(brokers[0])
    return ".".join(map(str, found.broker_version or ()))


def _topics(admin: KafkaAdminClient, connection: KafkaConnection) -> dict[Topic, TopicFacts]:
    by_name = {connection.topic_name(topic): topic for topic in Topic}
    described = [found for found in admin.describe_topics(list(by_name)) if not found["error_code"]]
    if not described:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, found["name"]) for found in described]
    configs: Mapping[str, Mapping[str, Any]] = admin.describe_configs(resources, config_filter="all")["topic"]

    def number(name: str, key: str) -> int | None:
        told = configs.get(name, {}).get(key, {}).get("value")
        return None if told is None else int(told)

    return {
        by_name[found["name"]]: TopicFacts(
            partitions=len(found["partitions"]),
            replicas=min((len(partition["replica_nodes"]) for partition in found["partitions"]), default=0),
            retention_ms=number(found["name"], "retention.ms"),
            max_message_bytes=number(found["name"], "max.message.bytes"),
        )
        for found in described
    }
