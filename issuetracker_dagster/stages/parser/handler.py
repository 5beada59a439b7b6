"""The parser stage: a `RawContentRef` becomes a `ContentRef`, or crawl jobs for the links that the page leads to."""

from collections.abc import Callable, Sequence

import msgspec

from issuetracker_dagster.errors import NeedsRefetch
from issuetracker_dagster.model.outcome import EMPTY_BODY, HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef
from issuetracker_dagster.model.records import Content, MadeFrom
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.urls import normalise
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.ports.seeds import Seeds
from issuetracker_dagster.ports.stores import Contents, RawContents
from issuetracker_dagster.stages.parser.choosing import wanted
from issuetracker_dagster.stages.parser.examine import PageExaminer
from issuetracker_dagster.stages.parser.links import Link
from issuetracker_dagster.stages.parser.offers import FeedOffers
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import PageReader
from issuetracker_dagster.stages.parser.version import code_version


class ParserHandler:
    """Implements `Handler[RawContentRef]`. Owns the reader and closes it.

    `name_of` gives the URL under which the publisher knows a page, by the rule of its host. With `seeds`, feeds that
    pages announce are offered as disabled seeds.
    """

    def __init__(
        self,
        raw_contents: RawContents,
        contents: Contents,
        rules: ParserRules,
        reader: PageReader,
        clock: Clock,
        options: ParserOptions,
        *,
        name_of: Callable[[str], str] = normalise,
        seeds: Seeds | None = None,
    ) -> None:
        self._raw_contents = raw_contents
        self._contents = contents
        self._examiner = PageExaminer(rules, reader, clock, options, name_of=name_of)
        self._options = options
        self._offers = FeedOffers(seeds) if seeds is not None else None

    def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:
        """Parse one stored page.

        Raises `NeedsRefetch` when its row is gone, `PermanentError` as `PageExaminer.examine` does.
        """
        raw = self._raw_contents.get(payload.raw_id)
        if raw is None and context.is_reparse:
            return Outcome(note="page_gone")
        if raw is None:
            raise NeedsRefetch(f"the stored page {payload.raw_id} is gone")
        if context.is_reparse:
            # It may have been fetched anew while the message waited.
            payload = msgspec.structs.replace(payload, fetched_ms=raw.fetched_ms)
        page = self._examiner.examine(raw, payload, context)
        if page.reading is None:
            return Outcome(note=page.found)
        if self._offers is not None and not context.is_reparse:
            self._offers.offer(page.reading.feeds, page.url)
        if page.content is not None:
            return self._stored(page.content, payload, context, page.rule, raw.body_sha256)
        chosen = wanted(self._examiner.judged(page), self._examiner.most_links(page))
        return self._chained(chosen, payload, context, note=page.found)

    def close(self) -> None:
        """End the extraction processes."""
        self._examiner.close()

    def _stored(
        self,
        content: Content,
        payload: RawContentRef,
        context: HandlerContext,
        rule: ParserRule | None,
        raw_sha256: str,
    ) -> Outcome:
        made_from = MadeFrom(
            raw_sha256=raw_sha256,
            rule_id=rule.rule_id if rule else 0,
            rule_version=rule.version if rule else 0,
            code_version=code_version(),
        )
        content_id = self._contents.save(content, made_from, unless_newer=context.is_reparse)
        return Outcome(
            forward=ContentRef(content_id=content_id, url=content.url, source=payload.source),
            note="" if content.body else EMPTY_BODY,
        )

    def _chained(self, links: Sequence[Link], payload: RawContentRef, context: HandlerContext, *, note: str) -> Outcome:
        if context.is_reparse:
            return Outcome(note=note)  # its links were published when it was fetched
        depth = payload.depth + 1
        if depth > self._options.max_depth:
            return Outcome(note="too_deep")
        jobs = tuple(
            CrawlJob(
                url=link.url,
                source=payload.source,
                target_type=link.target_type,
                crawler=context.headers.crawler,
                timeout_ms=context.headers.timeout_ms,
                depth=depth,
            )
            for link in links
        )
        return Outcome(links=jobs, note=note if jobs else f"no_{note}")
