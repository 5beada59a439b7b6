"""The fetch stage: asks for a page as politely as its host wants, stores it, and passes on a reference."""

import contextlib
import hashlib

from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.headers import DEFAULT_TIMEOUT_MS, TargetType
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.urls import BadUrl, authority_of, spelled
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import HostGate
from issuetracker_dagster.ports.http import Fetcher, FetchRequest, FetchResponse
from issuetracker_dagster.ports.rendering import Renderer
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.ports.stores import RawContents
from issuetracker_dagster.stages.fetch.answers import (
    SKIPPED_TYPES,
    UNCHANGED,
    failure,
    left_alone_until_ms,
    redirect_target,
    validator,
)
from issuetracker_dagster.stages.fetch.conditional import conditional_headers, is_news
from issuetracker_dagster.stages.fetch.options import FetchOptions
from issuetracker_dagster.stages.fetch.rendering import Rendering
from issuetracker_dagster.stages.fetch.robots import Robots
from issuetracker_dagster.stages.fetch.visit import Hosts, Visit

_ANSWERED_ALL_THE_SAME = frozenset({"too_large", "bad_encoding"})


class FetchHandler:
    """`Handler[CrawlJob]`, thread-safe. `robots` None (or `FETCH_ROBOTS=ignore`): every page may be fetched."""

    def __init__(
        self,
        fetcher: Fetcher,
        gate: HostGate,
        robots: Robots | None,
        raw_contents: RawContents,
        rules: ParserRules,
        clock: Clock,
        options: FetchOptions,
        renderer: Renderer | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._raw_contents = raw_contents
        self._clock = clock
        self._options = options
        self._renderer = renderer
        obeyed = robots if options.robots == "obey" else None
        self._hosts = Hosts(gate, obeyed, rules, clock, options)

    def handle(self, job: CrawlJob, context: HandlerContext) -> Outcome:
        """Fetch, store, pass on; order: robots and permit, request(s), breaker and blocks, store, outcome.

        Raises `NotDue` when a host on the way isn't due, `PermanentError` and `TransientError` by what the answer was
        (codes: `bad_url`, `private_address`, `robots_disallowed`, `redirect_loop`, `too_many_redirects`, `too_large`,
        `bad_encoding`, `unsupported_type`, `http_<status>`).
        """
        try:
            requested = spelled(job.url)
        except BadUrl as error:
            raise PermanentError(str(error), code="bad_url") from None
        stored = self._raw_contents.latest(requested)
        known = stored
        if _is_unconditional(job, context) or (stored and stored.target_type is not _target_type(job, context)):
            known = None  # the bytes are wanted even if they are the same
        timeout_ms, rendering = self._timeout_ms(requested, job, context), self._rendering(job, context)
        with rendering, Visit(self._hosts, timeout_ms) as visit:
            response = self._follow(requested, visit, rendering, known)
        return self._keep(response, requested, stored, job, context)

    def close(self) -> None:
        """Let go of the fetcher and the browser, of the one even if the other doesn't let itself be closed."""
        with contextlib.ExitStack() as closing:
            if self._renderer:
                closing.callback(self._renderer.close)
            closing.callback(self._fetcher.close)

    def _timeout_ms(self, url: str, job: CrawlJob, context: HandlerContext) -> int:
        # The default travels with every job that names no time of its own; it mustn't undercut a longer setting.
        said = (ms for ms in (job.timeout_ms, context.headers.timeout_ms) if ms > 0 and ms != DEFAULT_TIMEOUT_MS)
        return min(self._options.timeout_ms, self._hosts.rule(url).timeout_ms, *said)

    def _rendering(self, job: CrawlJob, context: HandlerContext) -> Rendering:
        is_list = _target_type(job, context) in (TargetType.FEED, TargetType.SITEMAP)
        return Rendering(None if is_list else self._renderer, self._hosts, job, context.priority)

    def _follow(self, url: str, visit: Visit, rendering: Rendering, known: RawContent | None) -> FetchResponse:
        seen = {url}
        while True:
            is_rendered = rendering.prepare(url)
            visit.admit(url)
            # Validators say whether the page changed, not whether that changed which its scripts fetch.
            response = self._ask(url, visit, None if is_rendered else known)
            if is_rendered:
                response = rendering.rendered(response, visit)
            target = redirect_target(response)
            if target is None:
                return response
            if target in seen:
                raise PermanentError(f"{url} redirects back to {target}", code="redirect_loop")
            if len(seen) > self._options.max_redirects:
                reason = f"more than {self._options.max_redirects} redirects, the last from {url}"
                raise PermanentError(reason, code="too_many_redirects")
            seen.add(target)
            url = target

    def _ask(self, url: str, visit: Visit, known: RawContent | None) -> FetchResponse:
        """One request, reported to its host's breaker and gate; raises what the answer amounts to."""
        host = authority_of(url)
        # Validators belong to the URL that gave them, which after redirects isn't the requested one.
        asked_before = known is not None and known.url == url
        headers = conditional_headers(known, self._clock.now_ms()) if known and asked_before else {}
        request = FetchRequest(
            url=url,
            user_agent=self._hosts.user_agent(url),
            timeout_ms=visit.remaining_ms(url),
            max_bytes=self._options.max_bytes,
            headers=headers,
            skip_types=SKIPPED_TYPES,
        )
        try:
            response = self._fetcher.fetch(request)
        except TransientError:
            visit.failed(host)
            raise
        except PermanentError as refused:
            if refused.code in _ANSWERED_ALL_THE_SAME:
                visit.answered(host)
            raise
        if response.status >= 500:
            visit.failed(host)
        else:
            visit.answered(host)
        until_ms = left_alone_until_ms(response, self._clock.now_ms(), self._options.retry_after_cap_ms)
        if until_ms is not None:
            visit.leave_alone(host, until_ms)
        if redirect_target(response) is None:
            error = failure(response, until_ms)
            if error is not None:
                raise error
            if response.status == UNCHANGED and not headers:
                raise PermanentError(f"{url} answered 304 to an unconditional request", code="http_304")
        return response

    def _keep(
        self,
        response: FetchResponse,
        requested: str,
        stored: RawContent | None,
        job: CrawlJob,
        context: HandlerContext,
    ) -> Outcome:
        page = RawContent(
            url=response.url,
            requested_url=requested,
            status=response.status,
            content_type=response.headers.get("content-type", "")[:255],
            etag=validator(response.headers, "etag"),
            last_modified=validator(response.headers, "last-modified"),
            body=response.body,
            body_sha256=hashlib.sha256(response.body).hexdigest(),
            fetched_ms=self._clock.now_ms(),
            target_type=_target_type(job, context),
            stored_by=context.headers.identity,
            source=job.source,
            is_rendered=response.is_rendered,
        )
        if stored is not None and response.status == UNCHANGED:
            # A 304 needn't repeat the validators.
            etag, modified = page.etag or stored.etag, page.last_modified or stored.last_modified
            self._raw_contents.touch(stored.raw_id, page.fetched_ms, etag, modified)
            if not is_news(stored, page):
                return Outcome(note="unchanged")
            return _forward(stored.raw_id, page, job)
        same = stored is not None and stored.body_sha256 == page.body_sha256
        if stored is not None and same and not _is_unconditional(job, context) and not is_news(stored, page):
            self._raw_contents.touch(stored.raw_id, page.fetched_ms, page.etag, page.last_modified)
            return Outcome(note="unchanged")
        return _forward(self._raw_contents.save(page), page, job)


def _is_unconditional(job: CrawlJob, context: HandlerContext) -> bool:
    """Whether a later stage asked for the page again; then it is passed on whatever it holds."""
    return job.unconditional or context.is_recrawl


def _forward(raw_id: int, page: RawContent, job: CrawlJob) -> Outcome:
    return Outcome(
        forward=RawContentRef(
            raw_id=raw_id,
            url=page.url,
            requested_url=page.requested_url,
            target_type=page.target_type,
            fetched_ms=page.fetched_ms,
            source=job.source,
            depth=job.depth,
        )
    )


def _target_type(job: CrawlJob, context: HandlerContext) -> TargetType:
    """The headers' type; a header that is missing reads as an article, and then the job knows better."""
    return job.target_type if context.target_type is TargetType.ARTICLE else context.target_type
