"""Which stored pages the messages name that wait in Redis: in the parser's queue, its outbox, and the retry set.

Read by purging, once an hour, with HSCAN: no call holds the server up for more than a batch.
"""

from collections.abc import Iterator

import msgspec

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.queue_codec import HEADER, outbox_entry_from, queue_keys
from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.message import decode_envelope
from issuetracker_dagster.model.payload import payload_facts
from issuetracker_dagster.model.retry import RetryEntry

_AT_ONCE = 500
_retries = msgspec.msgpack.Decoder(RetryEntry)


def waiting_pages(client: RedisClient, queue_key: str, retry_key: str = "retry:due") -> frozenset[int]:
    """The ids of those pages. Raises `Unavailable`.

    What is pushed meanwhile may be missing: it then names a page that has just been fetched or is being parsed again.
    """
    outbox = queue_keys(queue_key).outbox
    found = {_page_of(value[HEADER:]) for value in _values(client, f"{{{queue_key}}}:entries")}
    found |= {_page_of(outbox_entry_from(raw).envelope) for raw in _elements(client, outbox)}
    found |= {_retried_page(value) for value in _values(client, f"{{{retry_key}}}:entries")}
    return frozenset(found - {0})


def _values(client: RedisClient, key: str) -> Iterator[bytes]:
    cursor = "0"
    while True:
        with redis_errors("look for pages that messages wait for"):
            reply = command(client, "HSCAN", key, cursor, "COUNT", str(_AT_ONCE))
        cursor = reply[0].decode() if isinstance(reply[0], bytes) else str(reply[0])
        pairs = reply[1].values() if isinstance(reply[1], dict) else reply[1][1::2]
        yield from pairs
        if cursor == "0":
            return


def _elements(client: RedisClient, key: str) -> Iterator[bytes]:
    """From the tail on: counted from the head, what another empties meanwhile would move the rest past this look."""
    last = -1
    while True:
        with redis_errors("look for pages that messages wait for"):
            some = command(client, "LRANGE", key, str(last - _AT_ONCE + 1), str(last))
        yield from some
        if len(some) < _AT_ONCE:
            return
        last -= _AT_ONCE


def _page_of(envelope: bytes) -> int:
    try:
        return payload_facts(decode_envelope(envelope).value).raw_id
    except Malformed:
        return 0


def _retried_page(packed: bytes) -> int:
    try:
        return payload_facts(_retries.decode(packed).message.value).raw_id
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return 0
