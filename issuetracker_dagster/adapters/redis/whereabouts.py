"""Finds messages in Redis outside the stage queues: in buffers, in the retry set, and in the lines of hosts.

Nothing is taken. Lists are looked through up to a bound; whoever asks is told when that was too little.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.frontier import queue_key
from issuetracker_dagster.adapters.redis.queue_steering import RedisQueueSteering
from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.buffer import decode_buffered
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.queue_view import EntryView
from issuetracker_dagster.model.retry import RetryEntry

_PAGE = 1_000
_RETRIES, _RETRY_ENTRIES = "retry:due", "{retry:due}:entries"
_AGENDA = "frontier:due"


class Buffered(NamedTuple):
    """A job in a buffer: `waiting` in line, `draining` in a drainer's hands, or in the `outbox` for the DLQ."""

    state: str
    record: Outgoing


class RedisWhereabouts:
    """Read-only. All raise `Unavailable`."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def retries(self, identities: Sequence[str]) -> Sequence[RetryEntry]:
        """Those of the messages that wait for another try."""
        with redis_errors("look for waiting retries"):
            found = command(self._client, "HMGET", _RETRY_ENTRIES, *identities) if identities else ()
        entries = []
        for packed in found:
            if packed:
                try:
                    entries.append(msgspec.msgpack.decode(packed, type=RetryEntry))
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    continue  # the relay sets it aside
        return tuple(entries)

    def hosts(self, limit: int) -> Sequence[str]:
        """Hosts for which jobs wait, at most so many, those that are due first."""
        with redis_errors("list hosts with waiting jobs"):
            return tuple(map(bytes.decode, command(self._client, "ZRANGE", _AGENDA, "0", str(limit - 1))))

    def in_line(self, host: str, members: Sequence[str]) -> Sequence[EntryView]:
        """Those of the members that wait for that host."""
        return RedisQueueSteering(self._client, queue_key(host)).find(members)

    def buffered(self, key: str, root_ids: Collection[str], limit: int) -> tuple[Sequence[Buffered], bool]:
        """Jobs of those roots in that buffer, and whether all of it was looked at: at most `limit` entries a list."""
        tag = f"{{{key}}}:"
        with redis_errors("look through the buffer"):
            epochs = [epoch.decode() for epoch in command(self._client, "HKEYS", f"{tag}drains")]
        lists = [("waiting", key), ("outbox", f"{tag}outbox")]
        lists += [("draining", f"{tag}draining:{epoch}") for epoch in epochs]
        found: list[Buffered] = []
        is_whole = True
        for state, name in lists:
            seen = 0
            for entry in self._entries(name, limit):
                seen += 1
                record = _record_of(entry, root_ids)
                if record is not None:
                    found.append(Buffered(state, record))
            is_whole = is_whole and seen < limit
        return tuple(found), is_whole

    def _entries(self, name: str, limit: int) -> Iterator[bytes]:
        for first in range(0, limit, _PAGE):
            with redis_errors("look through the buffer"):
                page = command(self._client, "LRANGE", name, str(first), str(min(first + _PAGE, limit) - 1))
            yield from page
            if len(page) < _PAGE:
                return


def _record_of(entry: bytes, root_ids: Collection[str]) -> Outgoing | None:
    try:
        record = decode_buffered(entry).record
    except Malformed:
        return None
    root_id = dict(record.headers).get("root_id", b"").decode("utf-8", "replace")
    return record if root_id in root_ids else None
