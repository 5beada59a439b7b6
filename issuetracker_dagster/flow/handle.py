"""One message through its stage: decode, lock its URL, handle, settle."""

import logging
import traceback
from contextlib import nullcontext
from typing import Generic, TypeVar

import msgspec

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.flow.settle import Settlement, Settler, is_bug
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, Payload, RawContentRef, decode_payload
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.handler import Handler

logger = logging.getLogger(__name__)

P = TypeVar("P", CrawlJob, RawContentRef, ContentRef)


class StageWork(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """What the slots of a stage do with a message. `urls` keeps two workers off one URL; None without Redis."""

    stage: Stage
    payload_type: type[P]
    handler: Handler[P]
    settler: Settler
    urls: HeldUrls | None = None

    def run(self, delivery: Delivery) -> Settlement:
        """Handle one message and settle it; never raises for what the message or a server did."""
        payload: P | None = None
        try:
            payload = decode_payload(self.payload_type, delivery.message.value)
            result: Outcome | BaseException = self._handle(payload, delivery)
        except IssueTrackerError as error:
            result = error
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises costs its message a try, not a slot
            result = error
        if is_bug(result):
            self._tell(result, delivery)
        settlement = self.settler.settle(delivery.message, payload, result)
        # Named in the shift's figures, since to its message a bug looks like any failure that may pass.
        return msgspec.structs.replace(settlement, kind=f"bug_{settlement.kind}") if is_bug(result) else settlement

    def fail(self, delivery: Delivery, error: IssueTrackerError) -> Settlement:
        """Settle a message whose handler had no say: it hung, or its workers died."""
        return self.settler.settle(delivery.message, None, error)

    def _tell(self, result: Outcome | BaseException, delivery: Delivery) -> None:
        error = result if isinstance(result, BaseException) else None
        if error is not None:
            # What the handler's frames hold may be all the memory there is.
            traceback.clear_frames(error.__traceback__)
        logger.error(
            "a bug in %s on %s",
            self.stage.value,
            delivery.message.identity,
            exc_info=error,
            extra=action("handler.bug", stage=self.stage.value, root_id=delivery.message.headers.root_id),
        )

    def _handle(self, payload: P, delivery: Delivery) -> Outcome:
        headers = delivery.message.headers
        with self.urls.hold(payload.url, headers.root_id) if self.urls else nullcontext():
            outcome: Outcome = self.handler.handle(payload, HandlerContext(headers))
        if not isinstance(outcome, Outcome):
            raise TypeError(f"the handler returned {type(outcome).__name__}, not an Outcome")
        if not isinstance(outcome.note, str):
            raise TypeError(f"the note of the handler's outcome is a {type(outcome.note).__name__}")
        wrong = [one for one in (outcome.forward, *outcome.links) if one is not None and not isinstance(one, Payload)]
        if wrong:
            raise TypeError(f"the handler's outcome holds a {type(wrong[0]).__name__}, which is no payload")
        return outcome
