"""Which pages waiting messages name, as purging asks: in every state of the parser's queue, and in the retry set."""

import uuid
from typing import Any

import pytest

from issuetracker_dagster.adapters.redis import waiting_pages as looking
from issuetracker_dagster.adapters.redis.client import RedisClient, command
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.adapters.redis.retries import RedisRetrySet
from issuetracker_dagster.adapters.redis.waiting_pages import waiting_pages
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, encode_envelope
from issuetracker_dagster.model.payload import RawContentRef, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, QueueLimits
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage, Topic
from tests.contracts.redis_worlds import CLUSTER, open_world

URL = "https://news.example.com/a"


def naming(raw_id: int) -> Message:
    payload = RawContentRef(raw_id=raw_id, url=URL, requested_url=URL, target_type=TargetType.ARTICLE, fetched_ms=1)
    return Message(Headers(root_id=f"r{raw_id}"), b"k", encode_payload(payload))


def entry(raw_id: int, envelope: bytes | None = None) -> QueueEntry:
    message = naming(raw_id)
    return QueueEntry(message.identity, Priority.NORMAL, 1, envelope or encode_envelope(message))


@pytest.fixture(params=[pytest.param("valkey", marks=pytest.mark.services), CLUSTER])
def client(request: pytest.FixtureRequest) -> RedisClient:
    found = open_world(request).client
    assert found is not None
    return found


def test_pages_of_ready_leased_delayed_outed_and_retried_messages_are_named(client: RedisClient) -> None:
    key, retry_key = f"test:{uuid.uuid4().hex}", f"test:{uuid.uuid4().hex}"
    assert waiting_pages(client, key, retry_key) == frozenset()
    queue, retries = PriorityZSetQueue(client, key, QueueLimits(max_size=1_200)), RedisRetrySet(client, retry_key)
    queue.open()
    queue.push([entry(raw_id) for raw_id in range(1, 1_200)])
    queue.push([entry(5_000, b"not an envelope")])
    leased, delayed = queue.claim(uuid.uuid4().hex, 2, 60_000).leases
    assert queue.nack(delayed, 60_000)
    queue.push([entry(2_000)])  # one too many: the oldest goes to the outbox
    for number in (3_000, 3_001):
        retries.schedule(
            RetryEntry(message=naming(number), topic=Topic.FETCHED, stage=Stage.PARSER, due_ms=1, source_ms=1)
        )
    assert leased.member
    assert waiting_pages(client, key, retry_key) == {*range(1, 1_200), 2_000, 3_000, 3_001}


def test_pages_of_an_outbox_are_named_although_its_head_is_emptied_meanwhile(
    client: RedisClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"test:{uuid.uuid4().hex}"
    queue = PriorityZSetQueue(client, key, QueueLimits(max_size=1))
    queue.open()
    queue.push([entry(raw_id) for raw_id in range(1, 1_302)])  # all but the last go to the outbox

    def emptying(of: RedisClient, *words: str | bytes) -> Any:
        found = command(of, *words)
        if words[0] == "LRANGE":
            assert queue.outbox_remove(queue.outbox(400)) > 0
        return found

    monkeypatch.setattr(looking, "command", emptying)
    assert waiting_pages(client, key, f"test:{uuid.uuid4().hex}") >= {*range(801, 1_302)}
