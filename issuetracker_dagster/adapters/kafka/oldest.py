"""Since when the oldest message that a group hasn't read waits: a short line may be an old one."""

import threading
import time

from kafka import KafkaConsumer

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import CLOSE_TIMEOUT_MS, KafkaConnection, failure_text, reaching
from issuetracker_dagster.adapters.kafka.offsets import GroupOffsets
from issuetracker_dagster.adapters.kafka.unread import stand_at_unread
from issuetracker_dagster.errors import LagUnknown

_POLL_MS = 200
_BATCH_BYTES = 16 * 1024
"""One record of each partition is enough; a larger batch comes whole all the same."""
_ALL_THAT_CAME = 1_000_000
"""What a poll leaves of a partition that is paused right after it, the client holds back for ever, and with it the
partition: the next look at the same topic would wait for it in vain."""


class KafkaOldest:
    """Reads one unread record of each partition, with clients that stay open; commits nothing and joins no group.

    Thread-safe; connects at the first call. `timeout_ms` bounds each question to the broker.
    """

    def __init__(self, connection: KafkaConnection, *, timeout_ms: int = 2_000) -> None:
        self._connection = connection
        self._timeout_ms = timeout_ms
        self._lock = threading.Lock()
        self._clients: tuple[KafkaConsumer, GroupOffsets] | None = None

    def unread_since_ms(self, group: str, topic: str) -> int | None:
        """When the oldest unread message came into the topic, by its record; None when all is read or there is no such
        topic. Raises `LagUnknown`."""
        doing = f"looking for the oldest unread message in {topic}"
        with self._lock, reaching(self._connection, doing, LagUnknown):
            consumer, offsets = self._open()
            left = set(stand_at_unread(self._connection, consumer, offsets, group, topic, timeout_ms=self._timeout_ms))
            # One that was asked for before is still paused: neither assigning it again nor seeking in it changes that.
            consumer.resume(*left)
            found: list[int] = []
            deadline = time.monotonic() + self._timeout_ms / 1000
            while left:
                for partition, records in consumer.poll(timeout_ms=_POLL_MS).items():
                    found.append(records[0].timestamp)
                    left.discard(partition)
                    consumer.pause(partition)
                if left and time.monotonic() > deadline:
                    slow = TimeoutError(f"no record within {self._timeout_ms} ms")
                    raise LagUnknown(failure_text(self._connection, doing, slow))
            return min(found, default=None)

    def close(self) -> None:
        """Let go of the clients."""
        with self._lock:
            if self._clients is not None:
                consumer, offsets = self._clients
                offsets.close()
                consumer.close(autocommit=False, timeout_ms=CLOSE_TIMEOUT_MS)
                self._clients = None

    def _open(self) -> tuple[KafkaConsumer, GroupOffsets]:
        if self._clients is None:
            options = {
                **self._connection.consumer_options(),
                "max_partition_fetch_bytes": _BATCH_BYTES,
                "max_poll_records": _ALL_THAT_CAME,
            }
            offsets = GroupOffsets(self._connection, timeout_ms=self._timeout_ms)
            self._clients = opened(KafkaConsumer, options), offsets
        return self._clients
