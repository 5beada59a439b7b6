"""A terminal whose settings name real servers, under topics of its own."""

import uuid
from dataclasses import dataclass

import pytest

from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Origin
from issuetracker_dagster.model.payload import ContentRef, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, queue_entry
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.cli.terminal import Terminal

NOBODY = "127.0.0.1:1"
"""An address at which nothing answers."""


@dataclass
class Operator:
    """Somebody at a terminal, and what the product has open beside."""

    terminal: Terminal
    wiring: Wiring


def at_servers(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, redis_url: str, kafka: str = NOBODY) -> Operator:
    """An operator of these servers; without Kafka its address is one where nobody answers."""
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    monkeypatch.setenv("KAFKA_TOPIC_PREFIX", f"t{uuid.uuid4().hex[:8]}.")
    for kind in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ"):
        monkeypatch.setenv(f"KAFKA_PARTITIONS_{kind}", "1")
    return Operator(terminal, Wiring(Settings()))


def content_message(root_id: str, url: str, priority: Priority = Priority.NORMAL, **headers: object) -> Message:
    """A message for validate or enrich."""
    typed = Headers(root_id=root_id, priority=priority, trace_id="trace-1").evolve(**headers)
    value = encode_payload(ContentRef(content_id=1, url=url))
    return Message(typed, root_id.encode(), value, Origin("normalized", 0, 1, 1_750_000_000_000))


def content_entry(root_id: str, url: str, priority: Priority = Priority.NORMAL) -> QueueEntry:
    """The same as it lies in a queue."""
    return queue_entry(content_message(root_id, url, priority))
