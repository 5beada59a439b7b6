"""What dead workers held comes back, and what a queue gave up goes to the DLQ."""

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from issuetracker_dagster.errors import Malformed, PublishFailed
from issuetracker_dagster.flow.buffer import release_marks
from issuetracker_dagster.flow.dead_letter import bury, dead_bytes, dead_letter
from issuetracker_dagster.model.buffer import decode_buffered
from issuetracker_dagster.model.message import Outgoing, decode_envelope
from issuetracker_dagster.model.queue import OutboxEntry
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import Buffer
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import Frontier
from issuetracker_dagster.ports.locks import IngestionLock
from issuetracker_dagster.ports.queue import StageQueue
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)

T = TypeVar("T")

_EXPLAIN = {
    "overflow": "the queue was full, and this was the oldest entry of its lowest band",
    "expired": "it waited longer than the queue's time to live",
    "max_deliveries": "its workers ended without an answer each time it was delivered",
}


def reap(queue: StageQueue, batch: int = 100, rounds: int = 50) -> int:
    """Put expired leases and due delays back in place, at most `batch x rounds` of them; returns how many."""
    total = 0
    for _ in range(rounds):
        reaped = queue.reap(batch)
        total += reaped
        if reaped < batch:
            break
    if total:
        logger.info("%d entries of %s came back", total, queue.name, extra=action("queue.reaped", count=total))
    return total


def empty_outbox(
    queue: StageQueue, stage: Stage, producer: Producer, clock: Clock, batch: int = 100, rounds: int = 50
) -> int:
    """Publish outbox entries to the DLQ, then remove them; returns how many. Raises `PublishFailed`, `Unavailable`."""

    def letter(entry: OutboxEntry) -> Outgoing:
        return _letter(entry, stage, clock.now_ms())

    return _empty(queue.name, queue.outbox, letter, queue.outbox_remove, producer, batch, rounds)


def empty_frontier_outbox(
    frontier: Frontier, producer: Producer, clock: Clock, batch: int = 100, rounds: int = 50
) -> int:
    """The same for jobs that waited for their host too long or too often; returns how many."""

    def letter(waiting: tuple[str, OutboxEntry]) -> Outgoing:
        return _letter(waiting[1], Stage.FETCH, clock.now_ms())

    return _empty("the frontier", frontier.outbox, letter, frontier.outbox_remove, producer, batch, rounds)


def empty_buffer_outbox(
    buffer: Buffer,
    producer: Producer,
    ingestion: IngestionLock,
    clock: Clock,
    batch: int = 100,
    rounds: int = 50,
) -> int:
    """The same for jobs that fell out of a full buffer; returns how many.

    Order of effects: dead letter, dedupe marker released, removed. The job was never crawled, so its URL may be
    published again.
    """

    def letter(entry: bytes) -> Outgoing:
        return _letter_of_buffered(buffer.name, entry, clock.now_ms())

    def remove(entries: Sequence[bytes]) -> int:
        release_marks(ingestion, _buffered_records(entries))
        return buffer.outbox_remove(entries)

    return _empty(buffer.name, buffer.outbox, letter, remove, producer, batch, rounds)


def _empty(
    name: str,
    look: Callable[[int], Sequence[T]],
    letter: Callable[[T], Outgoing],
    remove: Callable[[Sequence[T]], int],
    producer: Producer,
    batch: int,
    rounds: int,
) -> int:
    total = 0
    for _ in range(rounds):
        entries = look(batch)
        if not entries:
            break
        letters = [letter(entry) for entry in entries]
        try:
            bury(producer, letters)
        except PublishFailed as error:
            there = set(map(id, error.arrived))
            remove([entry for entry, one in zip(entries, letters, strict=True) if id(one) in there])
            raise
        remove(entries)
        total += len(entries)
    if total:
        logger.warning("%d entries of %s went to the DLQ", total, name, extra=action("outbox.published", count=total))
    return total


def _letter(entry: OutboxEntry, stage: Stage, at_ms: int) -> Outgoing:
    error = _EXPLAIN.get(entry.reason, entry.reason)
    try:
        return dead_letter(decode_envelope(entry.envelope), stage, entry.reason, error, at_ms)
    except Malformed as malformed:
        return dead_bytes(entry.member, entry.envelope, stage, entry.reason, f"{error}; {malformed}", at_ms)


def _letter_of_buffered(name: str, entry: bytes, at_ms: int) -> Outgoing:
    error = "the buffer was full, and this was its oldest job"
    try:
        return dead_letter(decode_buffered(entry).record, Stage.FETCH, "overflow", error, at_ms)
    except Malformed as malformed:
        return dead_bytes(name, entry, Stage.FETCH, "overflow", f"{error}; {malformed}", at_ms)


def _buffered_records(entries: Sequence[bytes]) -> list[Outgoing]:
    records: list[Outgoing] = []
    for entry in entries:
        # One that doesn't decode names no URL.
        with contextlib.suppress(Malformed):
            records.append(decode_buffered(entry).record)
    return records
