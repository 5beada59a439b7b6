"""The one place that executes a decision about a handled message.

Order of effects: what goes onward is confirmed by Kafka or the retry set before the message is acknowledged, so that a
crash in between repeats work but loses nothing.
"""

import logging
import random
from collections.abc import Callable, Sequence

import msgspec

from issuetracker_dagster.errors import IssueTrackerError, PermanentError, PublishFailed, Unavailable
from issuetracker_dagster.flow.dead_letter import bury, dead_letter
from issuetracker_dagster.flow.publish import Publisher
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.flow.upgrade import HostUpgrader
from issuetracker_dagster.model.decision import (
    OUTAGE_DELAY_MS,
    ComeBack,
    DeadLetter,
    Decision,
    Defer,
    Forward,
    Recrawl,
    Retry,
    decide,
)
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.outcome import Outcome
from issuetracker_dagster.model.payload import CrawlJob, Payload, encode_payload
from issuetracker_dagster.model.retry import RetryPolicy, build_retry_job, next_attempt
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage, Topic, input_topic
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)


class Done(msgspec.Struct, frozen=True):
    """Acknowledge; `succeeded` tells whether the acknowledgement may ride on the next claim.

    `due_ms` is when a message that was retried or recrawled comes again; `reason` is why, or why it died.
    """

    succeeded: bool
    kind: str
    reason: str = ""
    due_ms: int | None = None


class Later(msgspec.Struct, frozen=True):
    """Give back and deliver again after a delay; `message` replaces the one held when it changed (in-place retry).

    `is_outage` when a server is out: whatever comes next would fail at it, too.
    """

    delay_ms: int
    message: Message | None = None
    kind: str = "came_back"
    is_outage: bool = False
    reason: str = ""


class Deferred(msgspec.Struct, frozen=True):
    """Line up in the host's frontier until `at_ms`."""

    host: str
    at_ms: int
    kind: str = "deferred"
    reason: str = ""


class Kept(msgspec.Struct, frozen=True):
    """Nothing could be written anywhere: don't acknowledge, the source delivers it again."""

    kind: str = "kept"
    reason: str = ""


Settlement = Done | Later | Deferred | Kept


