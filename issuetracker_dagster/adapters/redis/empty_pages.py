"""The pages of each host that came out without a body. Key: `host:{<host>}:empty`, gone an hour after the last one."""

from collections.abc import Sequence

import msgspec

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.ports.hosts import EmptyPage

ENOUGH = 5
MOST_KEPT = 20
WINDOW_MS = 3_600_000


class RedisEmptyPages:
    """`EmptyPages` in Redis, by the server's time."""

    def __init__(self, client: RedisClient, *, window_ms: int = WINDOW_MS) -> None:
        self._client = client
        self._window_ms = window_ms

    def note(self, host: str, page: EmptyPage, *, switched: bool) -> Sequence[EmptyPage]:
        limits = map(str, (int(switched), ENOUGH, MOST_KEPT, self._window_ms))
        args: list[str | bytes] = [page.owner, msgspec.json.encode(page), *limits]
        return [
            msgspec.json.decode(one, type=EmptyPage)
            for one in script("host_empty").run(self._client, [_key(host)], args)
        ]

    def upgraded(self, host: str) -> None:
        with redis_errors("forget a host's empty pages"):
            command(self._client, "DEL", _key(host))


def _key(host: str) -> str:
    # A brace of the host itself would end the tag early.
    return f"host:{{{host.replace('}', '%7D')}}}:empty"
