"""The parser stage: a `RawContentRef` becomes a `ContentRef`, or crawl jobs for the links that the page leads to."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from issuetracker_dagster.errors import Malformed, NeedsRefetch, PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.outcome import EMPTY, EMPTY_BODY, HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, ParserRule, check_place
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl, decoded_path, host_of, normalise, parse_http, spelled
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.ports.stores import Contents, RawContents
from issuetracker_dagster.stages.parser.content import content_of
from issuetracker_dagster.stages.parser.links import Link, choose, choose_entries
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.patterns import exactly
from issuetracker_dagster.stages.parser.pool import ExtractorCrashed, PageReader
from issuetracker_dagster.stages.parser.reading import PageReading, PageRequest
from issuetracker_dagster.stages.parser.rules_view import RulesView
from issuetracker_dagster.stages.parser.selection import options_of

logger = logging.getLogger(__name__)


class ParserHandler:
    """Implements `Handler[RawContentRef]`. Owns the reader and closes it.

    `name_of` gives the URL under which the publisher knows a page, by the rule of its host.
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
    ) -> None:
        self._raw_contents = raw_contents
        self._contents = contents
        self._rules = RulesView(rules, clock, options.rules_ttl_ms)
        self._reader = reader
        self._clock = clock
        self._options = options
        self._name_of = name_of

    def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:
        """Parse one stored page.

        Raises `NeedsRefetch` when its row is gone, `PermanentError` for what will never be a page (`empty`, `not_text`,
        `too_complex`, `extractor_crashed` at the second crash, `not_a_feed`, `not_a_sitemap`).
        """
        raw = self._raw_contents.get(payload.raw_id)
        if raw is None:
            raise NeedsRefetch(f"the stored page {payload.raw_id} is gone")
        url = self._known(payload)
        mode = self._rules.blacklist().mode(url)
        if mode is BlacklistMode.DROP:
            return Outcome(note="blacklisted")
        kind = payload.target_type
        if mode is BlacklistMode.EXTRACT_LINKS_ONLY and kind is TargetType.ARTICLE:
            kind = TargetType.CATEGORY
        rule = self._rules.rule(url, kind)
        reading = self._read(raw, url, kind, rule, payload.fetched_ms, context)
        if kind is TargetType.CATEGORY:
            return self._chained(self._chosen(reading.urls, url, rule), payload, context, note="links")
        if kind is not TargetType.ARTICLE:
            return self._chained(self._entries(reading.entries, rule), payload, context, note="entries")
        if reading.is_index:
            self._remember_index(url)
            rule = self._rules.rule(url, TargetType.CATEGORY)
            return self._chained(self._chosen(reading.urls, url, rule), payload, context, note="index_page")
        return self._stored(reading, url, payload, context, rule)

    def close(self) -> None:
        """End the extraction processes."""
        self._reader.close()

    def _read(
        self,
        raw: RawContent,
        url: str,
        kind: TargetType,
        rule: ParserRule | None,
        fetched_ms: int,
        context: HandlerContext,
    ) -> PageReading:
        request = PageRequest(
            body=raw.body,
            content_type=raw.content_type,
            url=url,
            target_type=kind,
            fetched_ms=fetched_ms,
            rule=rule,
            min_body_length=self._options.min_body_length,
            max_sitemap_bytes=self._options.max_sitemap_bytes,
        )
        try:
            return self._reader.read(request)
        except ExtractorCrashed as error:
            # Once may be the machine's fault (memory); twice over the same page is the page's.
            if context.headers.attempt > 1:
                raise PermanentError(str(error), code="extractor_crashed") from error
            raise

    def _stored(
        self,
        reading: PageReading,
        url: str,
        payload: RawContentRef,
        context: HandlerContext,
        rule: ParserRule | None,
    ) -> Outcome:
        article = reading.article
        if article is None or not (article.fields.title or article.fields.body):
            raise PermanentError("neither a title nor a body on the page", code=EMPTY)
        if article.sources.get("rule", "").startswith("missed"):
            logger.warning(
                "a parser rule found nothing", extra=action("rule.missed", rule=article.sources["rule"], url=url)
            )
        article = msgspec.structs.replace(article, canonical=self._canonical(article.canonical))
        content = content_of(article, reading.replacement_share, url, payload, context, rule)
        content_id = self._contents.save(content)
        return Outcome(
            forward=ContentRef(content_id=content_id, url=content.url, source=payload.source),
            note="" if article.fields.body else EMPTY_BODY,
        )

    def _chosen(self, urls: Sequence[str], url: str, rule: ParserRule | None) -> list[Link]:
        return choose(
            urls,
            host_of(url),
            options_of(rule),
            blacklist=self._rules.blacklist(),
            is_category=self._rules.is_category,
            this_year=self._this_year(),
            max_length=self._options.max_url_length,
            limit=self._options.max_links,
        )

    def _entries(self, entries: Sequence[Link], rule: ParserRule | None) -> list[Link]:
        return choose_entries(
            entries,
            options_of(rule),
            blacklist=self._rules.blacklist(),
            oldest_ms=self._clock.now_ms() - self._options.max_entry_age_ms,
            this_year=self._this_year(),
            max_length=self._options.max_url_length,
            limit=self._options.max_entries,
        )

    def _chained(self, links: Sequence[Link], payload: RawContentRef, context: HandlerContext, *, note: str) -> Outcome:
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

    def _remember_index(self, url: str) -> None:
        # The path alone would take every thread of a forum along whose pages differ by query.
        if parse_http(url).search:
            return
        host, expression = host_of(url), exactly(decoded_path(url))
        logger.info("an index page instead of an article", extra=action("page.index", url=url))
        if not _may_be_listed(host, expression):
            return
        self._rules.add_to_blacklist(
            BlacklistEntry(
                host_pattern=host,
                path_pattern=expression,
                mode=BlacklistMode.EXTRACT_LINKS_ONLY,
                source="auto",
            )
        )

    def _known(self, payload: RawContentRef) -> str:
        """The page's URL: as the publisher made it, or as a redirect named it, which may have put tracking there."""
        try:
            return spelled(payload.url) if payload.url == payload.requested_url else self._name_of(payload.url)
        except BadUrl as error:
            raise Malformed(f"the page's URL: {error}") from None

    def _canonical(self, named: str) -> str:
        try:
            return self._name_of(named) if named else ""
        except BadUrl:
            return ""

    def _this_year(self) -> int:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC).year


def _may_be_listed(host: str, expression: str) -> bool:
    """Whether readers of the blacklist take such an entry: one that they refuse would cost them all the others."""
    try:
        check_place(host, expression)
    except PermanentError:
        return False
    return True
