"""Out of the frontier onto fetch's shelves: the best job of each due host, looked for on a thread of its own."""

import logging
import secrets
import threading
from collections.abc import Mapping

from issuetracker_dagster.errors import Malformed, TransientError
from issuetracker_dagster.flow.dead_letter import bury, dead_bytes
from issuetracker_dagster.flow.direct import OUTAGE_PAUSE_S
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.model.message import Message, decode_envelope
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Lease
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import Frontier
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)

LOOK_S, QUIET_LOOK_S = 0.1, 0.25
"""How often due hosts are looked for, and how often once nothing was due for ten looks: each is a call to Redis."""
QUIET_AFTER = 10
REAP_EVERY_S = 5.0
NO_ROOM_DELAY_MS = 300


class FrontierFeed:
    """Takes the best job of each due host, on a thread of its own, and puts it on the shelf of its priority.

    Jobs keep their leases while they wait there; from then on whoever takes them extends.
    """

    def __init__(
        self,
        frontier: Frontier,
        shelves: Mapping[Priority, Shelf],
        producer: Producer,
        clock: Clock,
        lease_ms: int = 60_000,
    ) -> None:
        self._frontier = frontier
        self._shelves = shelves
        self._producer = producer
        self._clock = clock
        self._lease_ms = lease_ms
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="frontier-feed", daemon=True)

    def start(self) -> None:
        """Begin to look for due hosts."""
        self._thread.start()

    def check(self) -> None:
        """Never raises: a bug only makes it look again later."""

    def close(self, timeout_s: float = 10.0) -> None:
        """Stop looking; bounded."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        next_reap = next_extension = self._clock.monotonic()
        in_vain = 0
        while not self._stop.is_set():
            try:
                if self._clock.monotonic() >= next_reap:
                    self._frontier.reap()
                    next_reap = self._clock.monotonic() + REAP_EVERY_S
                if self._clock.monotonic() >= next_extension:
                    self._extend_waiting()
                    next_extension = self._clock.monotonic() + self._lease_ms / 3000
                in_vain = 0 if self._hand_over() else in_vain + 1
                if in_vain:
                    self._stop.wait(LOOK_S if in_vain <= QUIET_AFTER else QUIET_LOOK_S)
            except TransientError as error:
                logger.warning("the frontier waits: %s", error, extra=action("redis.unavailable"))
                self._stop.wait(OUTAGE_PAUSE_S)
            except Exception:
                # Leases bring back what was in hand; without this thread every host's jobs would wait for ever.
                logger.exception("a bug at the frontier", extra=action("handler.bug", stage=Stage.FETCH.value))
                self._stop.wait(OUTAGE_PAUSE_S)

    def _extend_waiting(self) -> None:
        for shelf in self._shelves.values():
            for delivery in shelf.waiting():
                lease = delivery.receipt
                if isinstance(lease, Lease) and not self._frontier.extend(delivery.host, lease, self._lease_ms):
                    shelf.remove(delivery)

    def _hand_over(self) -> int:
        room = sum(shelf.room for shelf in self._shelves.values())
        if not room:
            return 0
        taken = self._frontier.take(secrets.token_hex(8), min(room, 20), self._lease_ms)
        for host, lease in taken:
            shelf = self._shelves[lease.priority]
            if not shelf.room:
                self._frontier.give_back(host, lease, self._clock.now_ms() + NO_ROOM_DELAY_MS)
                continue
            if message := self._open(host, lease):
                shelf.put([Delivery(message, lease, host)])
        return len(taken)

    def _open(self, host: str, lease: Lease) -> Message | None:
        try:
            return decode_envelope(lease.envelope)
        except Malformed as error:
            letter = dead_bytes(
                lease.member, lease.envelope, Stage.FETCH, "malformed", str(error), self._clock.now_ms()
            )
            bury(self._producer, [letter])
            self._frontier.ack(host, lease)
            return None
