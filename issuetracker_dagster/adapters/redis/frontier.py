"""Where crawl jobs wait for their host, between topic and fetch: a priority queue a host, and an agenda of hosts.

Keys: `frontier:<host>` with the companions of every queue; `frontier:due` (host -> when to look at it) and in its slot
`{frontier:due}:seen`, `:numbers`, `:sizes`, `:size`, `:outboxes`. In a cluster a host's queue and the agenda lie on
different nodes, so no script spans both. Instead the agenda may name an empty host, but never miss one with jobs: a
host is noted before and after its job is stored, and forgotten only if it was found empty and nobody noted it since.
"""

import logging
import threading
from collections.abc import Sequence
from typing import Literal

from redis.cluster import RedisCluster

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import QueueFull, Unavailable
from issuetracker_dagster.model.queue import Lease, OutboxEntry, PushResult, QueueEntry, QueueLimits
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

HOLD_MS = 5_000
"""How long a host stays hidden when its taker dies between finding it and claiming its job."""
NEXT_JOB_MS = 100
"""When a host with more jobs is looked at again: its first taker has asked the host gate by then, or found no place in
the browser. Should it take longer, the next job is taken for nothing: the gate puts it off."""

AGENDA = "frontier:due"
_KEYS = [AGENDA, *(f"{{{AGENDA}}}:{name}" for name in ("seen", "numbers", "sizes", "size", "outboxes"))]
_SIZE, _OUTBOXES = _KEYS[4], _KEYS[5]
_NOBODY = b"-"
"""A number that no taker was given: a note with it never puts off a look, an earlier one stands."""


