"""The relay tick: due retries go back to Kafka, leases of the dead come back, outboxes go to the DLQ."""

import msgspec

from issuetracker_dagster.errors import PublishFailed
from issuetracker_dagster.flow.reap import empty_buffer_outbox, empty_frontier_outbox, empty_outbox, reap
from issuetracker_dagster.model.stage import QUEUED_STAGES
from issuetracker_dagster.wiring.parts import Wiring

RELAY = "retry_relay"
RELAY_SILENT_AFTER_MS = 120_000
LOCK_MARGIN_MS = 30_000


class RelayReport(msgspec.Struct, frozen=True):
    """One relay tick in numbers."""

    relayed: int
    reaped: int
    buried: int
    trimmed: int = 0
    """Jobs among the buried that fell out of a full buffer."""


def relay(wiring: Wiring, budget_ms: int) -> RelayReport:
    """Do all of it once, and leave a sign of life; nothing while another process does it, since both would publish.

    Raises `PublishFailed` after all that needs no broker is done, `Unavailable`.
    """
    hold = wiring.locks.acquire(RELAY, budget_ms + LOCK_MARGIN_MS)
    if hold is None:
        return RelayReport(0, 0, 0)
    try:
        return _relay(wiring, budget_ms)
    finally:
        wiring.locks.release(hold)


def _relay(wiring: Wiring, budget_ms: int) -> RelayReport:
    reaped = sum(reap(wiring.queue(stage)) for stage in QUEUED_STAGES)
    relayed, refused = 0, None
    try:
        relayed = wiring.retries.relay(budget_ms)
    except PublishFailed as error:
        refused = error  # one topic may be out while the DLQ is there
    buried, trimmed = _empty_outboxes(wiring)
    wiring.heartbeats.beat(RELAY, 0, RELAY, {})
    if refused is not None:
        raise refused
    return RelayReport(relayed, reaped, buried + trimmed, trimmed)


def _empty_outboxes(wiring: Wiring) -> tuple[int, int]:
    """How many of the queues and the frontier, and how many of the buffers went to the DLQ."""
    buried = sum(empty_outbox(wiring.queue(stage), stage, wiring.producer, wiring.clock) for stage in QUEUED_STAGES)
    buried += empty_frontier_outbox(wiring.frontier, wiring.producer, wiring.clock)
    trimmed = sum(
        empty_buffer_outbox(buffer, wiring.producer, wiring.ingestion, wiring.clock)
        for buffer in wiring.buffers.values()
    )
    return buried, trimmed


def relay_is_fresh(wiring: Wiring) -> bool:
    """Whether the relay has ticked lately: queues mustn't be filled while nobody relays retries."""
    beats = wiring.heartbeats.alive(RELAY)
    now_ms = wiring.heartbeats.now_ms()
    return any(now_ms - beat.at_ms < RELAY_SILENT_AFTER_MS for beat in beats)
