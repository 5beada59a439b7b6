"""Wrappers that tell `Steps` what goes through a port: the work of a stage, its handler, and producers.

Those who use them don't know that they are watched, and what they do stays as it is.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from issuetracker_dagster.errors import IssueTrackerError, NotDue, PermanentError, PublishFailed, RecordsRefused
from issuetracker_dagster.flow.settle import Settlement
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.steps import Steps
from issuetracker_dagster.flow.work import Work
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.model.urls import BadUrl, host_of
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.handler import Handler
from issuetracker_dagster.ports.topics import Producer

P = TypeVar("P", CrawlJob, RawContentRef, ContentRef)


class WatchedWork:
    """A `Work` of a stage: how each message ended, and how long that took.

    It also tells of messages that were taken elsewhere than from the stage's queue, which is watched itself.
    """

    def __init__(self, work: Work, stage: Stage, steps: Steps, clock: Clock) -> None:
        self._work = work
        self._stage = stage
        self._steps = steps
        self._clock = clock

    def run(self, delivery: Delivery) -> Settlement:
        began = self._clock.monotonic()
        if isinstance(delivery.receipt, Record):
            self._steps.taken(self._stage, delivery.message, None)
        elif delivery.host:
            self._steps.taken(self._stage, delivery.message, delivery.receipt)
        return self._told(delivery, self._work.run(delivery), began)

    def fail(self, delivery: Delivery, error: IssueTrackerError) -> Settlement:
        return self._told(delivery, self._work.fail(delivery, error), self._clock.monotonic())

    def _told(self, delivery: Delivery, settlement: Settlement, began: float) -> Settlement:
        self._steps.settled(self._stage, delivery.message, settlement, self._clock.monotonic() - began)
        return settlement


class WatchedHandler(Generic[P]):
    """A `Handler` of a stage: how long it takes and, of fetch, what came of asking each host."""

    def __init__(self, handler: Handler[P], stage: Stage, steps: Steps, clock: Clock) -> None:
        self._handler: Handler[P] = handler
        self._stage = stage
        self._steps = steps
        self._clock = clock

    def handle(self, payload: P, context: HandlerContext) -> Outcome:
        began = self._clock.monotonic()
        try:
            outcome = self._handler.handle(payload, context)
        except Exception as error:
            self._tell(payload, error, began)
            raise
        self._tell(payload, outcome, began)
        return outcome

    def _tell(self, payload: P, result: Outcome | Exception, began: float) -> None:
        self._steps.handled(self._stage, self._clock.monotonic() - began)
        if self._stage is Stage.FETCH and not isinstance(result, NotDue):
            self._steps.fetched(_host_of(payload.url), _outcome_of(result))

    def close(self) -> None:
        self._handler.close()


class WatchedProducer:
    """A `Producer`: `told` is told what the broker has of the records that are `meant`."""

    def __init__(
        self,
        producer: Producer,
        *,
        meant: Callable[[Outgoing], bool],
        told: Callable[[Sequence[Outgoing]], None],
    ) -> None:
        self._producer = producer
        self._meant = meant
        self._told = told

    def publish(self, records: Sequence[Outgoing]) -> None:
        try:
            self._producer.publish(records)
        except RecordsRefused as error:
            self._tell(record for record in records if not error.includes(record))
            raise
        except PublishFailed as error:
            arrived = set(map(id, error.arrived))
            self._tell(record for record in records if id(record) in arrived)
            raise
        self._tell(records)

    def close(self) -> None:
        self._producer.close()

    def _tell(self, records: Iterable[Outgoing]) -> None:
        meant = list(filter(self._meant, records))
        if meant:
            self._told(meant)


def is_letter(record: Outgoing) -> bool:
    """Whether it goes to the DLQ."""
    return record.topic == Topic.DLQ


def is_no_letter(record: Outgoing) -> bool:
    """Whether it goes anywhere else."""
    return record.topic != Topic.DLQ


def _host_of(url: str) -> str:
    try:
        return host_of(url)
    except BadUrl:
        return ""


def _outcome_of(result: Outcome | Exception) -> str:
    if isinstance(result, Outcome):
        return "fetched" if result.forward is not None else str(result.note) or "ended"
    return result.code if isinstance(result, PermanentError) else "failed"
