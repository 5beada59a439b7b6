"""The partition of a record by its key: the client's own choice, with hashes of keys remembered, as hosts repeat."""

from functools import lru_cache
from typing import Any

from kafka.partitioner import DefaultPartitioner
from kafka.partitioner.default import murmur2

KEYS = 8_192
"""Hashes that are remembered; some 100 bytes each."""


class KeyPartitioner(DefaultPartitioner):
    """As the client's own and Java's: murmur2 of the key, without its sign, modulo the partitions."""

    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Any,
    ) -> int:
        partitions = cluster.partitions_for_topic(topic)
        if serialized_key is None or not partitions:
            partition: int = super().partition(topic, key, serialized_key, value, serialized_value, cluster)
            return partition
        chosen: int = sorted(partitions)[_positive_hash(serialized_key) % len(partitions)]
        return chosen


@lru_cache(KEYS)
def _positive_hash(key: bytes) -> int:
    return int(murmur2(key)) & 0x7FFFFFFF
