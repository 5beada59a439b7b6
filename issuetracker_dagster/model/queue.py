"""What goes into and comes out of a stage queue."""

from collections.abc import Mapping

import msgspec

from issuetracker_dagster.model.message import Message, encode_envelope
from issuetracker_dagster.model.priority import Priority


class QueueEntry(msgspec.Struct, frozen=True):
    """One message for a queue. `member` is its identity; `source_ms` the Kafka time of its record (Unix ms)."""

    member: str
    priority: Priority
    source_ms: int
    envelope: bytes


def queue_entry(message: Message) -> QueueEntry:
    """The queue entry of a message that came from Kafka."""
    source_ms = message.origin.timestamp_ms if message.origin else 0
    return QueueEntry(message.identity, message.headers.priority, source_ms, encode_envelope(message))


class Lease(msgspec.Struct, frozen=True):
    """A claimed entry. `claim_id` proves the holder; `deliveries` counts this one, so a first delivery is 1."""

    member: str
    claim_id: str
    priority: Priority
    arrival_ms: float
    deliveries: int
    envelope: bytes


class Claim(msgspec.Struct, frozen=True):
    """The answer to a claim: what is leased now, and which of the acks that rode along were refused as stale."""

    leases: tuple[Lease, ...]
    refused: tuple[str, ...] = ()


class PushResult(msgspec.Struct, frozen=True):
    """What became of a pushed batch, by count; `refused` members weren't stored (backpressure)."""

    added: int = 0
    known: int = 0
    promoted: int = 0
    evicted: int = 0
    refused: tuple[str, ...] = ()


class OutboxEntry(msgspec.Struct, frozen=True):
    """An entry on its way to the DLQ: `reason` is `overflow`, `expired` or `max_deliveries`.

    `raw` is the exact stored element, by which it is removed once the DLQ has it.
    """

    member: str
    reason: str
    deliveries: int
    source_ms: int
    envelope: bytes
    raw: bytes


class BandDepth(msgspec.Struct, frozen=True):
    """One priority inside a queue: how many are ready, and how long the oldest of them has waited."""

    ready: int = 0
    oldest_age_ms: int = 0


class QueueDepth(msgspec.Struct, frozen=True):
    """The state of a queue in numbers; `epoch` is None for a queue that has never been opened (or was wiped)."""

    bands: Mapping[Priority, BandDepth]
    leased: int = 0
    delayed: int = 0
    outbox: int = 0
    epoch: str | None = None

    @property
    def ready(self) -> int:
        return sum(band.ready for band in self.bands.values())

    @property
    def total(self) -> int:
        """Everything the queue still owes an answer for, the outbox included."""
        return self.ready + self.leased + self.delayed + self.outbox


class LeaseTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Leases that nobody extended for a while: how many end soon, how many are over and not brought back, and for how
    long the oldest of these has been."""

    near: int = 0
    over: int = 0
    oldest_over_ms: int = 0


class QueueLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How a queue behaves at its bounds. Durations in milliseconds; `max_wait_ms` 0 switches the guard off."""

    max_size: int = 100_000
    entry_ttl_ms: int = 86_400_000
    backpressure: bool = False
    max_deliveries: int = 5
    max_wait_ms: int = 0
    max_wait_share: float = 0.2


MOST_DELIVERIES = 999
"""Further than this no queue counts."""

SUSPECT_DEATHS = 2
"""One death of a worker is hardly ever a message's doing: a deployment, a machine that went. Two in a row may be."""


def deaths_in_company(max_deliveries: int) -> int:
    """How many deaths of its workers a message may have shared with others; all further ones happen when it is alone.

    Less than `max_deliveries`, so that nobody is given up for a death that may be another one's doing.
    """
    return max(1, min(SUSPECT_DEATHS, max_deliveries - 1))


def is_suspect(starts: int, max_deliveries: int) -> bool:
    """Whether a message at its `starts`-th start has to be handled alone in its process.

    From there on only its own doing brings it to `max_deliveries`, or that of whoever ends processes.
    """
    return starts > deaths_in_company(max_deliveries)


def check_claim_id(claim_id: str) -> str:
    """The claim id as given; raises ValueError when it is empty, contains a space or starts with `~`."""
    if not claim_id or " " in claim_id or claim_id.startswith("~"):
        raise ValueError(f"claim id {claim_id!r}: accepted is any word that doesn't start with ~")
    return claim_id
