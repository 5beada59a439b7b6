"""A message goes to the partition to which any other client of Kafka would send it: order of a host depends on it."""

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner import DefaultPartitioner

from issuetracker_dagster.adapters.kafka.partitioner import KeyPartitioner


class Cluster:
    """What partitioners ask of the client's metadata, for one topic."""

    def __init__(self, partitions: set[int]) -> None:
        self._partitions = partitions

    def topics(self) -> set[str]:
        return {"crawl"}

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self._partitions

    available_partitions_for_topic = partitions_for_topic


@given(key=st.binary(max_size=40), count=st.integers(1, 12))
def test_it_is_the_clients_own_choice(key: bytes, count: int) -> None:
    asked = ("crawl", key, key, b"", b"", Cluster(set(range(count))))
    for _ in range(2):
        assert KeyPartitioner().partition(*asked) == DefaultPartitioner().partition(*asked)


def test_without_a_key_any_partition_will_do() -> None:
    assert KeyPartitioner().partition("crawl", None, None, b"", b"", Cluster({3})) == 3
