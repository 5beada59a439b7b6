"""The part of a browser in one job: which pages are rendered, under the same politeness as those that aren't.

The page itself is fetched as ever; the browser gets what came, and asks only for what the page wants besides.
"""

import contextlib
from types import TracebackType

import msgspec

from issuetracker_dagster.errors import NotDue, TransientError
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.urls import BadUrl, authority_of, host_of, spelled
from issuetracker_dagster.ports.http import FetchResponse
from issuetracker_dagster.ports.rendering import Renderer, RendererBusy, RenderRequest
from issuetracker_dagster.stages.domains import registrable_domain
from issuetracker_dagster.stages.fetch.answers import PAGE
from issuetracker_dagster.stages.fetch.visit import HostRules, Hosts, Visit

_WAIT_MS = 50
"""Whoever waits for the browser holds a slot of fetch, which hosts without scripts could use."""
_AGAIN_MS = 1_000
_TYPES = frozenset({"text/html", "application/xhtml+xml"})


class Rendering:
    """A context that gives back the place it took. Without a renderer every page stays as it was fetched."""

    def __init__(self, renderer: Renderer | None, hosts: Hosts, job: CrawlJob, priority: Priority) -> None:
        self._renderer = renderer
        self._hosts = hosts
        self._is_upgrade = "upgrade" in job.metadata
        self._is_urgent = priority is Priority.HIGH
        self._has_place = False
        self._asked = 0

    def __enter__(self) -> "Rendering":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._renderer and self._has_place:
            self._renderer.release()

    def prepare(self, url: str) -> bool:
        """Whether the page there is to be rendered; a place in the browser is then held, before its host is asked.

        Raises `NotDue` when there is none for now, so that neither an attempt nor a request is spent on it.
        """
        if self._is_upgrade:
            self._hosts.forget(url)  # the rule that this job comes from is younger than what is remembered
        if self._renderer is None or not self._hosts.rule(url).rendering:
            return False
        if not self._has_place:
            try:
                self._renderer.reserve(is_urgent=self._is_urgent, wait_ms=_WAIT_MS)
            except RendererBusy as busy:
                raise NotDue(authority_of(url), self._hosts.clock.now_ms() + _AGAIN_MS, str(busy)) from None
            self._has_place = True
        return True

    def rendered(self, response: FetchResponse, visit: Visit) -> FetchResponse:
        """The page as the browser makes it out of the answer; a redirect when its script leads elsewhere.

        Of the site's own pages only: a script that leads to somebody else's leaves the page as it is.
        """
        if self._renderer is None or response.status not in PAGE or response.content_type not in _TYPES:
            return response
        # Read before the hand-over: all pages stand still while the browser's only thread waits for Redis or SQL.
        rules = self._hosts.known(response.url)
        request = RenderRequest(
            response=response,
            user_agent=self._hosts.user_agent(response.url),
            timeout_ms=visit.remaining_ms(response.url),
            max_bytes=self._hosts.options.max_bytes,
            may_ask=lambda url: self._may_ask(url, response.url, rules),
            is_redirect=lambda url: _is_redirect(url, response.url),
        )
        try:
            rendered = self._renderer.render(request)
        finally:
            self._charge(response.url, rules)
        if rendered.redirect:
            return FetchResponse(url=response.url, status=302, headers={"location": rendered.redirect})
        # Validators of what was fetched say nothing of what its scripts fetch.
        headers = {"content-type": "text/html; charset=utf-8"}
        return msgspec.structs.replace(response, headers=headers, body=rendered.body, is_rendered=True)

    def _may_ask(self, url: str, page_url: str, rules: HostRules) -> bool:
        """What robots.txt of the page's own host forbids isn't asked for its sake either."""
        try:
            if authority_of(url) != authority_of(page_url):
                return True
        except BadUrl:
            return False
        is_allowed = rules.allows(url)
        self._asked += is_allowed
        return is_allowed

    def _charge(self, url: str, rules: HostRules) -> None:
        """What the page asked of its own host counts as requests; the host's bucket can't be more than full."""
        rule = rules.pace
        asked, self._asked = self._asked, 0
        with contextlib.suppress(TransientError):  # the page in hand is worth more than an exact gate
            for _ in range(min(asked, rule.burst)):
                self._hosts.gate.charge(authority_of(url), rule)


def _is_redirect(url: str, page_url: str) -> bool:
    try:
        target = spelled(url)
    except BadUrl:
        return False
    same_site = registrable_domain(host_of(target)) == registrable_domain(host_of(page_url))
    return same_site and target != spelled(page_url)
