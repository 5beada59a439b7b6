"""Emptying a stage queue back into its Kafka topic, for an operator whose shifts can't work from it.

Order of effects: lease, publish, acknowledge. So a message is in the queue, in Kafka or in both, under one identity,
wherever this is killed; the same call goes on from there.
"""

import logging
import secrets
from collections.abc import Callable, Sequence

import msgspec

from issuetracker_dagster.errors import IssueTrackerError, Malformed, RecordsRefused, StaleLease, TransientError
from issuetracker_dagster.flow.dead_letter import bury, dead_bytes, dead_letter
from issuetracker_dagster.flow.intake import intake_lock
from issuetracker_dagster.model.message import Message, Outgoing, decode_envelope
from issuetracker_dagster.model.queue import Lease
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import LockHold, Locks
from issuetracker_dagster.ports.queue import StageQueue
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)

BATCH = 100
LEASE_MS = 60_000
LOCK_MS = 60_000
"""Longer than a publish may take, so that no intake slips in between two batches. A killed one's lock lasts as long."""
LOCK_WAIT_S = 15.0
"""An intake's tick holds the lock for some seconds and gives it back between two ticks."""
_LOOK_S = 0.2


class IntakeBusy(TransientError):
    """An intake holds its lock again and again: it would fill the queue as fast as it is emptied."""


class DrainBackReport(msgspec.Struct, frozen=True):
    """How many are in Kafka again, in the DLQ (undecodable or too large), and what the queue still holds."""

    returned: int = 0
    buried: int = 0
    ready: int = 0
    leased: int = 0
    delayed: int = 0


class DrainBack:
    """For one stage. While it runs it holds the intake's lock, so no intake fills the queue and no shift changes its
    mode under its feet."""

    def __init__(self, stage: Stage, *, queue: StageQueue, producer: Producer, locks: Locks, clock: Clock) -> None:
        self._stage = stage
        self._topic = FACTS[stage].inputs[0]
        self._queue = queue
        self._producer = producer
        self._locks = locks
        self._clock = clock

    def run(self, told: Callable[[DrainBackReport], None] = lambda _: None) -> DrainBackReport:
        """Give back everything that is ready, best first; `told` hears the counts after each batch.

        What others hold and what waits for a delay is left and counted. Raises `IntakeBusy`; `StaleLease` when the lock
        was lost, `PublishFailed` and `Unavailable`, with everything in the queue, in Kafka, or in both.
        """
        hold = self._locked()
        try:
            return self._drain(hold, told)
        finally:
            self._locks.release(hold)

    def _locked(self) -> LockHold:
        give_up = self._clock.monotonic() + LOCK_WAIT_S
        while (hold := self._locks.acquire(intake_lock(self._stage), LOCK_MS)) is None:
            if self._clock.monotonic() >= give_up:
                raise IntakeBusy(
                    f"an intake of {self._stage.value} is at work, or a drain-back that was killed less than a minute "
                    f"ago: switch the sensor {self._stage.value}_intake off, and try again in a minute"
                )
            self._clock.sleep(_LOOK_S)
        return hold

    def _drain(self, hold: LockHold, told: Callable[[DrainBackReport], None]) -> DrainBackReport:
        report = DrainBackReport()
        while leases := self._queue.claim(secrets.token_hex(8), BATCH, LEASE_MS).leases:
            try:
                if not self._locks.renew(hold, LOCK_MS):
                    raise StaleLease(
                        f"the lock of the intake of {self._stage.value} was lost; an intake may be at work"
                    )
                returned = self._publish(leases)
            except BaseException:
                self._give_back(leases)
                raise
            # Refused where the lease ran out meanwhile: the message is then in both places, under one identity.
            self._queue.ack(leases)
            buried = len(leases) - returned
            report = self._standing(report.returned + returned, report.buried + buried)
            told(report)
        logger.info(
            "%d entries of %s are back in %s", report.returned, self._queue.name, self._topic.value,
            extra=action("queue.drained_back", queue=self._queue.name, count=report.returned),
        )  # fmt: skip
        return self._standing(report.returned, report.buried)

    def _standing(self, returned: int, buried: int) -> DrainBackReport:
        depth = self._queue.depth()
        return DrainBackReport(returned, buried, depth.ready, depth.leased, depth.delayed)

    def _publish(self, leases: Sequence[Lease]) -> int:
        """Publish a batch; returns how many went to the topic, the others to the DLQ."""
        messages: list[Message] = []
        letters: list[Outgoing] = []
        now_ms = self._clock.now_ms()
        for lease in leases:
            try:
                messages.append(decode_envelope(lease.envelope))
            except Malformed as error:
                letters.append(dead_bytes(lease.member, lease.envelope, self._stage, "malformed", str(error), now_ms))
        records = [Outgoing.of(self._topic.value, message) for message in messages]
        refused: list[Message] = []
        try:
            if records:
                self._producer.publish(records)
        except RecordsRefused as error:
            # They would be refused for ever, and all behind them would stay where they are.
            refused = [each for each, record in zip(messages, records, strict=True) if error.includes(record)]
            letters += [dead_letter(message, self._stage, error.code, str(error), now_ms) for message in refused]
        if letters:
            bury(self._producer, letters)
        return len(messages) - len(refused)

    def _give_back(self, leases: Sequence[Lease]) -> None:
        try:
            self._queue.release(leases)
        except IssueTrackerError as error:
            # The cause is raised already; the leases run out within a minute.
            logger.warning("what is held comes back later: %s", error, extra=action("queue.unavailable"))
