"""One page on its way through the stages' own code, with stores in memory: nothing is kept, nothing published."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.errors import IssueTrackerError, NeedsRefetch, NotDue, PermanentError
from issuetracker_dagster.flow.requests import name_of
from issuetracker_dagster.flow.resolve import standard_chain
from issuetracker_dagster.model.digest import one_line
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef
from issuetracker_dagster.model.records import Content, RawContent
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trial import Refusal, TrialView
from issuetracker_dagster.stages.enrich.extract import LocalExtractor
from issuetracker_dagster.stages.enrich.korean import korean_nouns
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.fetch.handler import FetchHandler
from issuetracker_dagster.stages.parser.examine import BLACKLISTED, PageExaminer
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import ExtractionPool
from issuetracker_dagster.stages.validate.handler import ValidateHandler
from issuetracker_dagster.wiring.handlers import fetch_options, validate_options
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.rendering import build_renderer
from issuetracker_dagster.wiring.snapshots import LatestParameters
from issuetracker_dagster.wiring.trial_fetch import UnpacedGate, WatchedFetcher, WatchedRobots, fetch_view
from issuetracker_dagster.wiring.trial_rules import RuleBook, TrialRules
from issuetracker_dagster.wiring.trial_views import enrich_view, parser_view, validate_view

_CONTEXT_ROOT = "try"
_ONE_PAGE = ParserOptions(processes=1)


class Trial:
    """Tries one page: `rules` say how it is read, `book` how urgent its links are, `limits` what reading may cost.

    `allow_private_addresses` as the workers have it, which may be set for them alone.
    """

    def __init__(
        self,
        wiring: Wiring,
        rules: TrialRules,
        book: RuleBook,
        url: str,
        target_type: TargetType,
        limits: ParserOptions = _ONE_PAGE,
        *,
        allow_private_addresses: bool = False,
    ) -> None:
        self._wiring = wiring
        self._limits = limits
        self._allow_private_addresses = allow_private_addresses
        self._rules = rules
        self._book = book
        self._stores = MemoryStores()
        self._name_of: Callable[[str], str] = partial(name_of, parameters=LatestParameters(rules)())
        self._url = self._name_of(url)
        self._context = HandlerContext(Headers(root_id=_CONTEXT_ROOT, target_type=target_type))
        self._view = TrialView(url=one_line(self._url, 2_000), target_type=target_type, rules=book.told)

    def of_url(self) -> TrialView:
        """Fetch the page as a worker does, and go on with it; hosts are asked apart from the limits workers share."""
        return self._tried(self._fetched)

    def of_file(self, body: bytes, content_type: str) -> TrialView:
        """Go on with these bytes as if they had been fetched just now."""
        page = RawContent(
            url=self._url,
            requested_url=self._url,
            status=200,
            content_type=content_type,
            body=body,
            fetched_ms=self._wiring.clock.now_ms(),
            target_type=self._context.target_type,
        )
        return self._tried(lambda: page)

    def _tried(self, page_of: Callable[[], RawContent]) -> TrialView:
        stage = Stage.FETCH
        try:
            page = page_of()
            stage = Stage.PARSER
            content = self._parsed(page)
            if content is not None:
                stage = Stage.VALIDATE
                content = self._validated(content)
            if content is not None:
                stage = Stage.ENRICH
                extractor = LocalExtractor(EnrichOptions(), korean_nouns())
                self._note(enrich=enrich_view(extractor.extract(content)))
        except IssueTrackerError as error:
            self._refuse(stage, _code(error), str(error))
        return self._view

    def _fetched(self) -> RawContent:
        options = fetch_options(self._wiring)
        clock = self._wiring.clock
        fetcher = AiohttpFetcher(allow_private_addresses=self._allow_private_addresses)
        watched = WatchedFetcher(fetcher)
        robots = WatchedRobots(fetcher, clock, options)
        pages, gate = self._stores.raw_contents, UnpacedGate(clock)
        renderer = build_renderer(self._wiring.settings, allow_private_addresses=self._allow_private_addresses)
        handler = FetchHandler(watched, gate, robots, pages, self._rules, clock, options, renderer)
        job = CrawlJob(url=self._url, target_type=self._context.target_type, unconditional=True)
        try:
            outcome = handler.handle(job, self._context)
        finally:
            handler.close()
            self._note(fetch=fetch_view(self._url, watched, robots, options))
        raw = pages.get(outcome.forward.raw_id) if isinstance(outcome.forward, RawContentRef) else None
        if raw is None:
            raise PermanentError(f"fetch kept no page: {outcome.note}")
        return raw

    def _parsed(self, page: RawContent) -> Content | None:
        """The content of an article; None of what else the page is."""
        payload = RawContentRef(
            raw_id=page.raw_id,
            url=page.url,
            requested_url=page.requested_url,
            target_type=page.target_type,
            fetched_ms=page.fetched_ms,
        )
        reader = ExtractionPool(self._limits)
        examiner = PageExaminer(self._rules, reader, self._wiring.clock, self._limits, name_of=self._name_of)
        try:
            found = examiner.examine(page, payload, self._context)
            chain = standard_chain(lambda: self._book.priorities, self._wiring.priority_by_source())
            judged = list(examiner.judged(found))
            self._note(parser=parser_view(found, judged, examiner.most_links(found), chain))
        finally:
            examiner.close()
        if found.found == BLACKLISTED:
            raise PermanentError("the blacklist drops this page", code=BLACKLISTED)
        return found.content

    def _validated(self, content: Content) -> Content | None:
        """The content as validate leaves it; None when it is refused."""
        contents = self._stores.contents
        content_id = contents.save(content)
        handler = ValidateHandler(contents, self._wiring.clock, validate_options(self._wiring))
        with suppress(NeedsRefetch):  # of which the verdict on this copy is kept all the same
            handler.handle(ContentRef(content_id=content_id, url=content.url), self._context)
        verdict = contents.verdict(content_id)
        if verdict is None:
            raise PermanentError("validate gave no verdict")
        self._note(validate=validate_view(verdict))
        if not verdict.accepted:
            self._refuse(Stage.VALIDATE, verdict.code, verdict.reason)
            return None
        return contents.get(content_id)

    def _note(self, **parts: object) -> None:
        self._view = msgspec.structs.replace(self._view, **parts)

    def _refuse(self, stage: Stage, code: str, reason: str) -> None:
        self._note(refused=Refusal(stage=stage, code=code, reason=one_line(reason, 1_000)))


def _code(error: IssueTrackerError) -> str:
    if isinstance(error, PermanentError):
        return error.code
    return "not_due" if isinstance(error, NotDue) else "transient"
