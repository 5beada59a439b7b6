"""What a page is and leads to, decided before anything of it is kept: the half of the stage that `handler` stores."""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from issuetracker_dagster.errors import Malformed, PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.outcome import EMPTY, HandlerContext
from issuetracker_dagster.model.payload import RawContentRef
from issuetracker_dagster.model.records import Content, RawContent
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, ParserRule, check_place
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl, decoded_path, host_of, normalise, parse_http, spelled
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.stages.parser.choosing import JudgedLink, Limits, judge_entries, judge_links
from issuetracker_dagster.stages.parser.content import content_of
from issuetracker_dagster.stages.parser.links import Link
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.patterns import exactly
from issuetracker_dagster.stages.parser.pool import ExtractorCrashed, PageReader
from issuetracker_dagster.stages.parser.reading import PageReading, PageRequest
from issuetracker_dagster.stages.parser.rules_view import RulesView
from issuetracker_dagster.stages.parser.selection import options_of

logger = logging.getLogger(__name__)

BLACKLISTED = "blacklisted"


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """A page at its known URL. `reading` is None when the blacklist drops it, `content` unless it is an article.

    `found` says what it is: `blacklisted`, `article`, `index_page`, `links` of a category, `entries` of a feed or
    sitemap. `rule` is the one that it was read by, `link_rule` the one that judges its links.
    """

    url: str
    found: str
    rule: ParserRule | None = None
    link_rule: ParserRule | None = None
    reading: PageReading | None = None
    content: Content | None = None


class PageExaminer:
    """Reads pages by the rules of their place. Owns the reader and closes it; thread-safe."""

    def __init__(
        self,
        rules: ParserRules,
        reader: PageReader,
        clock: Clock,
        options: ParserOptions,
        *,
        name_of: Callable[[str], str] = normalise,
    ) -> None:
        self._rules = RulesView(rules, clock, options.rules_ttl_ms)
        self._reader = reader
        self._clock = clock
        self._options = options
        self._name_of = name_of

    def examine(self, raw: RawContent, payload: RawContentRef, context: HandlerContext) -> Examined:
        """Read the page and decide what it is; one that turned out to be a section is put on the blacklist as that.

        Raises `PermanentError` for what will never be a page (`empty`, `not_text`, `too_complex`, `extractor_crashed`
        at the second crash, `not_a_feed`, `not_a_sitemap`).
        """
        url = self._known(payload)
        mode = self._rules.blacklist().mode(url)
        if mode is BlacklistMode.DROP:
            return Examined(url=url, found=BLACKLISTED)
        kind = payload.target_type
        if mode is BlacklistMode.EXTRACT_LINKS_ONLY and kind is TargetType.ARTICLE:
            kind = TargetType.CATEGORY
        # Whoever mends a rule and has its pages read again a moment later means the mended one.
        rule = self._rules.rule(url, kind, is_latest=context.is_reparse)
        reading = self._read(raw, url, kind, rule, payload.fetched_ms, context)
        if kind is TargetType.CATEGORY:
            return Examined(url=url, found="links", rule=rule, link_rule=rule, reading=reading)
        if kind is not TargetType.ARTICLE:
            return Examined(url=url, found="entries", rule=rule, link_rule=rule, reading=reading)
        if reading.is_index:
            self._remember_index(url)
            of_links = self._rules.rule(url, TargetType.CATEGORY)
            return Examined(url=url, found="index_page", rule=rule, link_rule=of_links, reading=reading)
        content = self._content(reading, url, payload, context, rule)
        return Examined(url=url, found="article", rule=rule, reading=reading, content=content)

    def judged(self, page: Examined) -> Iterator[JudgedLink]:
        """The links of a section, a feed or a sitemap with their verdicts, judged as they are asked for."""
        if page.reading is None:
            return iter(())
        if page.found == "entries":
            return self._entries(page.reading.entries, page.link_rule)
        return self._links(page.reading.urls, page.url, page.link_rule)

    def most_links(self, page: Examined) -> int:
        """How many of its links become jobs at most."""
        return self._options.max_entries if page.found == "entries" else self._options.max_links

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

    def _content(
        self, reading: PageReading, url: str, payload: RawContentRef, context: HandlerContext, rule: ParserRule | None
    ) -> Content:
        article = reading.article
        if article is None or not (article.fields.title or article.fields.body):
            raise PermanentError("neither a title nor a body on the page", code=EMPTY)
        if article.sources.get("rule", "").startswith("missed"):
            logger.warning(
                "a parser rule found nothing", extra=action("rule.missed", rule=article.sources["rule"], url=url)
            )
        article = msgspec.structs.replace(article, canonical=self._canonical(article.canonical))
        return content_of(article, reading.replacement_share, url, payload, context, rule)

    def _links(self, urls: Sequence[str], url: str, rule: ParserRule | None) -> Iterator[JudgedLink]:
        return judge_links(
            urls,
            host_of(url),
            options_of(rule),
            blacklist=self._rules.blacklist(),
            is_category=self._rules.is_category,
            limits=self._limits(),
        )

    def _entries(self, entries: Sequence[Link], rule: ParserRule | None) -> Iterator[JudgedLink]:
        return judge_entries(
            entries,
            options_of(rule),
            blacklist=self._rules.blacklist(),
            oldest_ms=self._clock.now_ms() - self._options.max_entry_age_ms,
            limits=self._limits(),
        )

    def _limits(self) -> Limits:
        this_year = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC).year
        return Limits(this_year=this_year, max_length=self._options.max_url_length)

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


def _may_be_listed(host: str, expression: str) -> bool:
    """Whether readers of the blacklist take such an entry: one that they refuse would cost them all the others."""
    try:
        check_place(host, expression)
    except PermanentError:
        return False
    return True
