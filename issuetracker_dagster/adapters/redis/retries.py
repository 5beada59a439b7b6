"""The set of failed messages that wait for their due time, between settle and the retry relay.

Keys: `retry:due`, and in the same slot `{retry:due}:entries`, `:source:<stage>` and `:unreadable`.
"""

import logging
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors, wait_durable
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

RETRIES = "retry:due"

_STAGES = tuple(Stage)
_BATCH = 1_000
"""Most entries that one script call touches, so that it stays short."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(RetryEntry)


class RedisRetrySet:
    """`RetrySet` in Redis. What is scheduled is on the server's disk (where it can tell) when `schedule` returns."""

    def __init__(self, client: RedisClient, key: str = RETRIES) -> None:
        self._client = client
        self._key = key
        self._sources = [f"{{{key}}}:source:{stage.value}" for stage in _STAGES]
        self._keys = [key, f"{{{key}}}:entries", *self._sources]

    def schedule(self, entry: RetryEntry) -> None:
        self.schedule_all((entry,))

    def schedule_all(self, entries: Sequence[RetryEntry]) -> None:
        for start in range(0, len(entries), _BATCH):
            args: list[str | bytes] = []
            for entry in entries[start : start + _BATCH]:
                place = str(_STAGES.index(entry.stage) + 1)
                args += (entry.message.identity, str(entry.due_ms), _encoder.encode(entry), place, str(entry.source_ms))
            script("retry_schedule").run(self._client, self._keys, args)
        if entries:
            wait_durable(self._client, f"{{{self._key}}}:fence")

    def holds(self, identities: Sequence[str]) -> int:
        found = 0
        for start in range(0, len(identities), _BATCH):
            with redis_errors("look for waiting retries"):
                scores = command(self._client, "ZMSCORE", self._key, *identities[start : start + _BATCH])
            found += sum(score is not None for score in scores)
        return found

    def due(self, now_ms: int, limit: int = 100) -> Sequence[RetryEntry]:
        reply = script("retry_due").run(self._client, self._keys[:2], [str(now_ms), str(min(limit, _BATCH))])
        entries = [self._decode(identity, packed) for identity, packed in zip(reply[::2], reply[1::2], strict=True)]
        return tuple(entry for entry in entries if entry is not None)

    def remove(self, entries: Sequence[RetryEntry]) -> int:
        removed = 0
        for start in range(0, len(entries), _BATCH):
            batch = entries[start : start + _BATCH]
            args = [word for entry in batch for word in (entry.message.identity, str(entry.due_ms))]
            removed += int(script("retry_remove").run(self._client, self._keys, args))
        return removed

    def size(self) -> int:
        with redis_errors("count waiting retries"):
            return int(command(self._client, "ZCARD", self._key))

    def oldest_source_ms(self, stage: Stage) -> int | None:
        with redis_errors("find the oldest waiting retry"):
            found = command(self._client, "ZRANGE", self._sources[_STAGES.index(stage)], "0", "0", "WITHSCORES")
        return int(float(found[1])) if found else None

    def _decode(self, identity: bytes, packed: bytes) -> RetryEntry | None:
        try:
            return _decoder.decode(packed)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            # Left where it is, a hundred of these would hide every entry behind them from the relay.
            keys = [*self._keys, f"{{{self._key}}}:unreadable"]
            script("retry_set_aside").run(self._client, keys, [identity, packed])
            name = identity.decode("utf-8", "replace")
            logger.error(
                "a retry entry doesn't decode (%s); its bytes are kept in %s", error, keys[-1],
                extra=action("relay.failed", member=name),
            )  # fmt: skip
            return None
