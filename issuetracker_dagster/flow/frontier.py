"""Fetch's supply: three topics with a shelf each, and the frontier of jobs whose host wasn't due.

A job whose host isn't due, or has others waiting, lines up in the host's frontier and its Kafka offset is settled; when
the host is due its best job comes out first. So high overtakes low inside a host too, and waiting never holds a slot.
"""

import logging
from collections.abc import Sequence

from issuetracker_dagster.errors import Malformed, Unavailable
from issuetracker_dagster.flow.direct import KEPT_DELAY_MS, WAIT_S, TopicFeed
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.model.message import Message, Record
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.queue import Lease, queue_entry
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl, authority_of
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import Frontier

logger = logging.getLogger(__name__)


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
