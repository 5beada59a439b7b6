"""One message through its stage: decode, lock its URL, handle, settle."""

import logging
from contextlib import nullcontext
from typing import Generic, TypeVar

import msgspec

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.flow.settle import Settlement, Settler, is_bug
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef, decode_payload
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
        except Exception as error:  # noqa: BLE001 - a bug in a handler costs its message a try, not the shift its life
            result = error
        if is_bug(result):
            logger.error(
                "a bug in %s on %s",
                self.stage.value,
                delivery.message.identity,
                exc_info=result if isinstance(result, BaseException) else None,
                extra=action("handler.bug", stage=self.stage.value, root_id=delivery.message.headers.root_id),
            )
        settlement = self.settler.settle(delivery.message, payload, result)
        # Named in the shift's figures, since to its message a bug looks like any failure that may pass.
        return msgspec.structs.replace(settlement, kind=f"bug_{settlement.kind}") if is_bug(result) else settlement

    def _handle(self, payload: P, delivery: Delivery) -> Outcome:
        headers = delivery.message.headers
        with self.urls.hold(payload.url, headers.root_id) if self.urls else nullcontext():
            outcome = self.handler.handle(payload, HandlerContext(headers))
        if not isinstance(outcome, Outcome):
            raise TypeError(f"the handler returned {type(outcome).__name__}, not an Outcome")
        return outcome
