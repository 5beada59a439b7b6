"""Messages that failed wait in the retry set and go back to Kafka when they are due."""

import logging
from collections.abc import Sequence

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.flow.dead_letter import bury, dead_letter
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.retries import RetrySet
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)


class RetryScheduler:
    """Puts messages into the retry set, and relays due ones to Kafka by the raw producer, never through the buffer."""

    def __init__(self, retries: RetrySet, producer: Producer, clock: Clock) -> None:
        self._retries = retries
        self._producer = producer
        self._clock = clock

    def schedule(self, message: Message, topic: Topic, stage: Stage, at_ms: int) -> None:
        """Keep `message` (already of its next generation) until `at_ms`; raises `Unavailable`."""
        source_ms = message.origin.timestamp_ms if message.origin else self._clock.now_ms()
        self._retries.schedule(
            RetryEntry(due_ms=at_ms, topic=topic.value, stage=stage, source_ms=source_ms, message=message)
        )

    def relay(self, budget_ms: int = 5_000, batch: int = 100) -> int:
        """Publish what is due, then remove it; returns how many. Ends when nothing is due or the budget is used up.

        Killed in between, entries are published again under the same identity. Raises `PublishFailed`, `Unavailable`.
        """
        deadline = self._clock.monotonic() + budget_ms / 1000
        relayed = 0
        while self._clock.monotonic() < deadline:
            entries = self._retries.due(self._clock.now_ms(), batch)
            if not entries:
                break
            self._publish(entries)
            self._retries.remove(entries)
            relayed += len(entries)
        if relayed:
            logger.info("%d due messages went back to Kafka", relayed, extra=action("relay.published", count=relayed))
        return relayed

    def _publish(self, entries: Sequence[RetryEntry]) -> None:
        try:
            self._producer.publish([Outgoing.of(entry.topic, entry.message) for entry in entries])
        except PermanentError as error:
            if len(entries) > 1:
                # One that Kafka refuses for ever, such as one that is too large, mustn't hold up the others.
                for entry in entries:
                    self._publish([entry])
                return
            (entry,) = entries
            now_ms = self._clock.now_ms()
            bury(self._producer, [dead_letter(entry.message, entry.stage, error.code, str(error), now_ms)])
