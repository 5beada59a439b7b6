"""Where a crew takes its work from, as one protocol over leased queues and Kafka itself."""

import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.flow.dead_letter import bury, dead_bytes
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.model.message import Message, Record, decode_envelope
from issuetracker_dagster.model.queue import SUSPECT_DEATHS, Lease
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.queue import StageQueue
from issuetracker_dagster.ports.topics import Producer


class Delivery(msgspec.Struct, frozen=True):
    """A message in the hands of a worker. `receipt` is what its source needs to settle it."""

    message: Message
    receipt: Lease | Record
    host: str = ""


class WorkSource(Protocol):
    """One pool's supply of messages. Called from all slots of the pool at once. Raises `Unavailable`."""

    def claim(self, limit: int, acks: Sequence[Delivery]) -> Sequence[Delivery]:
        """Acknowledge `acks`, then take up to `limit` messages; waits a moment when there are none.

        When it raises, the acks may or may not have happened; they may be given again.
        """

    def begin(self, delivery: Delivery, *, alone: bool) -> int:
        """Its handler is about to run; returns its starts that may have cost a worker its life, this one included.

        Where no lease counts them they are written first. A message that turns out to be suspect hasn't been begun, as
        long as it isn't `alone` in its process. Never raises for a server that is out.
        """

    def ack(self, deliveries: Sequence[Delivery]) -> int:
        """Acknowledge now; returns how many were refused because another worker holds them by now."""

    def nack(self, delivery: Delivery, delay_ms: int, replacement: Message | None) -> None:
        """Deliver again after a delay, as `replacement` when given."""

    def defer(self, delivery: Delivery, host: str, due_ms: int) -> None:
        """Line up in the host's frontier."""

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Give back at once, at the original place."""

    def keep(self, delivery: Delivery) -> None:
        """It got no answer: have it delivered again. Asks no server; a lease that isn't extended does it by itself."""

    def extend(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        """A sign of life for messages in hand; returns those that were lost to another worker."""

    def close(self) -> None: ...


class QueueSource:
    """Work from a stage queue. Poisonous envelopes go to the DLQ here, so that slots only see messages.

    The queue counts lost leases, whatever ended the worker. The first `in_company` of them make a message suspect; from
    then on only its starts `alone` count, since a lease is also lost while it waits for its turn.
    """

    def __init__(
        self,
        stage: Stage,
        queue: StageQueue,
        producer: Producer,
        clock: Clock,
        *,
        alone: StartCounts,
        in_company: int = SUSPECT_DEATHS,
        lease_ms: int = 60_000,
        pop_timeout_ms: int = 1_000,
    ) -> None:
        self._stage = stage
        self._queue = queue
        self._producer = producer
        self._alone = alone
        self._in_company = in_company
        self._clock = clock
        self._lease_ms = lease_ms
        self._pop_timeout_ms = pop_timeout_ms
        self._refused = 0
        self._refused_lock = threading.Lock()

    @property
    def refused_acks(self) -> int:
        """Acks that came too late, so far."""
        return self._refused

    def claim(self, limit: int, acks: Sequence[Delivery]) -> Sequence[Delivery]:
        claim = self._queue.claim(secrets.token_hex(8), limit, self._lease_ms, _leases(acks))
        self._count_refused(len(claim.refused))
        self._ended(acks)
        if not claim.leases:
            self._queue.wait(self._pop_timeout_ms)
        return [delivery for lease in claim.leases if (delivery := self._open(lease))]

    def begin(self, delivery: Delivery, *, alone: bool) -> int:
        deliveries = _lease(delivery).deliveries
        if deliveries <= self._in_company:
            return deliveries
        return self._in_company + self._alone.begin(delivery.message, alone=alone)

    def ack(self, deliveries: Sequence[Delivery]) -> int:
        refused = len(self._queue.ack(_leases(deliveries))) if deliveries else 0
        self._count_refused(refused)
        self._ended(deliveries)
        return refused

    def nack(self, delivery: Delivery, delay_ms: int, replacement: Message | None) -> None:  # noqa: ARG002
        self._withdraw([delivery])
        self._queue.nack(_lease(delivery), delay_ms)

    def defer(self, delivery: Delivery, host: str, due_ms: int) -> None:  # noqa: ARG002
        self._withdraw([delivery])
        self._queue.nack(_lease(delivery), max(0, due_ms - self._clock.now_ms()))

    def release(self, deliveries: Sequence[Delivery]) -> None:
        self._withdraw(deliveries)
        if deliveries:
            self._queue.release(_leases(deliveries))

    def keep(self, delivery: Delivery) -> None:
        """Its lease runs out; what was counted of it is taken back with the next claim."""
        self._alone.withdrawn(delivery.message)

    def extend(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        stale = set(self._queue.extend(_leases(deliveries), self._lease_ms)) if deliveries else set()
        return [delivery for delivery in deliveries if _lease(delivery).member in stale]

    def close(self) -> None:
        """Leases are given back by whoever holds them."""
        self._alone.close()

    def _ended(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in self._suspects(deliveries):
            self._alone.ended(delivery.message)
        self._alone.flush()

    def _withdraw(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in self._suspects(deliveries):
            self._alone.withdrawn(delivery.message)
        self._alone.flush()

    def _suspects(self, deliveries: Sequence[Delivery]) -> Iterator[Delivery]:
        """Those that have a count of their own, which is next to none."""
        return (delivery for delivery in deliveries if _lease(delivery).deliveries > self._in_company)

    def _open(self, lease: Lease) -> Delivery | None:
        try:
            return Delivery(decode_envelope(lease.envelope), lease)
        except Malformed as error:
            now_ms = self._clock.now_ms()
            letter = dead_bytes(lease.member, lease.envelope, self._stage, "malformed", str(error), now_ms)
            bury(self._producer, [letter])
            self._queue.ack([lease])
            return None

    def _count_refused(self, count: int) -> None:
        if count:
            with self._refused_lock:
                self._refused += count


def _lease(delivery: Delivery) -> Lease:
    if not isinstance(delivery.receipt, Lease):
        raise TypeError(f"{delivery.message.identity} wasn't claimed from a queue")
    return delivery.receipt


def _leases(deliveries: Sequence[Delivery]) -> list[Lease]:
    return [_lease(delivery) for delivery in deliveries]
