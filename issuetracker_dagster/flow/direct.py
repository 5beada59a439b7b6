"""Work straight from Kafka: one thread reads for all slots of a shift, and hands over by shelves.

Used by a stage whose intake is off (or that has no Redis), and by fetch, which has a shelf a priority.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from issuetracker_dagster.errors import IssueTrackerError, Malformed, Unavailable
from issuetracker_dagster.flow.intake_positions import ends
from issuetracker_dagster.flow.malformed import MalformedRecords
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.starts import StartCounts
from issuetracker_dagster.model.message import Message, Record, message_of
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.topics import GroupReader, Producer, TopicPartition

logger = logging.getLogger(__name__)

POLL_MS, FULL_POLL_MS = 500, 200
"""How long a poll waits for records; less while a shelf is full, whose topic is resumed between two polls."""
COMMIT_EVERY_S = 1.0
OUTAGE_PAUSE_S = 1.0
WAIT_S = 1.0
"""How long a slot waits at an empty shelf, which wakes it for whatever is put there."""
KEPT_DELAY_MS = 30_000
"""When a record that got no answer is handed out again; about what a lease would take."""


class TopicFeed:
    """Reads a stage's topics in its group on a thread of its own and fills a shelf for each topic.

    `confirm` makes sure that what was moved elsewhere (to the frontier) is on disk before offsets say so. A bug ends
    the thread; `check` tells.
    """

    def __init__(
        self,
        stage: Stage,
        reader: GroupReader,
        shelves: Mapping[str, Shelf],
        producer: Producer,
        clock: Clock,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self._stage = stage
        self._reader = reader
        self._shelves = shelves
        self._clock = clock
        self._confirm = confirm
        self._moved: list[Record] = []
        self._moved_lock = threading.Lock()
        self._bug: Exception | None = None
        self._stop = threading.Event()
        self._paused: set[str] = set()
        self._malformed: list[tuple[Record, str]] = []
        self._burials = MalformedRecords(stage, producer, clock)
        self._thread = threading.Thread(target=self._run, name=f"{stage.value}-feed", daemon=True)
        self._told_of_revoked: list[Callable[[frozenset[TopicPartition]], None]] = []
        reader.on_revoked(self._on_revoked)

    def start(self) -> None:
        """Join the group and begin to read."""
        self._thread.start()

    def on_revoked(self, told: Callable[[frozenset[TopicPartition]], None]) -> None:
        """Have `told` called, and quickly answered, with partitions that went to other members."""
        self._told_of_revoked.append(told)

    def settled(self, records: Sequence[Record]) -> None:
        """These are done with; their offsets are committed in order."""
        self._reader.settled(records)

    def moved(self, record: Record) -> None:
        """This one was stored elsewhere; it is settled once `confirm` has returned, since the reader commits whatever
        is settled whenever it likes.
        """
        with self._moved_lock:
            self._moved.append(record)

    def check(self) -> None:
        """Raises the bug that ended the reading, if one did."""
        if self._bug is not None:
            raise self._bug

    def close(self, timeout_s: float = 10.0) -> None:
        """Stop reading, commit what is settled, leave the group; bounded."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:
            # What was polled may have got lost on the way to the shelves: only a new reader can be trusted.
            logger.exception("a bug ended the reading of %s", self._stage.value, extra=action("handler.bug"))
            self._bug = error
        finally:
            for last in (self._settle_moved, self._reader.close):
                try:
                    last()
                except Unavailable as error:
                    logger.warning("left without a last commit: %s", error, extra=action("kafka.unavailable"))

    def _read(self) -> None:
        next_commit = self._clock.monotonic() + COMMIT_EVERY_S
        while not self._stop.is_set():
            try:
                self._pause_full_shelves()
                self._hand_over(self._reader.poll(100, FULL_POLL_MS if self._paused else POLL_MS))
                self._bury_malformed()
                if self._clock.monotonic() >= next_commit:
                    self._settle_moved()
                    self._reader.commit()
                    next_commit = self._clock.monotonic() + COMMIT_EVERY_S
            except IssueTrackerError as error:
                logger.warning("reading waits: %s", error, extra=action("kafka.unavailable"))
                self._stop.wait(OUTAGE_PAUSE_S)

    def _settle_moved(self) -> None:
        with self._moved_lock:
            moved = tuple(self._moved)
        if moved:
            self._confirm()
            self._reader.settled(moved)
            with self._moved_lock:
                del self._moved[: len(moved)]

    def _pause_full_shelves(self) -> None:
        full = {topic for topic, shelf in self._shelves.items() if shelf.is_full}
        if full - self._paused:
            self._reader.pause(sorted(full - self._paused))
        if self._paused - full:
            self._reader.resume(sorted(self._paused - full))
        self._paused = full

    def _hand_over(self, records: Sequence[Record]) -> None:
        by_topic: dict[str, list[Delivery]] = defaultdict(list)
        for record in records:
            try:
                by_topic[record.origin.topic].append(Delivery(message_of(record), record))
            except Malformed as error:
                self._malformed.append((record, str(error)))
        for topic, deliveries in by_topic.items():
            self._shelves[topic].put(deliveries)

    def _bury_malformed(self) -> None:
        """Kept in a list until the DLQ has them, since a record that was polled isn't polled again."""
        if not self._malformed:
            return
        self._burials.bury(self._malformed)
        records = [record for record, _ in self._malformed]
        self._reader.settled(records)
        self._burials.forget(ends(records, set()))
        self._malformed.clear()

    def _on_revoked(self, revoked: frozenset[TopicPartition]) -> None:
        logger.info("%d partitions went to other members", len(revoked), extra=action("kafka.rebalanced"))
        for shelf in self._shelves.values():
            shelf.drop(revoked)
        for told in self._told_of_revoked:
            told(revoked)


