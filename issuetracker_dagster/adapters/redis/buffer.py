"""The buffer before Kafka on Redis, and the switch of buffering.

Keys: `publisher:buffer:normal`, and in the same slot `{publisher:buffer:normal}:draining:<epoch>`, `:drains`, `:epoch`,
`:outbox`, `:pushes` and `:paused`; `publisher:buffer:on`. Order and fencing live in `scripts/buffer_*.lua`.
"""

import logging
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors, wait_durable
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import ConfigError, StaleLease
from issuetracker_dagster.model.buffer import BufferState, buffered_ms_of
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import SWITCH_LASTS_MS

logger = logging.getLogger(__name__)

_BATCH = 1_000
"""Most entries that one script call stores, so that it stays short."""

_identities = msgspec.json.Decoder(tuple[str, ...])


class RedisBuffer:
    """`Buffer` in one Redis Cluster slot. A full server refuses `push` and nothing else.

    Many threads may push; one drainer at a time takes.
    """

    def __init__(self, client: RedisClient, key: str, *, max_len: int) -> None:
        """`key` names the line; raises `ConfigError` when it is empty or contains braces."""
        if not key or "{" in key or "}" in key:
            raise ConfigError(f"buffer key {key!r}: accepted is any name without {{ and }}")
        self._client = client
        self._key = key
        self._max_len = max_len
        self._tag = f"{{{key}}}:"
        self._outbox, self._paused = self._tag + "outbox", self._tag + "paused"
        self._epoch, self._drains = self._tag + "epoch", self._tag + "drains"
        self._push_keys = [key, self._outbox, self._tag + "pushes"]
        self._taken = (0, b"")

    @property
    def name(self) -> str:
        return self._key

    @property
    def max_len(self) -> int:
        return self._max_len

    def push(self, entries: Sequence[bytes]) -> int:
        """As the port says: a round trip for each 1,000, then one confirmation for all of them.

        A call whose reply was lost is repeated by its word, so it stores its entries once.
        """
        if not entries:
            return 0
        trimmed = 0
        for first in range(0, len(entries), _BATCH):
            args: list[str | bytes] = [str(self._max_len), secrets.token_hex(8), *entries[first : first + _BATCH]]
            trimmed += int(script("buffer_push").run(self._client, self._push_keys, args))
        wait_durable(self._client, self._tag + "fence")
        if trimmed:
            logger.warning(
                "%s is full: the %d oldest left for the DLQ",
                self._key,
                trimmed,
                extra=action("buffer.trimmed", buffer=self._key, count=trimmed),
            )
        return trimmed

    def recover(self, epoch: int) -> int:
        returned = self._return(epoch, ())  # from here on no older epoch can take, so the list of them is final
        older = [one for one in self._draining_epochs() if one < epoch]
        if older:
            returned += self._return(epoch, older[::-1])
        if returned:
            logger.warning(
                "%s: %d jobs of a drain that ended early are back in line",
                self._key,
                returned,
                extra=action("buffer.recovered", buffer=self._key, count=returned),
            )
        return returned

    def take(self, epoch: int, limit: int) -> Sequence[bytes]:
        return self._take(epoch, limit, done=b"")

    def peek(self, limit: int) -> Sequence[bytes]:
        return self._first(self._key, limit, "buffer_peek")

    def advance(self, epoch: int, limit: int) -> Sequence[bytes]:
        return self._take(epoch, limit, done=self._word_of(epoch))

    def done(self, epoch: int) -> None:
        args: list[str | bytes] = [str(epoch), self._word_of(epoch)]
        script("buffer_done").run(self._client, [self._drains, self._draining(epoch)], args)

    def put_back(self, epoch: int) -> int:
        try:
            return self._return(epoch, (epoch,))
        except StaleLease:
            return 0

    def state(self) -> BufferState:
        keys = [self._key, self._outbox, self._paused, *map(self._draining, self._draining_epochs())]
        waiting, draining, outbox, paused, first = script("buffer_state").run(self._client, keys, ())
        return BufferState(
            waiting=waiting,
            draining=draining,
            outbox=outbox,
            oldest_ms=buffered_ms_of(first) if first else 0,
            paused=bool(paused),
        )

    def outbox(self, limit: int) -> Sequence[bytes]:
        return self._first(self._outbox, limit, "buffer_outbox")

    def outbox_remove(self, entries: Sequence[bytes]) -> int:
        removed = 0
        for first in range(0, len(entries), _BATCH):
            args = entries[first : first + _BATCH]
            removed += int(script("buffer_outbox_remove").run(self._client, [self._outbox], args))
        return removed

    def pause(self, epoch: int, identities: Sequence[str]) -> None:
        text = msgspec.json.encode(identities) if identities else b""
        newer = script("buffer_pause").run(self._client, [self._paused, self._epoch], [str(epoch), text])
        self._check(epoch, newer)

    def paused(self) -> Sequence[str]:
        with redis_errors("buffer_paused"):
            text = command(self._client, "GET", self._paused)
        return _identities.decode(text) if text else ()

    def resume(self, epoch: int) -> None:
        self.pause(epoch, ())

    def _take(self, epoch: int, limit: int, *, done: bytes) -> Sequence[bytes]:
        keys = [self._key, self._epoch, self._drains, self._draining(epoch)]
        args: list[str | bytes] = [str(epoch), str(limit), secrets.token_hex(8), done]
        newer, *answer = script("buffer_take").run(self._client, keys, args)
        self._check(epoch, newer)
        word, entries = answer
        self._taken = (epoch, word)
        return tuple(entries)

    def _word_of(self, epoch: int) -> bytes:
        """That of the batch which this epoch took last; empty when another took since, or none did."""
        taken_by, word = self._taken
        return word if taken_by == epoch else b""

    def _first(self, key: str, limit: int, call: str) -> Sequence[bytes]:
        if limit <= 0:
            return ()
        with redis_errors(call):
            return tuple(command(self._client, "LRANGE", key, "0", str(limit - 1)))

    def _draining(self, epoch: int) -> str:
        return f"{self._tag}draining:{epoch}"

    def _draining_epochs(self) -> list[int]:
        with redis_errors("buffer_drains"):
            return sorted(map(int, command(self._client, "HKEYS", self._drains)))

    def _return(self, epoch: int, epochs: Sequence[int]) -> int:
        keys = [self._key, self._epoch, self._drains, *map(self._draining, epochs)]
        newer, count = script("buffer_return").run(self._client, keys, [str(epoch), *map(str, epochs)])
        self._check(epoch, newer)
        return int(count)

    def _check(self, epoch: int, newer: Any) -> None:
        if newer:
            raise StaleLease(f"epoch {epoch} of {self._key} was fenced out by {newer.decode()}")


class RedisBufferSwitch:
    """`BufferSwitch` in Redis; it can be turned while the server is full."""

    def __init__(
        self, client: RedisClient, key: str = "publisher:buffer:on", *, lasts_ms: int = SWITCH_LASTS_MS
    ) -> None:
        self._client = client
        self._key = key
        self._lasts_ms = lasts_ms

    def is_on(self) -> bool:
        with redis_errors("buffer_switch"):
            return bool(command(self._client, "EXISTS", self._key))

    def turn(self, *, on: bool) -> None:
        script("buffer_switch").run(self._client, [self._key], [str(self._lasts_ms) if on else ""])
