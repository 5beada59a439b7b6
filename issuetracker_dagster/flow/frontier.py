"""Fetch's supply: three topics with a shelf each, and the frontier of jobs whose host wasn't due.

A job whose host isn't due, or has others waiting, lines up in the host's frontier and its Kafka offset is settled; when
the host is due its best job comes out first. So high overtakes low inside a host too, and waiting never holds a slot.
"""

import logging
import secrets
import threading
from collections.abc import Mapping, Sequence

from issuetracker_dagster.errors import Malformed, TransientError, Unavailable
from issuetracker_dagster.flow.dead_letter import bury, dead_bytes
from issuetracker_dagster.flow.direct import KEPT_DELAY_MS, OUTAGE_PAUSE_S, WAIT_S, TopicFeed
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.model.message import Message, Record, decode_envelope
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Lease, queue_entry
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl, authority_of
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


class FetchSource:
    """One priority's pool: its shelf to take from; Kafka records and frontier leases settle each in their way.

    Starts are counted here for both: a delivery by the frontier may only be a place on the shelf of a worker that died.
    """

    def __init__(
        self,
        feed: TopicFeed,
        frontier: Frontier,
        shelf: Shelf,
        starts: StartCounts,
        clock: Clock,
        lease_ms: int = 60_000,
    ) -> None:
        self._feed = feed
        self._frontier = frontier
        self._shelf = shelf
        self._starts = starts
        self._clock = clock
        self._lease_ms = lease_ms
        feed.on_revoked(starts.handed_over)

    def claim(self, limit: int, acks: Sequence[Delivery]) -> Sequence[Delivery]:
        self.ack(acks)
        taken = self._shelf.take(limit, WAIT_S)
        if not taken:
            self._starts.flush()
        mine: list[Delivery] = []
        for position, delivery in enumerate(taken):
            try:
                if not self._lines_up(delivery):
                    mine.append(delivery)
            except Exception:
                self._shelf.put(mine + taken[position:])  # nothing that was taken may be forgotten
                raise
        return mine

    def begin(self, delivery: Delivery, *, alone: bool) -> int:
        record = delivery.receipt if isinstance(delivery.receipt, Record) else None
        read_from = (record.origin.topic, record.origin.partition) if record else None
        return self._starts.begin(delivery.message, alone=alone, read_from=read_from)

    def ack(self, deliveries: Sequence[Delivery]) -> int:
        for delivery in deliveries:
            if isinstance(delivery.receipt, Record):
                self._feed.settled([delivery.receipt])
            else:
                self._frontier.ack(delivery.host, delivery.receipt)
            self._starts.ended(delivery.message)
        return 0

    def nack(self, delivery: Delivery, delay_ms: int, replacement: Message | None) -> None:
        self._starts.withdrawn(delivery.message)
        if isinstance(delivery.receipt, Record):
            message = replacement or delivery.message
            self._shelf.put_later(Delivery(message, delivery.receipt, delivery.host), delay_ms)
        else:
            self._frontier.give_back(delivery.host, delivery.receipt, self._clock.now_ms() + delay_ms)

    def defer(self, delivery: Delivery, host: str, due_ms: int) -> None:
        self._starts.withdrawn(delivery.message)
        if isinstance(delivery.receipt, Record):
            self._frontier.defer(host, queue_entry(delivery.message), due_ms)
            self._feed.moved(delivery.receipt)
        elif host == delivery.host:
            self._frontier.give_back(host, delivery.receipt, due_ms)
        else:
            # A redirect led to a host that isn't due; the other jobs of the first one needn't wait for that.
            self._frontier.defer(host, queue_entry(delivery.message), due_ms)
            self._frontier.ack(delivery.host, delivery.receipt)

    def keep(self, delivery: Delivery) -> None:
        self._starts.withdrawn(delivery.message)
        if isinstance(delivery.receipt, Record):
            self._shelf.put_later(delivery, KEPT_DELAY_MS)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            self._starts.withdrawn(delivery.message)
        self._shelf.put_back([delivery for delivery in deliveries if isinstance(delivery.receipt, Record)])
        for delivery in deliveries:
            if isinstance(delivery.receipt, Lease):
                self._frontier.give_back(delivery.host, delivery.receipt, self._clock.now_ms())

    def extend(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
        return [
            delivery
            for delivery in deliveries
            if isinstance(delivery.receipt, Lease)
            and not self._frontier.extend(delivery.host, delivery.receipt, self._lease_ms)
        ]

    def close(self) -> None:
        """Give back what was taken from the frontier and not begun; Kafka delivers the rest again."""
        try:
            self.release(self._shelf.waiting())
        except Unavailable as error:
            logger.warning("leases run out by themselves: %s", error, extra=action("redis.unavailable"))
        self._shelf.clear()
        self._starts.close()

    def _lines_up(self, delivery: Delivery) -> bool:
        """Behind others of its host, with all of them that were read: an archive comes by thousands, others wait."""
        host = host_of_record(delivery)
        if not host or not self._frontier.waiting(host):
            return False
        company = self._shelf.take_those(lambda other: host_of_record(other) == host)
        try:
            self._frontier.line_up(host, [queue_entry(one.message) for one in (delivery, *company)])
        except Exception:
            self._shelf.put_back(company)
            raise
        for one in (delivery, *company):
            if isinstance(one.receipt, Record):
                self._feed.moved(one.receipt)
        return True


def host_of_record(delivery: Delivery) -> str:
    """The authority of a crawl job from Kafka; empty for one that doesn't decode, which its handler will refuse."""
    if not isinstance(delivery.receipt, Record):
        return ""
    try:
        return authority_of(decode_payload(CrawlJob, delivery.message.value).url)
    except (Malformed, BadUrl):
        return ""
