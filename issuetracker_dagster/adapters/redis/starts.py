"""Start counts that all workers of a group share.

Keys: `{starts:<group>}:<identity>`, a STRING each, there only while a message is in hand (or its worker is dead).
"""

import secrets
from collections.abc import Sequence

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.scripts import script

TTL_MS = 86_400_000
_BATCH = 500


class RedisStarts:
    """`Starts` in Redis. A full server still counts; it isn't waited for the disk, since what dies is the worker."""

    def __init__(self, client: RedisClient, group: str, *, ttl_ms: int = TTL_MS) -> None:
        self._client = client
        self._prefix = f"{{starts:{group}}}:"
        self._ttl_ms = ttl_ms

    def begin(
        self, identity: str, ended: Sequence[str] = (), withdrawn: Sequence[str] = (), *, most: int | None = None
    ) -> int:
        if len(ended) + len(withdrawn) > _BATCH:
            self.note(ended, withdrawn)
            ended = withdrawn = ()
        return self._run([identity], ended, withdrawn, most)

    def note(self, ended: Sequence[str], withdrawn: Sequence[str]) -> None:
        for first in range(0, len(ended), _BATCH):
            self._run([], ended[first : first + _BATCH], [])
        for first in range(0, len(withdrawn), _BATCH):
            self._run([], [], withdrawn[first : first + _BATCH])

    def close(self) -> None:
        """The client belongs to the process."""

    def _run(
        self, begun: Sequence[str], ended: Sequence[str], withdrawn: Sequence[str], most: int | None = None
    ) -> int:
        keys = [self._prefix + identity for identity in (*begun, *ended, *withdrawn)]
        limit, token = str(-1 if most is None else most), secrets.token_hex(8)
        args = [str(len(begun)), str(len(ended)), str(self._ttl_ms), limit, token]
        return int(script("starts_begin").run(self._client, keys, args))
