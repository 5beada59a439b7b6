"""Locks on URLs: the dedupe markers of publish, and one worker a URL and stage.

Keys: `ingestion:url:<sha256>` and `processing:<stage>:<sha256>`, each with a time to live.
"""

from collections.abc import Sequence

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.model.urls import url_hash
from issuetracker_dagster.ports.locks import Mark, MarkView

PENDING_MS = 60_000
"""How long a publish may take between its marker and its confirmation."""


class RedisIngestionLock:
    """`IngestionLock` in Redis: `pending:<owner>` or `full:<owner>`. URLs are taken as they are: normalise before."""

    def __init__(self, client: RedisClient, *, pending_ms: int = PENDING_MS) -> None:
        self._client = client
        self._pending_ms = pending_ms

    def begin(self, marks: Sequence[Mark]) -> Sequence[bool]:
        takes = [([_marker(mark.url)], [f"pending:{mark.owner}", str(self._pending_ms)]) for mark in marks]
        taken = script("value_take").run_many(self._client, takes)
        # A marker may be taken again by its owner, so the script doesn't tell a URL that is twice among these.
        begun: set[str] = set()
        answers: list[bool] = []
        for mark, took in zip(marks, taken, strict=True):
            answers.append(bool(took) and mark.url not in begun)
            if took:
                begun.add(mark.url)
        return answers

    def confirm(self, marks: Sequence[tuple[Mark, int]]) -> None:
        own = [
            ([_marker(mark.url)], [f"pending:{mark.owner}", f"full:{mark.owner}", str(ttl_ms)])
            for mark, ttl_ms in marks
        ]
        script("value_replace").run_many(self._client, own)

    def abandon(self, marks: Sequence[Mark]) -> None:
        script("value_delete").run_many(self._client, [([_marker(m.url)], [f"pending:{m.owner}"]) for m in marks])

    def release(self, marks: Sequence[Mark]) -> None:
        own = [([_marker(m.url)], [f"pending:{m.owner}", f"full:{m.owner}"]) for m in marks]
        script("value_delete").run_many(self._client, own)

    def view(self, url: str) -> MarkView | None:
        found = script("value_view").run(self._client, [_marker(url)], [])
        if not found:
            return None
        state, _, owner = found[0].decode().partition(":")
        return MarkView(owner, state == "pending", int(found[1]))


class RedisProcessingLock:
    """`ProcessingLock` in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def acquire(self, stage: str, url: str, owner: str, ttl_ms: int) -> bool:
        return bool(script("value_take").run(self._client, [_lock(stage, url)], [owner, str(ttl_ms)]))

    def prolong(self, stage: str, held: Sequence[Mark], ttl_ms: int) -> None:
        calls = [([_lock(stage, mark.url)], [mark.owner, str(ttl_ms)]) for mark in held]
        script("value_prolong").run_many(self._client, calls)

    def release(self, stage: str, url: str, owner: str) -> None:
        script("value_delete").run(self._client, [_lock(stage, url)], [owner])


def _marker(url: str) -> str:
    return f"ingestion:url:{url_hash(url)}"


def _lock(stage: str, url: str) -> str:
    return f"processing:{stage}:{url_hash(url)}"
