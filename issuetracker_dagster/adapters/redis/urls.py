"""Locks on URLs: the dedupe markers of publish, and one worker a URL and stage.

Keys: `ingestion:url:<sha256>` and `processing:<stage>:<sha256>`, each with a time to live.
"""

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.model.urls import url_hash

PENDING_MS = 60_000
"""How long a publish may take between its marker and its confirmation."""


class RedisIngestionLock:
    """`IngestionLock` in Redis. URLs are taken as they are: normalise them first."""

    def __init__(self, client: RedisClient, *, pending_ms: int = PENDING_MS) -> None:
        self._client = client
        self._pending_ms = pending_ms

    def begin(self, url: str, parent: str) -> bool:
        args = [f"pending:{parent}", str(self._pending_ms)]
        return bool(script("value_take").run(self._client, [_marker(url)], args))

    def confirm(self, url: str, parent: str, ttl_ms: int) -> None:
        # Unconditional: the URL is out, whether or not the pending marker outlived the publish.
        script("value_put").run(self._client, [_marker(url)], [f"full:{parent}", str(ttl_ms)])

    def abandon(self, url: str, parent: str) -> None:
        script("value_delete").run(self._client, [_marker(url)], [f"pending:{parent}"])


class RedisProcessingLock:
    """`ProcessingLock` in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def acquire(self, stage: str, url: str, owner: str, ttl_ms: int) -> bool:
        return bool(script("value_take").run(self._client, [_lock(stage, url)], [owner, str(ttl_ms)]))

    def release(self, stage: str, url: str, owner: str) -> None:
        script("value_delete").run(self._client, [_lock(stage, url)], [owner])


def _marker(url: str) -> str:
    return f"ingestion:url:{url_hash(url)}"


def _lock(stage: str, url: str) -> str:
    return f"processing:{stage}:{url_hash(url)}"
