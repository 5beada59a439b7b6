"""The stage queue on Redis: `intake` fills it, a shift claims from it.

Order, leases and limits live in `scripts/queue_*.lua`; this module turns values into arguments and replies into values,
and logs what the scripts report.
"""

import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from itertools import groupby

from issuetracker_dagster.adapters.redis.client import BLOCK_LIMIT_S, RedisClient, command, redis_errors, wait_durable
from issuetracker_dagster.adapters.redis.queue_codec import (
    CLAIMS_PERIOD_MS,
    FORMAT,
    MAX_PER_CALL,
    leases_from,
    outbox_entry_from,
    push_words,
    queue_keys,
)
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import (
    BandDepth,
    Claim,
    Lease,
    OutboxEntry,
    PushResult,
    QueueDepth,
    QueueEntry,
    QueueLimits,
    check_claim_id,
)
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)


class PriorityZSetQueue:
    """`StageQueue` in one Redis Cluster slot. Constructing it asks the server nothing, so thousands may exist."""

    def __init__(self, client: RedisClient, key: str, limits: QueueLimits) -> None:
        """`key` names the ready set; raises `ConfigError` when it is empty or contains braces."""
        self._client = client
        self._keys = queue_keys(key)
        self._limits = limits

    @property
    def name(self) -> str:
        return self._keys.ready

    def open(self) -> str:
        keys = (*self._keys.all, self._keys.history)
        epoch, found, taken_over = script("queue_open").run(self._client, keys, (secrets.token_hex(8), FORMAT))
        if found.decode() != FORMAT:
            raise ConfigError(
                f"queue {self.name} is in format {found.decode()}, this version reads {FORMAT}: "
                "drain it with the version that filled it, or name another *_ZSET_QUEUE_KEY"
            )
        if taken_over:
            logger.warning(
                "another Redis server took over %s, and may lack its last writes", self.name,
                extra=action("redis.taken_over", queue=self.name),
            )  # fmt: skip
        return str(epoch.decode())

    def push(self, entries: Sequence[QueueEntry]) -> PushResult:
        added = known = promoted = evicted = 0
        for first in range(0, len(entries), MAX_PER_CALL):
            batch = entries[first : first + MAX_PER_CALL]
            args = (str(self._limits.max_size), "1" if self._limits.backpressure else "0", *push_words(batch))
            reply = script("queue_push").run(self._client, self._keys.all, args)
            added, known, promoted, evicted = (
                sum(pair) for pair in zip((added, known, promoted, evicted), reply[:4], strict=True)
            )
            if reply[4]:  # what comes later in the order must not be stored before it
                refused = tuple(member.decode() for member in reply[4])
                refused += tuple(entry.member for entry in entries[first + MAX_PER_CALL :])
                logger.info("%s is full", self.name, extra=action("queue.refused", queue=self.name, count=len(refused)))
                return PushResult(added, known, promoted, evicted, refused)
        if evicted:
            logger.warning(
                "%s is full: %d of the lowest band left for the DLQ",
                self.name,
                evicted,
                extra=action("queue.evicted", queue=self.name, count=evicted),
            )
        return PushResult(added, known, promoted, evicted)

    def claim(self, claim_id: str, limit: int, lease_ms: int, acks: Sequence[Lease] = ()) -> Claim:
        limits = self._limits
        args: list[str | bytes] = [
            check_claim_id(claim_id),
            str(limit),
            str(lease_ms),
            str(limits.entry_ttl_ms),
            str(limits.max_deliveries),
            str(limits.max_wait_ms),
            str(limits.max_wait_share),
            CLAIMS_PERIOD_MS,
            *_grouped(acks),
        ]
        reply = script("queue_claim").run(self._client, self._keys.all, args)
        refused, members, scores, values, lapsed, aged, worn_out = reply
        if lapsed:
            self._log_lapsed(lapsed)
        if aged:
            self._log_aged(aged)
        if worn_out:
            logger.warning(
                "%s: %d entries were delivered too often and left for the DLQ",
                self.name,
                worn_out,
                extra=action("queue.expired", queue=self.name, count=worn_out, reason="max_deliveries"),
            )
        return Claim(leases_from(claim_id, members, scores, values), tuple(member.decode() for member in refused))

    def ack(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        return self._settle("ack", 0, leases)

    def extend(self, leases: Sequence[Lease], lease_ms: int) -> tuple[str, ...]:
        return self._settle("extend", lease_ms, leases)

    def nack(self, lease: Lease, delay_ms: int) -> bool:
        return not self._settle("nack", delay_ms, (lease,))

    def release(self, leases: Sequence[Lease]) -> tuple[str, ...]:
        return self._settle("release", 0, leases)

    def reap(self, limit: int = 100) -> int:
        args = (str(limit), str(self._limits.entry_ttl_ms))
        expired, due, aged = script("queue_reap").run(self._client, self._keys.all, args)
        if expired:
            self._log_lapsed(expired)
        if aged:
            self._log_aged(aged)
        return int(expired + due)

    def wait(self, timeout_ms: int) -> bool:
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            ready, next_due_ms = script("queue_peek").run(self._client, self._keys.all, ())
            if ready or next_due_ms == 0:
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            pause = min(left, BLOCK_LIMIT_S) if next_due_ms < 0 else min(left, BLOCK_LIMIT_S, next_due_ms / 1000)
            with redis_errors("queue_wait"):  # never 0, which would block for ever
                command(self._client, "BLPOP", self._keys.wake, f"{max(pause, 0.001):.3f}")

    def outbox(self, limit: int = 100) -> tuple[OutboxEntry, ...]:
        if limit <= 0:
            return ()
        with redis_errors("queue_outbox"):
            found = command(self._client, "LRANGE", self._keys.outbox, "0", str(limit - 1))
        return tuple(outbox_entry_from(raw) for raw in found)

    def outbox_remove(self, entries: Sequence[OutboxEntry]) -> int:
        if not entries:
            return 0
        raw = [entry.raw for entry in entries]
        return int(script("queue_outbox_remove").run(self._client, self._keys.all, raw))

    def depth(self) -> QueueDepth:
        reply = script("queue_depth").run(self._client, self._keys.all, ())
        bands = {p: BandDepth(reply[2 * i], reply[2 * i + 1]) for i, p in enumerate(Priority)}
        leased, delayed, outbox, epoch = reply[6:10]
        return QueueDepth(bands, leased, delayed, outbox, epoch.decode() if epoch else None)

    def oldest_source_ms(self) -> int | None:
        with redis_errors("queue_oldest"):
            minutes = command(self._client, "HKEYS", self._keys.times)
        return min(map(int, minutes)) * 60_000 if minutes else None

    def sweep(self) -> None:
        """Remove what a queue that was never opened keeps when it is empty; one that is being filled takes no harm."""
        with redis_errors("queue_sweep"):
            command(self._client, "UNLINK", self._keys.clock, self._keys.fence)

    def settle_writes(self) -> None:
        wait_durable(self._client, self._keys.fence)

    def _settle(self, verb: str, milliseconds: int, leases: Sequence[Lease]) -> tuple[str, ...]:
        stale: list[str] = []
        for first in range(0, len(leases), MAX_PER_CALL):
            args = (verb, str(milliseconds), *_grouped(leases[first : first + MAX_PER_CALL]))
            stale += (m.decode() for m in script("queue_settle").run(self._client, self._keys.all, args))
        return tuple(stale)

    def _log_lapsed(self, count: int) -> None:
        logger.warning(
            "%s: %d leases expired", self.name, count, extra=action("lease.expired", queue=self.name, count=count)
        )

    def _log_aged(self, count: int) -> None:
        logger.warning(
            "%s: %d entries grew too old and left for the DLQ",
            self.name,
            count,
            extra=action("queue.expired", queue=self.name, count=count, reason="expired"),
        )


def _grouped(leases: Sequence[Lease]) -> Iterator[str]:
    """Claim id, count, members; for each run of leases of one claim."""
    for claim_id, group in groupby(leases, key=lambda lease: lease.claim_id):
        members = [lease.member for lease in group]
        yield claim_id
        yield str(len(members))
        yield from members
