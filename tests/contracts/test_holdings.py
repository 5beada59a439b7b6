"""Pausing and resuming by two threads at once: the client's, which assigns partitions, and the one that polls."""

import threading
from typing import Any

from kafka import TopicPartition as KafkaPartition

from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.adapters.kafka.rebalance import Holdings

PARTITION = KafkaPartition("t.fetched", 0)


class Client:
    """The part of a consumer that pauses; `pause` lets another thread go first, if it can, before it has an effect."""

    def __init__(self) -> None:
        self.is_paused = False
        self.pausing = threading.Event()
        self.resumed = threading.Event()

    def pause(self, _partition: KafkaPartition) -> None:
        self.pausing.set()
        self.resumed.wait(0.3)
        self.is_paused = True

    def resume(self, _partition: KafkaPartition) -> None:
        self.is_paused = False
        self.resumed.set()


def test_a_partition_that_is_assigned_while_its_topic_is_resumed_is_not_left_paused() -> None:
    holdings, client = Holdings(KafkaConnection("127.0.0.1:1", "t.")), Client()
    holdings.pause(["fetched"])
    assigning = threading.Thread(target=holdings.apply, args=(client, [PARTITION]))
    assigning.start()
    assert client.pausing.wait(5)
    holdings.resume(["fetched"])
    holdings.apply(client, [PARTITION])  # type: ignore[arg-type]
    assigning.join(5)
    assert not client.is_paused


def test_a_partition_that_has_gone_meanwhile_disturbs_nobody() -> None:
    class Gone:
        def pause(self, partition: KafkaPartition) -> None:
            raise KeyError(partition)

        resume = pause

    consumer: Any = Gone()
    holdings = Holdings(KafkaConnection("127.0.0.1:1", "t."))
    holdings.apply(consumer, [PARTITION])
    holdings.pause(["fetched"])
    holdings.apply(consumer, [PARTITION])
