"""The pure decision of settle: given how a handler ended, what happens to its message."""

from collections.abc import Callable

import msgspec

from issuetracker_dagster.errors import (
    NeedsRefetch,
    NotDue,
    PermanentError,
    PublishFailed,
    TransientError,
    Unavailable,
    UrlBusy,
)
from issuetracker_dagster.model.error_text import text_of
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import Outcome
from issuetracker_dagster.model.retry import RetryPolicy, backoff_ms

BUSY_DELAY_MS = 2_000
OUTAGE_DELAY_MS = 5_000


class Forward(msgspec.Struct, frozen=True):
    """Publish the outcome onward, then acknowledge."""

    outcome: Outcome


class Retry(msgspec.Struct, frozen=True):
    """The same message, next generation, attempt + 1, back to its own topic at `at_ms`."""

    at_ms: int
    reason: str


class Recrawl(msgspec.Struct, frozen=True):
    """A crawl job built from this message, due at `at_ms`."""

    at_ms: int
    reason: str


class Defer(msgspec.Struct, frozen=True):
    """Not now: wait in the host's frontier until `at_ms`; no attempt is counted."""

    host: str
    at_ms: int
    reason: str


class ComeBack(msgspec.Struct, frozen=True):
    """It isn't the message's fault (URL held by another worker, a server out): nack with a short delay, attempt
    unchanged, so that an outage of any length uses up nobody's attempts. `is_outage` tells a server from a busy URL.
    """

    delay_ms: int
    reason: str
    is_outage: bool = False


class DeadLetter(msgspec.Struct, frozen=True):
    """The end: to the DLQ with a stable `reason` word and the error's text."""

    reason: str
    error: str


Decision = Forward | Retry | Recrawl | Defer | ComeBack | DeadLetter


def decide(
    result: Outcome | BaseException,
    headers: Headers,
    policy: RetryPolicy,
    now_ms: int,
    jitter: Callable[[], float],
) -> Decision:
    """What happens to a message whose handler returned or raised `result`.

    `jitter` gives numbers in [0, 1). An exception that is no `IssueTrackerError` is a bug; for the message it counts as
    transient, for the log it is told with its traceback by whoever executes the decision.
    """
    if isinstance(result, Outcome):
        return Forward(result)
    if isinstance(result, NotDue):
        return Defer(result.host, result.due_ms, result.reason)
    if isinstance(result, UrlBusy):
        return ComeBack(BUSY_DELAY_MS, text_of(result))
    if isinstance(result, (Unavailable, PublishFailed)):
        return ComeBack(OUTAGE_DELAY_MS, text_of(result), is_outage=True)
    if isinstance(result, PermanentError):
        return DeadLetter(result.code, text_of(result))
    if isinstance(result, NeedsRefetch):
        return _recrawl(result, headers, policy, now_ms, jitter)
    return _retry(result, headers, policy, now_ms, jitter)


def _recrawl(
    error: NeedsRefetch, headers: Headers, policy: RetryPolicy, now_ms: int, jitter: Callable[[], float]
) -> Decision:
    if headers.recrawl_count >= policy.recrawl_max:
        return DeadLetter("recrawls_exhausted", f"after {headers.recrawl_count} recrawls: {text_of(error)}")
    return Recrawl(now_ms + backoff_ms(headers.recrawl_count + 1, policy, jitter()), text_of(error))


def _retry(
    error: BaseException, headers: Headers, policy: RetryPolicy, now_ms: int, jitter: Callable[[], float]
) -> Decision:
    reason = f"{type(error).__name__}: {text_of(error)}"
    if headers.attempt >= policy.max_attempts:
        return DeadLetter("attempts_exhausted", f"after {headers.attempt} attempts: {reason}")
    at_ms = now_ms + backoff_ms(headers.attempt, policy, jitter())
    if isinstance(error, TransientError) and error.retry_at_ms is not None:
        at_ms = max(at_ms, error.retry_at_ms)
    return Retry(at_ms, reason)
