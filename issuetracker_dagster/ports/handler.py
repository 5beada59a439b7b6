"""What a stage is to the flow: a handler of payloads."""

from typing import Protocol, TypeVar

from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef

P = TypeVar("P", CrawlJob, RawContentRef, ContentRef, contravariant=True)


class Handler(Protocol[P]):
    """Handles one payload at a time, from several threads at once.

    Returns an `Outcome` or raises `TransientError`, `PermanentError`, `NotDue` (fetch only) or `NeedsRefetch`.
    Anything else that it raises is a bug and is treated as one. Repeating a payload must be harmless.
    """

    def handle(self, payload: P, context: HandlerContext) -> Outcome: ...

    def close(self) -> None:
        """Let go of pools and connections; called once, when no payload is in hand."""
