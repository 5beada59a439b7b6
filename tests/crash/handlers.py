"""Handlers of the crash tests: they write to the real stores, and the id of a message says what becomes of it."""

import time
from pathlib import Path

from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.errors import NotDue, PermanentError, TransientError
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef
from issuetracker_dagster.model.records import Content, RawContent
from issuetracker_dagster.model.urls import authority_of

WORK_S = 0.01
"""Each message takes some time, so that a process is stopped with others in hand."""


CLOSED_MS = 500
"""For how long a host that isn't due is left alone."""


class ParsingHandler:
    """Writes a content a page. `flaky…` fails at first, `dead…` for ever, `links…` has a link."""

    def __init__(self, stores: SqlStores) -> None:
        self._stores = stores

    def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:
        time.sleep(WORK_S)  # this is the work, not a wait
        root_id = context.root_id
        if root_id.startswith("dead"):
            raise PermanentError("gone", code="http_404")
        if root_id.startswith("flaky") and context.headers.attempt == 1:
            raise TransientError("not now")
        content = Content(url=payload.url, root_id=root_id, title=f"About {root_id}", body=f"All about {root_id}.")
        content_id = self._stores.contents.save(content)
        links = (CrawlJob(url=linked(payload.url)),) if root_id.startswith("links") else ()
        return Outcome(forward=ContentRef(content_id=content_id, url=payload.url), links=links)

    def close(self) -> None:
        pass


class FetchingHandler:
    """Stores a page a job. No host is due before the file `opened` is there."""

    def __init__(self, stores: SqlStores, opened: Path) -> None:
        self._stores = stores
        self._opened = opened

    def handle(self, payload: CrawlJob, context: HandlerContext) -> Outcome:
        now_ms = time.time_ns() // 1_000_000
        if not self._opened.exists():
            raise NotDue(authority_of(payload.url), now_ms + CLOSED_MS, "rate")
        time.sleep(WORK_S)  # this is the work, not a wait
        page = RawContent(url=payload.url, requested_url=payload.url, status=200, body=b"<p>", fetched_ms=now_ms)
        raw_id = self._stores.raw_contents.save(page)
        return Outcome(
            forward=RawContentRef(
                raw_id=raw_id,
                url=payload.url,
                requested_url=payload.url,
                target_type=context.target_type,
                fetched_ms=now_ms,
            )
        )

    def close(self) -> None:
        pass


def linked(url: str) -> str:
    """The one link on that page."""
    return f"{url}/more"