class DirectSource:
    """A pool's view of a feed: its shelf to take from, the feed to settle with, and counts of what was begun."""

    def __init__(self, feed: TopicFeed, shelf: Shelf, starts: StartCounts) -> None:
        self._feed = feed
        self._shelf = shelf
        self._starts = starts
        feed.on_revoked(starts.handed_over)

    def claim(self, limit: int, acks: Sequence[Delivery]) -> Sequence[Delivery]:
        self.ack(acks)
        taken = self._shelf.take(limit, WAIT_S)
        if not taken:
            self._starts.flush()
        return taken

    def begin(self, delivery: Delivery, *, alone: bool) -> int:
        origin = _record(delivery).origin
        return self._starts.begin(delivery.message, alone=alone, read_from=(origin.topic, origin.partition))

    def ack(self, deliveries: Sequence[Delivery]) -> int:
        if deliveries:
            self._feed.settled([_record(delivery) for delivery in deliveries])
        for delivery in deliveries:
            self._starts.ended(delivery.message)
        return 0

    def nack(self, delivery: Delivery, delay_ms: int, replacement: Message | None) -> None:
        self._starts.withdrawn(delivery.message)
        message = replacement or delivery.message
        self._shelf.put_later(Delivery(message, delivery.receipt, delivery.host), delay_ms)

    def defer(self, delivery: Delivery, host: str, due_ms: int) -> None:
        raise TypeError(
            f"{host} isn't due before {due_ms}, but this stage has no frontier ({delivery.message.identity})"
        )

    def keep(self, delivery: Delivery) -> None:
        self._starts.withdrawn(delivery.message)
        self._shelf.put_later(delivery, KEPT_DELAY_MS)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Back on the shelf; what isn't taken from there is delivered again by Kafka once this member has left."""
        for delivery in deliveries:
            self._starts.withdrawn(delivery.message)
        self._shelf.put_back(deliveries)

    def extend(self, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:  # noqa: ARG002
        return []

    def close(self) -> None:
        self._shelf.clear()
        self._starts.close()


def _record(delivery: Delivery) -> Record:
    if not isinstance(delivery.receipt, Record):
        raise TypeError(f"{delivery.message.identity} wasn't read from Kafka")
    return delivery.receipt
