"""What a handler is told and what it returns: payload in, payload out."""

import msgspec

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.payload import CrawlJob, Payload
from issuetracker_dagster.model.priority import Priority

EMPTY_BODY = "empty_body"
"""Note of an article that has a title but no body; a page with neither ends as the `PermanentError` `EMPTY`."""
EMPTY = "empty"


class HandlerContext(msgspec.Struct, frozen=True):
    """What a stage may know about the message around its payload."""

    headers: Headers

    @property
    def root_id(self) -> str:
        return self.headers.root_id

    @property
    def priority(self) -> Priority:
        return self.headers.priority

    @property
    def target_type(self) -> TargetType:
        return self.headers.target_type

    @property
    def is_reparse(self) -> bool:
        return self.headers.is_reparse

    @property
    def is_recrawl(self) -> bool:
        return self.headers.recrawl_count > 0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A handler that didn't raise.

    `forward` travels to the stage's output topic; None ends the journey here (`note` says why: `unchanged`, `links`; of
    what goes on it says what was odd: `EMPTY_BODY`).
    `links` are new roots, published through the whole publish path before the message is acknowledged.
    """

    forward: Payload | None = None
    links: tuple[CrawlJob, ...] = ()
    note: str = ""


def is_empty_page(result: Outcome | BaseException) -> bool:
    """Whether a page came out of the parser without a body."""
    if isinstance(result, Outcome):
        return result.note == EMPTY_BODY
    return isinstance(result, PermanentError) and result.code == EMPTY
