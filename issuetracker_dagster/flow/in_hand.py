"""What the slots of a crew hold, by source: signs of life for it, and the answer to each."""

import logging
import threading
from collections.abc import Iterable, Sequence

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.settle import Deferred, Done, Kept, Later, Settlement
from issuetracker_dagster.flow.sources import Delivery, WorkSource
from issuetracker_dagster.flow.tally import Tally
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)


class InHand:
    """Claimed and not yet answered deliveries. Thread-safe; whoever answers one forgets it first."""

    def __init__(self, sources: Iterable[WorkSource], tally: Tally) -> None:
        self._tally = tally
        self._lock = threading.Lock()
        self._held: dict[WorkSource, dict[int, Delivery]] = {source: {} for source in sources}

    @property
    def sources(self) -> Sequence[WorkSource]:
        return tuple(self._held)

    def remember(self, source: WorkSource, deliveries: Sequence[Delivery]) -> None:
        """These were claimed."""
        with self._lock:
            self._held[source].update({id(delivery): delivery for delivery in deliveries})

    def forget(self, source: WorkSource, deliveries: Sequence[Delivery]) -> None:
        """These are about to be answered, or were lost."""
        with self._lock:
            for delivery in deliveries:
                self._held[source].pop(id(delivery), None)

    def of(self, source: WorkSource) -> list[Delivery]:
        """What is held of a source now."""
        with self._lock:
            return list(self._held[source].values())

    def holds(self, source: WorkSource, delivery: Delivery) -> bool:
        with self._lock:
            return id(delivery) in self._held[source]

    def extend(self, source: WorkSource) -> None:
        """A sign of life for all that is held, and a count of what was lost to other workers. Never raises."""
        try:
            lost = source.extend(self.of(source))
        except TransientError as error:
            logger.warning("leases weren't extended: %s", error, extra=action("queue.unavailable"))
            return
        except Exception:
            # Whatever a bug here costs, it isn't the thread: without it every slow message would be handled twice.
            logger.exception("a bug while leases were extended", extra=action("handler.bug"))
            return
        # What was answered while this went on isn't lost.
        lost = [delivery for delivery in lost if self.holds(source, delivery)]
        if lost:
            logger.warning("%d leases were lost", len(lost), extra=action("lease.expired", count=len(lost)))
            self._tally.count("leases_lost", len(lost))
            self.forget(source, lost)

    def answer(self, source: WorkSource, delivery: Delivery, settlement: Settlement) -> None:
        """Tell the source at once how a message was settled."""
        self.forget(source, [delivery])
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

    def ack(self, source: WorkSource, acks: Sequence[Delivery]) -> None:
        """Acknowledge now; what can't be is delivered again."""
        self.forget(source, acks)
        try:
            source.ack(acks)
        except TransientError as error:
            logger.warning("acks were lost: %s", error, extra=action("queue.unavailable"))

    def keep(self, source: WorkSource, claimed: Sequence[Delivery]) -> None:
        """Have those of a claim that got no answer delivered again."""
        unanswered = [delivery for delivery in claimed if self.holds(source, delivery)]
        self.forget(source, unanswered)
        for delivery in unanswered:
            source.keep(delivery)

    def give_back(self, source: WorkSource, deliveries: Sequence[Delivery]) -> None:
        """Let others have them, at their original place."""
        self.forget(source, deliveries)
        try:
            source.release(deliveries)
        except TransientError as error:
            logger.warning("leases run out by themselves: %s", error, extra=action("queue.unavailable"))
        self._tally.count("released", len(deliveries))
