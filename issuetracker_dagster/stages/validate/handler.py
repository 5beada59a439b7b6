"""The validate stage between `normalized` and `validated`: a rejection is a result, not a failure."""

import logging

import msgspec

from issuetracker_dagster.errors import NeedsRefetch, PermanentError
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.records import Content, Verdict
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.stores import Contents
from issuetracker_dagster.stages.validate.community import judge_community
from issuetracker_dagster.stages.validate.copies import link_copies
from issuetracker_dagster.stages.validate.news import judge_news
from issuetracker_dagster.stages.validate.options import ValidateOptions
from issuetracker_dagster.stages.validate.verdict import REFETCH_NOTE

logger = logging.getLogger(__name__)

DATE_CLEARED = "date_cleared"


class ValidateHandler:
    """Judges one content at a time, from several threads at once; repeating it changes nothing."""

    def __init__(self, contents: Contents, clock: Clock, options: ValidateOptions | None = None) -> None:
        self._contents = contents
        self._clock = clock
        self._options = options or ValidateOptions()

    def handle(self, payload: ContentRef, context: HandlerContext) -> Outcome:
        """Clear a date after the fetch, judge, record the verdict, link copies; forward what was accepted.

        Raises `NeedsRefetch` when reparsing is on and a fresh copy might cure the fault, at most `reparse_max` times;
        `PermanentError` (`content_missing`) for a content that isn't stored.
        """
        content = self._contents.get(payload.content_id)
        if content is None:
            raise PermanentError(f"content {payload.content_id} isn't stored", code="content_missing")
        content, notes = self._with_sound_date(content)
        earlier = self._contents.verdict(content.content_id)
        if earlier is not None and content.published_ms == 0:
            notes += tuple(note for note in earlier.notes if note.startswith(DATE_CLEARED))
        verdict = judge(content, self._options)
        verdict = msgspec.structs.replace(verdict, notes=verdict.notes + notes)
        if earlier is not None and verdict.accepted:
            verdict = msgspec.structs.replace(
                verdict, duplicate_of=earlier.duplicate_of, near_duplicate_of=earlier.near_duplicate_of
            )
        self._contents.record_verdict(content.content_id, verdict)
        if not verdict.accepted:
            return self._refused(verdict, context)
        note = link_copies(self._contents, content.content_id, content.body, self._options.near_duplicate_min)
        return Outcome(forward=payload, note=note)

    def close(self) -> None:
        """Nothing is held."""

    def _with_sound_date(self, content: Content) -> tuple[Content, tuple[str, ...]]:
        fetched_ms = content.fetched_ms or self._clock.now_ms()
        if content.published_ms <= fetched_ms + self._options.date_tolerance_ms:
            return content, ()
        note = f"{DATE_CLEARED}: {content.published_ms} is after the fetch at {fetched_ms}"
        self._contents.clear_date(content.content_id, note)
        return msgspec.structs.replace(content, published_ms=0), (note,)

    def _refused(self, verdict: Verdict, context: HandlerContext) -> Outcome:
        # The verdict is in SQL already: if no fresh copy ever comes, the content still says why it went no further.
        may_help = self._options.reparse_enabled and REFETCH_NOTE in verdict.notes and not context.is_reparse
        if may_help and context.headers.recrawl_count < self._options.reparse_max:
            raise NeedsRefetch(f"{verdict.code}: {verdict.reason}")
        return Outcome(note=f"rejected {verdict.code}")


def judge(content: Content, options: ValidateOptions) -> Verdict:
    """The verdict by the rules of the content's kind; a kind without rules is refused with VAL_002."""
    if content.kind == "news":
        return judge_news(content, options)
    if content.kind == "community":
        return judge_community(content, options)
    return Verdict(accepted=False, code="VAL_002", reason=f"no rules for the kind {content.kind[:50]!r}")