class RedisFrontier:
    """`Frontier` in Redis; `limits` are those of each host's queue."""

    def __init__(self, client: RedisClient, limits: QueueLimits) -> None:
        self._client = client
        self._limits = limits
        self._lock = threading.Lock()
        self._unconfirmed: set[str] = set()

    def defer(self, host: str, entry: QueueEntry, due_ms: int) -> None:
        """As the port says; raises `QueueFull` when the host's queue refuses the job (backpressure)."""
        self._note(host, "by", due_ms)
        result = self._push(host, [entry])
        self._note(host, "by", due_ms, waiting=self._waiting(host), letters=result.evicted)

    def line_up(self, host: str, entries: Sequence[QueueEntry]) -> None:
        """As the port says; raises `QueueFull` like `defer`, and some of the jobs may be stored then."""
        # Should the others be gone before these are stored, their host is found in a while all the same.
        self._note(host, "unless noted", HOLD_MS)
        result = self._push(host, entries)
        waiting = self._waiting(host)
        if waiting + result.evicted > result.added:
            self._note(host, "unless noted", HOLD_MS, waiting=waiting, letters=result.evicted)
        else:
            self._note(host, "in", 0, waiting=waiting, letters=result.evicted, number=_NOBODY)

    def waiting(self, host: str) -> bool:
        return self._waiting(host) > 0

    def take(self, claim_id: str, limit: int, lease_ms: int) -> Sequence[tuple[str, Lease]]:
        """As the port says; when Redis fails in between, what is leased already is returned."""
        taken: list[tuple[str, Lease]] = []
        visited: set[str] = set()
        try:
            while len(taken) < limit:
                due = self._pop(limit - len(taken))
                for host, number in due:
                    if host in visited:
                        self._note(host, "in", 0, number=number)  # due again already: left to the next call, not hidden
                        continue
                    taken += [(host, lease) for lease in self._queue(host).claim(claim_id, 1, lease_ms).leases]
                    self._look_again(host, number, lease_ms)
                if not due or not visited.isdisjoint(host for host, _ in due):
                    break
                visited.update(host for host, _ in due)
        except Unavailable as error:
            if not taken:
                raise
            logger.warning("the frontier failed in mid-take: %s", error, extra=action("redis.unavailable"))
        return tuple(taken)

    def ack(self, host: str, lease: Lease) -> None:
        # The agenda keeps the host until its lease would have ended; then it is found empty and forgotten.
        if self._queue(host).ack([lease]):
            self._say_refused(host, lease, "ack")

    def give_back(self, host: str, lease: Lease, due_ms: int) -> None:
        if self._queue(host).release([lease]):
            self._say_refused(host, lease, "give back")
        self._note(host, "at", due_ms, waiting=self._waiting(host))

    def extend(self, host: str, lease: Lease, lease_ms: int) -> bool:
        return not self._queue(host).extend([lease], lease_ms)

    def reap(self, limit: int = 100) -> int:
        """As the port says, among up to `limit` hosts that are due; `take` does the same for the host it looks at."""
        with redis_errors("find due hosts"):
            now_ms = script("server_time").run(self._client, [AGENDA], [])
            hosts = command(self._client, "ZRANGEBYSCORE", AGENDA, "-inf", now_ms, "LIMIT", "0", str(limit))
        reaped = 0
        for host in map(bytes.decode, hosts):
            if reaped >= limit:
                break
            found = self._queue(host).reap(limit - reaped)
            if found:
                self._note(host, "in", HOLD_MS, waiting=self._waiting(host), number=_NOBODY)
            reaped += found
        return reaped

    def size(self) -> int:
        with redis_errors("count waiting jobs"):
            return int(command(self._client, "GET", _SIZE) or 0)

    def outbox(self, limit: int = 100) -> Sequence[tuple[str, OutboxEntry]]:
        with redis_errors("find hosts with dead letters"):
            hosts = sorted(map(bytes.decode, command(self._client, "SRANDMEMBER", _OUTBOXES, str(limit))))
        found: list[tuple[str, OutboxEntry]] = []
        for host in hosts:
            entries = self._queue(host).outbox(limit)
            if not entries:
                # One that comes at this very moment keeps its host on the agenda, and so is noted at the next look.
                with redis_errors("forget a host without dead letters"):
                    command(self._client, "SREM", _OUTBOXES, host)
            found += [(host, entry) for entry in entries]
        return tuple(found[:limit])

    def outbox_remove(self, entries: Sequence[tuple[str, OutboxEntry]]) -> int:
        by_host: dict[str, list[OutboxEntry]] = {}
        for host, entry in entries:
            by_host.setdefault(host, []).append(entry)
        return sum(self._queue(host).outbox_remove(of_host) for host, of_host in by_host.items())

    def settle_writes(self) -> None:
        with self._lock:
            hosts, self._unconfirmed = self._unconfirmed, set()
        try:
            # One server confirms everything at once; in a cluster each queue asks its own node.
            for host in sorted(hosts) if isinstance(self._client, RedisCluster) else sorted(hosts)[:1]:
                self._queue(host).settle_writes()
        except Unavailable:
            with self._lock:
                self._unconfirmed |= hosts
            raise

    def _push(self, host: str, entries: Sequence[QueueEntry]) -> PushResult:
        result = self._queue(host).push(entries)
        if result.refused:
            raise QueueFull(f"the frontier of {host} holds {self._limits.max_size} jobs already")
        with self._lock:
            self._unconfirmed.add(host)
        return result

    def _queue(self, host: str) -> PriorityZSetQueue:
        return PriorityZSetQueue(self._client, queue_key(host), self._limits)

    def _waiting(self, host: str) -> int:
        with redis_errors("count a host's waiting jobs"):
            return int(command(self._client, "ZCARD", self._queue(host).name))

    def _pop(self, limit: int) -> list[tuple[str, bytes]]:
        reply = script("frontier_pop").run(self._client, _KEYS[:2], [str(limit), str(HOLD_MS)])
        return [(host.decode(), number) for host, number in zip(reply[::2], reply[1::2], strict=True)]

    def _look_again(self, host: str, number: bytes, lease_ms: int) -> None:
        depth = self._queue(host).depth()
        if depth.total == 0:
            if script("frontier_drop").run(self._client, _KEYS[:5], [host, number]):
                self._queue(host).sweep()  # hosts are without number
            return
        pause_ms = NEXT_JOB_MS if depth.ready else lease_ms
        self._note(host, "in", pause_ms, waiting=depth.ready, letters=depth.outbox, number=number)

    def _note(
        self,
        host: str,
        how: Literal["by", "at", "in", "unless noted"],
        due_ms: int,
        *,
        waiting: int | None = None,
        letters: int = 0,
        number: bytes = b"",
    ) -> None:
        args = [host, how, str(due_ms), "" if waiting is None else str(waiting), "1" if letters else "0", number]
        script("frontier_note").run(self._client, _KEYS, args)

    def _say_refused(self, host: str, lease: Lease, verb: str) -> None:
        extra = action("lease.refused", host=host, member=lease.member, verb=verb)
        logger.warning("frontier of %s: a lease presented to %s is another's by now", host, verb, extra=extra)


def queue_key(host: str) -> str:
    """The key of a host's queue."""
    # Of a host called `due` the queue would be the agenda itself; no normalised host ends in a dot. A URL's host may
    # contain braces, a key's name may not; a percent sign is what no host contains.
    name = "due." if host == "due" else host.replace("{", "%7B").replace("}", "%7D")
    return f"frontier:{name}"
