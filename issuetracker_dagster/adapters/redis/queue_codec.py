"""How a stage queue is laid out in Redis: key names, the header before an envelope, replies to values."""

from collections.abc import Sequence
from typing import NamedTuple

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.model.priority import BAND_WIDTH, Priority
from issuetracker_dagster.model.queue import Lease, OutboxEntry, QueueEntry

FORMAT = "1"
"""Of keys and values together; a queue in another format isn't touched."""

MAX_PER_CALL = 500
"""Members a script call: keeps one call's time on the server under a few milliseconds."""

CLAIMS_PERIOD_MS = "300000"
"""The answer to a claim is kept for one to two of these, or until one of its leases is presented."""

MINUTE_MS = 60_000
HEADER = 11
_COUNT = 3
_ZERO = ord("0")

_BANDS = {int(priority): priority for priority in Priority}
PRIORITY_TEXT = {priority: str(int(priority)) for priority in Priority}


class QueueKeys(NamedTuple):
    """The keys of one queue; `all` is the order in which the scripts take them."""

    ready: str
    wake: str
    outbox: str
    times: str
    fence: str
    clock: str
    history: str
    all: tuple[str, ...]


def queue_keys(key: str) -> QueueKeys:
    """The keys beside `key`, all in its Cluster slot; raises `ConfigError` when it is empty or contains braces."""
    if not key or "{" in key or "}" in key:
        raise ConfigError(
            f"queue key {key!r} (*_ZSET_QUEUE_KEY): accepted is any name without {{ and }}, such as parser:zset:queue"
        )
    tag = f"{{{key}}}:"
    names = (
        "entries", "deadlines", "leased", "delayed", "outbox", "clock", "wake", "epoch", "format", "times",
        "claims:even", "claims:odd",
    )  # fmt: skip
    companions = tuple(tag + name for name in names)
    return QueueKeys(
        ready=key,
        wake=tag + "wake",
        outbox=tag + "outbox",
        times=tag + "times",
        fence=tag + "fence",
        clock=tag + "clock",
        history=tag + "history",
        all=(key, *companions),
    )


def _header(minute: int) -> bytes:
    """The header of an entry that was never delivered."""
    return b"000%08d" % min(max(minute, 0), 99_999_999)


def push_words(entries: Sequence[QueueEntry]) -> list[str | bytes]:
    """A batch as the push script takes it: the priorities, a digit each, then member and value of each entry.

    Entries of one batch are mostly of one minute, so that their header is made once.
    """
    words: list[str | bytes] = [bytes([_ZERO + entry.priority for entry in entries])]
    minute: int | None = None
    fresh = b""
    for entry in entries:
        if entry.source_ms // MINUTE_MS != minute:
            minute = entry.source_ms // MINUTE_MS
            fresh = _header(minute)
        words += (entry.member, fresh + entry.envelope)
    return words


def leases_from(
    claim_id: str, members: Sequence[bytes], scores: Sequence[bytes], values: Sequence[bytes]
) -> tuple[Lease, ...]:
    """Leases from members, their scores and their stored values, whose headers count the deliveries before this one."""
    leases = []
    for member, points, value in zip(members, scores, values, strict=True):
        # As `priority_of_score` and `arrival_of_score`, without their calls: this loop is half of a claim's cost here.
        band, arrival_ms = divmod(float(points), BAND_WIDTH)
        deliveries = int(value[:_COUNT]) + 1
        leases.append(Lease(member.decode(), claim_id, _BANDS[int(band)], arrival_ms, deliveries, value[HEADER:]))
    return tuple(leases)


def outbox_entry_from(raw: bytes) -> OutboxEntry:
    """An outbox entry from its stored element: reason, length of the member, member, header, envelope."""
    reason, length, rest = raw.split(b" ", 2)
    end = int(length)
    value = rest[end:]
    return OutboxEntry(
        rest[:end].decode(),
        reason.decode(),
        int(value[:_COUNT]),
        int(value[_COUNT:HEADER]) * MINUTE_MS,
        value[HEADER:],
        raw,
    )
