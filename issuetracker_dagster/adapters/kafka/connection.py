"""Where Kafka is and how to reach it; every client of this package is built from one of these values."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka.errors import KafkaError

from issuetracker_dagster.adapters.kafka.clients import CLOSING
from issuetracker_dagster.adapters.kafka.header_names import accept_any_header_names
from issuetracker_dagster.errors import TransientError, Unavailable

DEFAULT_TOPIC_PREFIX = "issuetracker."
MAX_MESSAGE_BYTES = 1_048_588
"""Largest record batch of every topic but the DLQ: Kafka's own default, set explicitly so that a cluster with a larger
one can't fill a topic with messages that don't fit into the DLQ."""
DLQ_MAX_MESSAGE_BYTES = 2 * 1024 * 1024
"""The same for the DLQ: any message of another topic still fits with its dead-letter headers."""

BOOTSTRAP_TIMEOUT_MS = 3_000
CLOSE_TIMEOUT_MS = 5_000


@dataclass(frozen=True)
class KafkaConnection:
    """A Kafka cluster. `options` are kafka-python's names (`security_protocol`, `sasl_*`, `ssl_*` and the like).

    The representation leaves `options` out, since they hold passwords.
    """

    bootstrap: str
    topic_prefix: str = DEFAULT_TOPIC_PREFIX
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def topic_name(self, topic: str) -> str:
        """The name in Kafka of a short topic name."""
        return self.topic_prefix + topic

    def short_name(self, topic_name: str) -> str:
        """The short name of a topic in Kafka; a topic of somebody else keeps its name."""
        return topic_name.removeprefix(self.topic_prefix)

    def client_options(self) -> dict[str, Any]:
        """What every client of kafka-python is given; `options` win over these defaults."""
        return {
            "bootstrap_servers": [server.strip() for server in self.bootstrap.split(",") if server.strip()],
            "client_id": "issuetracker",
            "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
            # The client's own 30 s would leave a reader blind for half a minute after the broker is back. It bounds
            # tries that are refused. A connection that is accepted and closed again, as by a load balancer with no
            # broker behind it, counts as made: the next follows at once, about a hundred a second, and no setting of
            # the client bounds that.
            "reconnect_backoff_max_ms": 1_000,
            "request_timeout_ms": 10_000,
            "proxy_url": CLOSING,
            **self.options,
        }

    def consumer_options(self) -> dict[str, Any]:
        """What every consumer is given; from here on odd header names are read, too."""
        accept_any_header_names()
        return {
            "enable_auto_commit": False,
            "allow_auto_create_topics": False,
            # Neither value: a position that retention removed must surface, not jump to one end silently.
            "auto_offset_reset": "none",
            "max_partition_fetch_bytes": DLQ_MAX_MESSAGE_BYTES + 64 * 1024,
            # A cap on broken answers only: the stand-in broker ignores the byte limits of a fetch, and its answers are
            # as large as what waits.
            "receive_message_max_bytes": 1_000_000_000,
            # Partitions added while we run are seen within this time.
            "metadata_max_age_ms": 10_000,
            "metrics_enabled": False,
            **self.client_options(),
        }


def failure_text(connection: KafkaConnection, doing: str, error: BaseException) -> str:
    """One line for people: what failed, why, and which setting says where Kafka should be. Never a password."""
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    for name, value in connection.options.items():
        if ("password" in name or "secret" in name) and isinstance(value, str) and value:
            reason = reason.replace(value, "***")
    return f"{doing} failed: {reason}; Kafka is expected at {connection.bootstrap} (KAFKA_BOOTSTRAP_SERVERS)"


@contextmanager
def reaching(connection: KafkaConnection, doing: str, raising: type[TransientError] = Unavailable) -> Iterator[None]:
    """Turn what kafka-python raises into `raising`, with a text that names the address and its setting."""
    try:
        yield
    except KafkaError as error:
        raise raising(failure_text(connection, doing, error)) from error
