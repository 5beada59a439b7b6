"""How messages get into Kafka: all of a batch at once, then waiting until the broker has acknowledged each."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from kafka import KafkaProducer
from kafka.errors import KafkaError, MessageSizeTooLargeError, RecordListTooLargeError

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import (
    CLOSE_TIMEOUT_MS,
    DLQ_MAX_MESSAGE_BYTES,
    MAX_MESSAGE_BYTES,
    KafkaConnection,
    failure_text,
)
from issuetracker_dagster.adapters.kafka.letting_go import let_go
from issuetracker_dagster.adapters.kafka.partitioner import KeyPartitioner
from issuetracker_dagster.errors import PublishFailed, RecordsRefused
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

_TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)


class _Acknowledgement(Protocol):
    """What is used of the client's future."""

    is_done: bool
    exception: BaseException | None

    def get(self, timeout: float | None = None) -> object: ...


class KafkaTopicProducer:
    """`Producer` with acks from all replicas and idempotence. Thread-safe; connects at the first `publish`.

    `timeout_ms` bounds the wait for acknowledgements; connecting takes up to three seconds more. `linger_ms` is for who
    publishes by the batch: the client sends nothing before all of it is there, or for so long, so that a batch is one
    request. Without it the first record goes alone, and the next request waits for its answer.
    """

    def __init__(self, connection: KafkaConnection, *, timeout_ms: int = 30_000, linger_ms: int = 0) -> None:
        self._connection = connection
        self._timeout_ms = timeout_ms
        self._linger_ms = linger_ms
        self._lock = threading.Lock()
        self._client: KafkaProducer | None = None

    def publish(self, records: Sequence[Outgoing]) -> None:
        """As the port says."""
        if not records:
            return
        suspects = self._attempt(records)
        refused: list[Outgoing] = []
        for place, suspect in enumerate(suspects):
            # The client aborts whatever is in flight, of all threads, together with the one record that the broker
            # refuses: each is tried again alone before it counts as too large.
            try:
                refused += self._attempt([suspect])
            except PublishFailed as error:
                missing = set(map(id, (*refused, *suspects[place:])))
                arrived = [record for record in records if id(record) not in missing]
                raise PublishFailed(str(error), arrived=arrived) from error
        if refused:
            raise _refusal(refused)

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            self._close(client, CLOSE_TIMEOUT_MS / 1000)

    def _attempt(self, records: Sequence[Outgoing]) -> list[Outgoing]:
        """Send, wait, and return those that came back as too large; raises `PublishFailed`."""
        client = self._connected(records[0].topic)
        too_large: list[Outgoing] = []
        sent: list[tuple[Outgoing, _Acknowledgement]] = []
        deadline = time.monotonic() + self._timeout_ms / 1000
        current = records[0]
        spoilt = False
        try:
            for current in records:
                if _exceeds_topic(current):
                    too_large.append(current)
                else:
                    sent.append((current, self._send(client, current)))
            if self._linger_ms:
                client.flush(self._timeout_ms / 1000)
            for current, future in sent:
                try:
                    # Most are done by the time the first one is; asking them is much cheaper than waiting.
                    if not future.is_done:
                        future.get(max(0.0, deadline - time.monotonic()))
                    elif future.exception is not None:
                        raise future.exception
                except _TOO_LARGE:
                    spoilt = True
                    too_large.append(current)
        except KafkaError as error:
            # A partition without a leader keeps nobody else's records from arriving.
            arrived = [record for record, future in sent if future.is_done and future.exception is None]
            # A client whose batch expired doesn't deliver anything after it, not even when the broker is back.
            self._drop(client)
            text = failure_text(self._connection, f"publishing to {current.topic}", error)
            raise PublishFailed(text, arrived=arrived) from error
        if spoilt:
            self._drop(client)
        return too_large

    def _send(self, client: KafkaProducer, record: Outgoing) -> _Acknowledgement:
        return client.send(
            self._connection.topic_name(record.topic), value=record.value, key=record.key, headers=list(record.headers)
        )

    def _connected(self, topic: str) -> KafkaProducer:
        with self._lock:
            if self._client is None:
                try:
                    self._client = self._open()
                except KafkaError as error:
                    raise PublishFailed(failure_text(self._connection, f"publishing to {topic}", error)) from error
            return self._client

    def _open(self) -> KafkaProducer:
        options = {
            **self._connection.client_options(),
            "acks": "all",
            "enable_idempotence": True,
            "allow_auto_create_topics": False,
            # Above the largest topic limit, so that the broker and not the client judges the last few bytes.
            "max_request_size": DLQ_MAX_MESSAGE_BYTES + 64 * 1024,
            "max_block_ms": min(self._timeout_ms, 10_000),
            "delivery_timeout_ms": self._timeout_ms,
            "linger_ms": self._linger_ms,
            "partitioner": KeyPartitioner(),
            "metrics_enabled": False,
        }
        # The client insists that one request may not outlast the delivery.
        options["request_timeout_ms"] = min(options["request_timeout_ms"], self._timeout_ms - self._linger_ms)
        return opened(KafkaProducer, options)

    def _drop(self, client: KafkaProducer) -> None:
        """Replace a client that failed; whatever it still holds fails with it, for all threads that wait."""
        with self._lock:
            if self._client is not client:
                return
            self._client = None
        self._close(client, 0)

    def _close(self, client: KafkaProducer, timeout_s: float) -> None:
        try:
            let_go(client, timeout_s)
        except KafkaError as error:
            # Nobody waits for these records any more: each publish has returned or has raised.
            logger.warning(
                "%s",
                failure_text(self._connection, "closing the producer", error),
                extra=action("kafka.unavailable"),
            )


def _exceeds_topic(record: Outgoing) -> bool:
    """Whether the record's bytes alone are more than its topic takes; the few bytes around them the broker counts."""
    limit = DLQ_MAX_MESSAGE_BYTES if record.topic == Topic.DLQ else MAX_MESSAGE_BYTES
    size = len(record.value) + len(record.key or b"")
    return size + sum(len(name) + len(value) for name, value in record.headers) > limit


def _refusal(records: Sequence[Outgoing]) -> RecordsRefused:
    first = records[0]
    more = f", and so are {len(records) - 1} more of its batch" if len(records) > 1 else ""
    words = f"a record of {len(first.value)} bytes is larger than {first.topic} accepts{more}"
    return RecordsRefused(words, refused=records)
