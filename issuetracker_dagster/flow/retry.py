"""Messages that failed wait in the retry set and go back to Kafka when they are due."""

import logging
from collections.abc import Iterable, Sequence

from issuetracker_dagster.errors import PublishFailed, RecordsRefused
from issuetracker_dagster.flow.dead_letter import bury, dead_letter
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.retries import RetrySet
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)

LOOK_PAST = 1_000
"""How many due entries are looked at while a topic refuses: what it refuses stays at the head of the set."""


class RetryScheduler:
    """Puts messages into the retry set, and relays due ones to Kafka by the raw producer, never through the buffer."""

    def __init__(self, retries: RetrySet, producer: Producer, clock: Clock) -> None:
        self._retries = retries
        self._producer = producer
        self._clock = clock
        self._refusing: set[str] = set()

    def schedule(self, message: Message, topic: Topic, stage: Stage, at_ms: int) -> None:
        """Keep `message` (already of its next generation) until `at_ms`; raises `Unavailable`."""
        source_ms = message.origin.timestamp_ms if message.origin else self._clock.now_ms()
        self._retries.schedule(
            RetryEntry(due_ms=at_ms, topic=topic.value, stage=stage, source_ms=source_ms, message=message)
        )

    def relay(self, budget_ms: int = 5_000, batch: int = 100) -> int:
        """Publish what is due, then remove it; returns how many. Ends when nothing is due or the budget is used up.

        Each topic for itself, so that one which refuses holds up no other; what it refuses stays as it is, in order.
        Killed in between, entries are published again under the same identity. Raises `PublishFailed` after the other
        topics had their turn, `Unavailable`.
        """
        deadline = self._clock.monotonic() + budget_ms / 1000
        relayed = 0
        refused: dict[str, PublishFailed] = {}
        while self._clock.monotonic() < deadline:
            due = self._retries.due(self._clock.now_ms(), LOOK_PAST if self._refusing else batch)
            by_topic = _by_topic(entry for entry in due if entry.topic not in refused)
            if not by_topic:
                break
            # Those that refused last time come last: finding out may take longer than the budget.
            for topic in sorted(by_topic, key=self._refusing.__contains__):
                if self._clock.monotonic() >= deadline:
                    break
                try:
                    self._publish(by_topic[topic])
                except PublishFailed as error:
                    refused[topic] = error
                    self._refusing.add(topic)
                else:
                    relayed += len(by_topic[topic])
                    self._refusing.discard(topic)
        if relayed:
            logger.info("%d due messages went back to Kafka", relayed, extra=action("relay.published", count=relayed))
        if refused:
            raise next(iter(refused.values()))
        return relayed

    def _publish(self, entries: Sequence[RetryEntry]) -> None:
        """Publish, then remove; what arrived of a batch that failed is removed, too."""
        records = [Outgoing.of(entry.topic, entry.message) for entry in entries]
        try:
            self._producer.publish(records)
        except PublishFailed as error:
            arrived = set(map(id, error.arrived))
            self._retries.remove(
                [entry for entry, record in zip(entries, records, strict=True) if id(record) in arrived]
            )
            raise
        except RecordsRefused as error:
            sent = list(zip(entries, records, strict=True))
            # First those that arrived: a DLQ that is out mustn't bring them again.
            self._retries.remove([entry for entry, record in sent if not error.includes(record)])
            now_ms = self._clock.now_ms()
            refused = [entry for entry, record in sent if error.includes(record)]
            letters = [dead_letter(entry.message, entry.stage, error.code, str(error), now_ms) for entry in refused]
            try:
                bury(self._producer, letters)
            except PublishFailed as failed:
                there = set(map(id, failed.arrived))
                self._retries.remove([each for each, one in zip(refused, letters, strict=True) if id(one) in there])
                raise
            self._retries.remove(refused)
            return
        self._retries.remove(entries)


def _by_topic(entries: Iterable[RetryEntry]) -> dict[str, list[RetryEntry]]:
    by_topic: dict[str, list[RetryEntry]] = {}
    for entry in entries:
        by_topic.setdefault(entry.topic, []).append(entry)
    return by_topic
