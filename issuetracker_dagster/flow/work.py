"""A crew: slots that claim, handle and settle messages of one stage until they are told to stop.

Each slot is a thread with its own claims: it takes about a millisecond's worth of messages at a time, so that a message
of high priority waits for one slow handler at most, and fast handlers still get batches.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.flow.settle import Deferred, Done, Kept, Later, Settlement
from issuetracker_dagster.flow.sources import Delivery, WorkSource
from issuetracker_dagster.model.batching import BatchSize
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock

logger = logging.getLogger(__name__)

OUTAGE_PAUSE_S = 1.0
CLAIM_BUDGET_MS = 1.0
"""Work that one claim may take: how long a message of high priority may wait behind what was claimed before it."""


class Pool(msgspec.Struct, frozen=True):
    """Slots that share a source."""

    source: WorkSource
    size: int
    name: str = ""


class Crew:
    """The running slots of some pools. Start, wait, then `finish` exactly once. `urls` are locked by what they run."""

    def __init__(
        self,
        run: Callable[[Delivery], Settlement],
        pools: Sequence[Pool],
        clock: Clock,
        *,
        lease_ms: int = 60_000,
        max_batch: int = 100,
        urls: HeldUrls | None = None,
    ) -> None:
        self._run = run
        self._pools = tuple(pools)
        self._clock = clock
        self._lease_ms = lease_ms
        self._max_batch = max_batch
        self._urls = urls
        self._stopping = threading.Event()
        self._finished = threading.Event()
        self._counts: Counter[str] = Counter()
        self._waiting: set[str] = set()
        self._lock = threading.Lock()
        self._in_hand: dict[WorkSource, dict[int, Delivery]] = {pool.source: {} for pool in self._pools}
        self._threads = [
            threading.Thread(target=self._slot, args=(pool,), name=f"slot-{pool.name}-{number}", daemon=True)
            for pool in self._pools
            for number in range(pool.size)
        ]
        self._keeper = threading.Thread(target=self._keep_leases, name="lease-keeper", daemon=True)

    def start(self) -> None:
        """Let the slots claim."""
        for thread in (*self._threads, self._keeper):
            thread.start()

    def stop(self) -> None:
        """Claim no more; what is in hand goes on."""
        self._stopping.set()

    def finish(self, timeout_s: float) -> Mapping[str, int]:
        """Stop, wait at most `timeout_s` for what is in hand, give the rest back; returns what happened, by kind."""
        self.stop()
        deadline = self._clock.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        for source, deliveries in self._in_hand.items():
            self._give_back(source, self._held(deliveries))
        self._finished.set()
        self._keeper.join(timeout=5)
        return self.counts()

    def counts(self) -> Mapping[str, int]:
        """What has happened so far, by kind of settlement."""
        with self._lock:
            return dict(self._counts)

    def _slot(self, pool: Pool) -> None:
        batch = BatchSize(budget_ms=CLAIM_BUDGET_MS, most=self._max_batch)
        acks: list[Delivery] = []
        while not self._stopping.is_set():
            claimed: Sequence[Delivery] = ()
            try:
                self._forget(pool.source, acks)
                claimed = pool.source.claim(batch.next(), acks)
                self._goes_on(pool)
                acks = []
                self._remember(pool.source, claimed)
                self._work_through(pool.source, claimed, batch, acks)
            except TransientError as error:
                self._waits(pool, error)
                self._keep(pool.source, claimed, acks)
                self._stopping.wait(OUTAGE_PAUSE_S)
            except Exception:
                # A bug below the handlers: the slot lives on, and what it held is delivered again.
                self._count("slot_bugs")
                logger.exception("a bug in a slot of %s", pool.name, extra=action("handler.bug"))
                self._keep(pool.source, claimed, acks)
                self._stopping.wait(OUTAGE_PAUSE_S)
        self._ack(pool.source, acks)

    def _waits(self, pool: Pool, error: TransientError) -> None:
        """One warning an outage and pool; each slot asks again every second."""
        self._count("paused")
        with self._lock:
            is_news = pool.name not in self._waiting
            self._waiting.add(pool.name)
        level = logging.WARNING if is_news else logging.DEBUG
        logger.log(level, "the slots of %s wait: %s", pool.name, error, extra=action("shift.paused", pool=pool.name))

    def _goes_on(self, pool: Pool) -> None:
        with self._lock:
            if pool.name not in self._waiting:
                return
            self._waiting.remove(pool.name)
        logger.info("the slots of %s go on", pool.name, extra=action("shift.resumed", pool=pool.name))

    def _work_through(
        self, source: WorkSource, claimed: Sequence[Delivery], batch: BatchSize, acks: list[Delivery]
    ) -> None:
        """Handle a claimed batch in order; successes are added to `acks`, which ride on the next claim."""
        for position, delivery in enumerate(claimed):
            if self._stopping.is_set():
                self._give_back(source, claimed[position:])
                break
            started = self._clock.monotonic()
            settlement = self._run(delivery)
            batch.observe(1, (self._clock.monotonic() - started) * 1000)
            self._count(settlement.kind)
            if isinstance(settlement, Done) and settlement.succeeded:
                acks.append(delivery)
            else:
                self._answer(source, delivery, settlement)

    def _answer(self, source: WorkSource, delivery: Delivery, settlement: Settlement) -> None:
        self._forget(source, [delivery])
        try:
            match settlement:
                case Done():
                    source.ack([delivery])
                case Later(delay_ms, message):
                    source.nack(delivery, delay_ms, message)
                case Deferred(host, at_ms):
                    source.defer(delivery, host, at_ms)
                case Kept():
                    source.keep(delivery)
        except Exception as error:
            # Not acknowledged, so it comes back; what was done for it is repeated then.
            source.keep(delivery)
            if not isinstance(error, TransientError):
                raise
            logger.warning("an answer was lost: %s", error, extra=action("queue.unavailable"))

    def _ack(self, source: WorkSource, acks: Sequence[Delivery]) -> None:
        self._forget(source, acks)
        try:
            source.ack(acks)
        except TransientError as error:
            logger.warning("acks were lost: %s", error, extra=action("queue.unavailable"))

    def _keep(self, source: WorkSource, claimed: Sequence[Delivery], acks: Sequence[Delivery]) -> None:
        """Have what was claimed and got no answer delivered again."""
        unanswered = [delivery for delivery in claimed if delivery not in acks and self._is_held(source, delivery)]
        self._forget(source, unanswered)
        for delivery in unanswered:
            source.keep(delivery)

    def _give_back(self, source: WorkSource, deliveries: Sequence[Delivery]) -> None:
        self._forget(source, deliveries)
        try:
            source.release(deliveries)
        except TransientError as error:
            logger.warning("leases run out by themselves: %s", error, extra=action("queue.unavailable"))
        self._count("released", len(deliveries))

    def _keep_leases(self) -> None:
        """Extend what is in hand, and the locks on its URLs, every third of a lease until the slots are done."""
        while not self._finished.wait(self._lease_ms / 3000):
            for source, deliveries in self._in_hand.items():
                self._extend(source, self._held(deliveries))
            self._keep_locks()

    def _keep_locks(self) -> None:
        try:
            if self._urls:
                self._urls.prolong()
        except Exception:
            logger.exception("a bug while locks were prolonged", extra=action("handler.bug"))

    def _extend(self, source: WorkSource, held: Sequence[Delivery]) -> None:
        try:
            lost = source.extend(held)
        except TransientError as error:
            logger.warning("leases weren't extended: %s", error, extra=action("queue.unavailable"))
            return
        except Exception:
            # Whatever a bug here costs, it isn't the thread: without it every slow message would be handled twice.
            logger.exception("a bug while leases were extended", extra=action("handler.bug"))
            return
        # What was answered while this went on isn't lost: whoever answers forgets first.
        lost = [delivery for delivery in lost if self._is_held(source, delivery)]
        if lost:
            self._count("leases_lost", len(lost))
            logger.warning("%d leases were lost", len(lost), extra=action("lease.expired", count=len(lost)))
            self._forget(source, lost)

    def _held(self, deliveries: Mapping[int, Delivery]) -> list[Delivery]:
        with self._lock:
            return list(deliveries.values())

    def _is_held(self, source: WorkSource, delivery: Delivery) -> bool:
        with self._lock:
            return id(delivery) in self._in_hand[source]

    def _remember(self, source: WorkSource, deliveries: Sequence[Delivery]) -> None:
        with self._lock:
            self._in_hand[source].update({id(delivery): delivery for delivery in deliveries})

    def _forget(self, source: WorkSource, deliveries: Sequence[Delivery]) -> None:
        with self._lock:
            for delivery in deliveries:
                self._in_hand[source].pop(id(delivery), None)

    def _count(self, kind: str, amount: int = 1) -> None:
        with self._lock:
            self._counts[kind] += amount
