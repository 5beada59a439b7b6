"""A crew: slots that claim, handle and settle messages of one stage until they are told to stop.

Each slot is a thread with its own claims: it takes about a millisecond's worth of messages at a time, so that a message
of high priority waits for one slow handler at most, and fast handlers still get batches. A slot outlives whatever a
handler does, short of the death of the process; one whose handler hangs is replaced.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.errors import IssueTrackerError, PermanentError, TransientError
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.flow.in_hand import InHand
from issuetracker_dagster.flow.settle import Done, Later, Settlement
from issuetracker_dagster.flow.slot import LeftBehind, Pool, Slot
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.tally import Tally
from issuetracker_dagster.flow.turns import Turns
from issuetracker_dagster.model.batching import BatchSize
from issuetracker_dagster.model.queue import is_suspect
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock

logger = logging.getLogger(__name__)

OUTAGE_PAUSE_S = 1.0
CLAIM_BUDGET_MS = 1.0
"""Work that one claim may take: how long a message of high priority may wait behind what was claimed before it."""
ALONE_DELAY_MS = 1_000
"""When a message that must be alone comes back while another one is."""
HUNG_LEASES, HUNG_AT_LEAST_S = 10, 300.0
"""After so many leases, and so many seconds, a handler is taken to hang: its message is tried again without it."""


class Work(Protocol):
    """What slots do with a message; neither ever raises for what the message or a server did."""

    def run(self, delivery: Delivery) -> Settlement:
        """Handle and settle."""

    def fail(self, delivery: Delivery, error: IssueTrackerError) -> Settlement:
        """Settle one whose handler had no say."""


class Crew:
    """The running slots of some pools. Start, wait, then `finish` exactly once. `urls` are locked by what they run."""

    def __init__(
        self,
        work: Work,
        pools: Sequence[Pool],
        clock: Clock,
        *,
        lease_ms: int = 60_000,
        max_batch: int = 100,
        max_deliveries: int = 5,
        urls: HeldUrls | None = None,
    ) -> None:
        self._work = work
        self._clock = clock
        self._lease_ms = lease_ms
        self._hung_after_s = max(HUNG_LEASES * lease_ms / 1000, HUNG_AT_LEAST_S)
        self._max_batch = max_batch
        self._max_deliveries = max_deliveries
        self._urls = urls
        self._stopping = threading.Event()
        self._finished = threading.Event()
        self._tally = Tally()
        self._in_hand = InHand((pool.source for pool in pools), self._tally)
        self._turns = Turns()
        self._lock = threading.Lock()
        self._slots = {
            slot: threading.Thread(target=self._live, args=(slot,), name=f"slot-{pool.name}-{number}", daemon=True)
            for pool in pools
            for number in range(pool.size)
            for slot in [Slot(pool)]
        }
        self._keeper = threading.Thread(target=self._keep_alive, name="lease-keeper", daemon=True)

    def start(self) -> None:
        """Let the slots claim."""
        for thread in (*self._slots.values(), self._keeper):
            thread.start()

    def stop(self) -> None:
        """Claim no more; what is in hand goes on."""
        self._stopping.set()

    def finish(self, timeout_s: float) -> Mapping[str, int]:
        """Stop, wait at most `timeout_s` for what is in hand, give the rest back; returns what happened, by kind."""
        self.stop()
        deadline = self._clock.monotonic() + timeout_s
        with self._lock:
            threads = list(self._slots.values())
        for thread in threads:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        for source in self._in_hand.sources:
            self._in_hand.give_back(source, self._in_hand.of(source))
        self._finished.set()
        self._keeper.join(timeout=5)
        return self.counts()

    def counts(self) -> Mapping[str, int]:
        """What has happened so far, by kind of settlement."""
        return self._tally.counts()

    def _live(self, slot: Slot) -> None:
        batch = BatchSize(budget_ms=CLAIM_BUDGET_MS, most=self._max_batch)
        while self._turns.enter(self._stopping.is_set):
            claimed: Sequence[Delivery] = ()
            try:
                if not self._stopping.is_set():
                    claimed = self._claim(slot, batch.next())
                    self._work_through(slot, claimed, batch)
            except TransientError as error:
                self._tally.waits(slot.pool.name, error)
                self._in_hand.keep(slot.source, [one for one in claimed if one not in slot.acks])
                self._stopping.wait(OUTAGE_PAUSE_S)
            except Exception:
                # A bug below the handlers: the slot lives on, and what it held is delivered again.
                self._tally.count("slot_bugs")
                logger.exception("a bug in a slot of %s", slot.pool.name, extra=action("handler.bug"))
                self._in_hand.keep(slot.source, [one for one in claimed if one not in slot.acks])
                self._stopping.wait(OUTAGE_PAUSE_S)
            if slot.is_abandoned:
                return  # its turn went with its message
            if self._stopping.is_set() or not self._turns.are_open:
                self._ack(slot)  # whatever happens to the one who works alone next isn't the fault of these
            self._turns.leave()
            if self._stopping.is_set():
                return
        self._ack(slot)

    def _claim(self, slot: Slot, limit: int) -> Sequence[Delivery]:
        self._in_hand.forget(slot.source, slot.acks)
        claimed = slot.source.claim(limit, slot.acks)
        self._tally.goes_on(slot.pool.name)
        slot.acks = []
        self._in_hand.remember(slot.source, claimed)
        return claimed

    def _work_through(self, slot: Slot, claimed: Sequence[Delivery], batch: BatchSize) -> None:
        """Handle a claimed batch in order; successes are added to the acks, which ride on the next claim."""
        for position, delivery in enumerate(claimed):
            if self._stopping.is_set():
                self._in_hand.give_back(slot.source, claimed[position:])
                break
            started = self._clock.monotonic()
            settlement = self._handle(slot, delivery, claimed[position + 1 :])
            if settlement is None:
                return
            batch.observe(1, (self._clock.monotonic() - started) * 1000)
            self._settled(slot, delivery, settlement)

    def _settled(self, slot: Slot, delivery: Delivery, settlement: Settlement) -> None:
        self._tally.count(settlement.kind)
        if isinstance(settlement, Done) and settlement.succeeded:
            slot.acks.append(delivery)
            return
        self._in_hand.answer(slot.source, delivery, settlement)
        if isinstance(settlement, Later) and settlement.is_outage:
            # Each message in line would be taken, fail at the same server and be put off: thousands of tries a second.
            self._stopping.wait(OUTAGE_PAUSE_S)

    def _handle(self, slot: Slot, delivery: Delivery, rest: Sequence[Delivery]) -> Settlement | None:
        """How the message ended; None when it was taken from this slot because its handler hung."""
        count = slot.source.begin(delivery, alone=False)
        if count > self._max_deliveries:
            words = f"its worker died {count - 1} times"
            return self._work.fail(delivery, PermanentError(words, code="max_deliveries"))
        if not is_suspect(count, self._max_deliveries):
            return self._run(slot, delivery, rest)
        self._ack(slot)
        if not self._turns.alone(self._stopping.is_set):
            return Later(ALONE_DELAY_MS, kind="waited_to_be_alone")
        slot.is_alone = True
        try:
            slot.source.begin(delivery, alone=True)
            return self._run(slot, delivery, rest)
        finally:
            slot.is_alone = False
            if not slot.is_abandoned:
                self._turns.shared_again()

    def _run(self, slot: Slot, delivery: Delivery, rest: Sequence[Delivery]) -> Settlement | None:
        slot.begin(delivery, rest, self._clock.monotonic())
        try:
            settlement = self._work.run(delivery)
        finally:
            is_mine = slot.done()
        return settlement if is_mine else None

    def _replace_hung(self) -> None:
        """Slots whose handler hangs are left to themselves, and others take their place."""
        with self._lock:
            slots = list(self._slots)
        for hung in slots:
            left = hung.abandon(self._clock.monotonic() - self._hung_after_s)
            if left is None:
                continue
            self._turns.leave(alone=left.alone)
            successor = Slot(hung.pool)

            def succeed(left: LeftBehind = left, slot: Slot = successor) -> None:
                self._answer_for(slot, left)
                self._live(slot)

            thread = threading.Thread(target=succeed, name=f"slot-{hung.pool.name}-again", daemon=True)
            with self._lock:
                del self._slots[hung]
                self._slots[successor] = thread
            thread.start()

    def _answer_for(self, slot: Slot, left: LeftBehind) -> None:
        """What the slot before this one can't do any more; its thread may still come to an end, but has no say."""
        slot.acks = list(left.acks)
        try:
            if self._urls:
                self._urls.abandon(left.delivery.message.headers.root_id)
            self._in_hand.give_back(slot.source, left.rest)
            words = f"the handler gave no answer within {self._hung_after_s:.0f} s"
            settlement = self._work.fail(left.delivery, TransientError(words))
            self._settled(slot, left.delivery, msgspec.structs.replace(settlement, kind=f"hung_{settlement.kind}"))
        except Exception:
            self._tally.count("slot_bugs")
            logger.exception("a bug in a slot of %s", slot.pool.name, extra=action("handler.bug"))
            self._in_hand.keep(slot.source, [left.delivery])

    def _keep_alive(self) -> None:
        """Extend what is in hand, and the locks on its URLs, every third of a lease until the slots are done."""
        while not self._finished.wait(self._lease_ms / 3000):
            for source in self._in_hand.sources:
                self._in_hand.extend(source)
            try:
                if self._urls:
                    self._urls.prolong()
                if not self._stopping.is_set():
                    self._replace_hung()
            except Exception:
                logger.exception("a bug while slots were looked after", extra=action("handler.bug"))

    def _ack(self, slot: Slot) -> None:
        acks, slot.acks = slot.acks, []
        self._in_hand.ack(slot.source, acks)