class Settler:
    """Settles the messages of one stage. `retry_in_place` is for direct mode without Redis.

    `upgrader` is the parser's, whose pages may come out empty.
    """

    def __init__(
        self,
        stage: Stage,
        *,
        producer: Producer,
        retries: RetryScheduler,
        publisher: Publisher,
        policy: RetryPolicy,
        clock: Clock,
        upgrader: HostUpgrader | None = None,
        retry_in_place: bool = False,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._facts = FACTS[stage]
        self._producer = producer
        self._retries = retries
        self._publisher = publisher
        self._policy = policy
        self._clock = clock
        self._upgrader = upgrader
        self._retry_in_place = retry_in_place
        self._jitter = jitter

    def settle(self, message: Message, payload: Payload | None, result: Outcome | BaseException) -> Settlement:
        """Decide and execute. Never raises for a server that is out; what it returns is what the source must do.

        `payload` is None when the value didn't decode.
        """
        if self._upgrader is not None:
            try:
                self._upgrader.consider(message, payload, result)
            except (Unavailable, PublishFailed) as error:
                logger.warning(
                    "the host of %s waits for its upgrade: %s",
                    message.identity,
                    error,
                    extra=action("publish.failed", root_id=message.headers.root_id),
                )
                return Later(OUTAGE_DELAY_MS, is_outage=True, reason=str(error))
        decision = decide(result, message.headers, self._policy, self._clock.now_ms(), self._jitter)
        try:
            return self._execute(decision, message, payload)
        except (Unavailable, PublishFailed) as error:
            logger.warning(
                "%s of %s waits: %s",
                type(decision).__name__,
                message.identity,
                error,
                extra=action("publish.failed", root_id=message.headers.root_id),
            )
            if isinstance(decision, DeadLetter):
                return Kept(reason=str(error))
            return Later(OUTAGE_DELAY_MS, is_outage=True, reason=str(error))
        except PermanentError as error:
            if isinstance(decision, DeadLetter):
                logger.error("the DLQ refused %s: %s", message.identity, error, extra=action("publish.failed"))
                return Kept(reason=str(error))
            # What goes onward is refused by Kafka itself, most likely for its size: another try won't help.
            return self.settle(message, payload, error)
        except Exception as error:
            if not isinstance(result, Outcome):
                raise
            # What the handler returned can't be sent, so it is as if the handler had raised.
            logger.exception(
                "a bug in what %s returned for %s",
                self._facts.stage.value,
                message.identity,
                extra=action("handler.bug", stage=self._facts.stage.value, root_id=message.headers.root_id),
            )
            settlement = self.settle(message, payload, error)
            return msgspec.structs.replace(settlement, kind=f"bug_{settlement.kind}")

    def _execute(self, decision: Decision, message: Message, payload: Payload | None) -> Settlement:
        match decision:
            case Forward(outcome):
                self._forward(message, outcome)
                return Done(succeeded=True, kind="forwarded" if outcome.forward else outcome.note or "ended")
            case ComeBack(delay_ms, reason, is_outage=is_outage):
                return Later(delay_ms, is_outage=is_outage, reason=reason)
            case Defer(host, at_ms, reason):
                return Deferred(host, at_ms, reason=reason)
            case Retry(at_ms, reason):
                return self._retry(message, at_ms, reason)
            case Recrawl(at_ms, reason):
                return self._recrawl(message, payload, at_ms, reason)
            case DeadLetter(reason, error):
                return self._bury(message, reason, error)

    def _forward(self, message: Message, outcome: Outcome) -> None:
        if outcome.links:
            self._publisher.publish(_requests(message.headers, outcome.links))
        if outcome.forward is not None:
            onward = message.evolve(attempt=1)
            self._producer.publish(
                [
                    Outgoing(
                        self._facts.output,
                        message.headers.root_id.encode(),
                        encode_payload(outcome.forward),
                        onward.headers.to_raw(),
                    )
                ]
            )

    def _retry(self, message: Message, at_ms: int, reason: str) -> Settlement:
        again = next_attempt(message)
        if self._retry_in_place:
            return Later(max(0, at_ms - self._clock.now_ms()), again, kind="retried", reason=reason)
        topic = input_topic(self._facts.stage, message.headers.priority)
        return self._schedule(message, again, topic, at_ms, reason, "retried")

    def _recrawl(self, message: Message, payload: Payload | None, at_ms: int, reason: str) -> Settlement:
        url = payload.url if payload is not None else ""
        depth = 0 if payload is None else getattr(payload, "depth", 0)
        job = build_retry_job(message, url, self._facts.stage, payload.source if payload else "", depth)
        return self._schedule(message, job, CRAWL_TOPICS[message.headers.priority], at_ms, reason, "recrawled")

    def _schedule(
        self, message: Message, again: Message, topic: Topic, at_ms: int, reason: str, kind: str
    ) -> Settlement:
        try:
            self._retries.schedule(again, topic, self._facts.stage, at_ms)
        except Unavailable as unavailable:
            # The last resort before losing the failure: the DLQ takes it with both errors.
            return self._bury(message, "retry_unavailable", f"{reason}; and the retry couldn't be kept: {unavailable}")
        logger.info(
            "%s comes back: %s",
            message.identity,
            reason,
            extra=action("message.retried", root_id=message.headers.root_id, attempt=again.headers.attempt),
        )
        return Done(succeeded=False, kind=kind, reason=reason, due_ms=at_ms)

    def _bury(self, message: Message, reason: str, error: str) -> Done:
        bury(self._producer, [dead_letter(message, self._facts.stage, reason, error, self._clock.now_ms())])
        logger.warning(
            "%s is dead: %s: %s",
            message.identity,
            reason,
            error,
            extra=action("message.dead_lettered", root_id=message.headers.root_id, reason=reason),
        )
        return Done(succeeded=False, kind="dead_lettered", reason=reason)


def _requests(headers: Headers, links: Sequence[CrawlJob]) -> list[Request]:
    """Links of a page are new roots: its trace goes with them, its priority doesn't."""
    return [Request(job=link, parent=headers.root_id, trace_id=headers.trace_id) for link in links]


def is_bug(result: Outcome | BaseException) -> bool:
    """Whether a handler ended in a way that nobody foresaw."""
    return isinstance(result, BaseException) and not isinstance(result, IssueTrackerError)
