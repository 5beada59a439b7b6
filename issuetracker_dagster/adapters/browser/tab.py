"""One page in the browser: what it may ask for, when it is done, and what comes out.

The document itself isn't asked for again: the browser gets the bytes that were fetched. It gets them as a sandboxed
document, in which the browser itself refuses windows, dialogs, forms and downloads.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec
from playwright.async_api import BrowserContext, CDPSession, Error, Page, Request, Route

from issuetracker_dagster.adapters.browser.guard import Guard
from issuetracker_dagster.adapters.browser.options import RenderOptions
from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.rendering import Rendered, RenderRequest

logger = logging.getLogger(__name__)

_SANDBOX = "sandbox allow-scripts allow-same-origin"
_TYPES = frozenset({"script", "stylesheet", "xhr", "fetch"})
"""What a document needs to become itself. Frames are documents of others, and don't come out with the page."""
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
_LOOK_EVERY_S = 0.1
_REPLACED = ("context", "navigated")
"""How errors are recognised that say that the document is another one by now."""
_BESIDE_THE_PAGE = (files(__package__) / "tab.js").read_text(encoding="utf-8")


class _Look(msgspec.Struct, rename="camel"):
    """The page at this moment, as `tab.js` sees it."""

    changes: int
    is_loaded: bool
    has_text: bool


class Tab:
    """Renders one page in a context made for it."""

    def __init__(self, context: BrowserContext, request: RenderRequest, guard: Guard, options: RenderOptions) -> None:
        self._context = context
        self._request = request
        self._guard = guard
        self._options = options
        self._url = request.response.url
        self._is_delivered = False
        self._asked = 0
        self._open: set[Request] = set()
        self._end: asyncio.Future[Rendered] = asyncio.get_running_loop().create_future()

    async def rendered(self) -> Rendered:
        """The page once it has come to rest; never returns for a page that doesn't let itself be looked at.

        Raises `TransientError` when the tab dies and `PermanentError` `too_large`.
        """
        reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait({reading, self._end}, return_when=asyncio.FIRST_COMPLETED)
            return self._end.result() if self._end.done() else reading.result()
        finally:
            reading.cancel()
            self._end.add_done_callback(_read_by_nobody)
            self._end.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _opened(self) -> Page:
        """An empty tab, with whatever may happen to it taken care of."""
        await self._context.route("**/*", self._decide)
        page = await self._context.new_page()
        page.on("crash", lambda _: self._fail("its tab crashed, or took more memory than FETCH_RENDER_MAX_MEMORY"))
        page.on("close", lambda _: self._fail("its tab was closed"))
        page.on("request", lambda request: self._open.add(request))
        page.on("requestfinished", lambda request: self._open.discard(request))
        page.on("requestfailed", lambda request: self._open.discard(request))
        self._context.on("page", _close)  # a window that got past the sandbox
        return page

    async def _read(self) -> Rendered:
        page = await self._opened()
        session = await self._context.new_cdp_session(page)
        # In place of the empty tab, else a script could go back to that, past `_navigate`.
        async with page.expect_navigation(wait_until="commit", timeout=0):
            await page.evaluate("url => location.replace(url)", self._url)
        beside = _Beside(session)
        await self._settled(beside)
        html = await beside.evaluate(f"html({self._request.max_bytes})")
        raw = None if html is None else str(html).encode("utf-8", "replace")
        if raw is None or len(raw) > self._request.max_bytes:
            reason = f"{self._url} is longer than {self._request.max_bytes} bytes once it is rendered"
            raise PermanentError(reason, code="too_large")
        return Rendered(body=raw)

    async def _settled(self, beside: "_Beside") -> None:
        """Return when the page rests, and has text or has had its time to get some."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        # A job with little time still wants the page as far as it came.
        patience_s = min(self._options.settle_ms, self._request.timeout_ms // 2) / 1000
        give_up, quiet_since, seen = now + patience_s, now, -1
        while now < give_up:
            look = msgspec.convert(await beside.evaluate(f"look({self._options.enough_text})"), _Look)
            now = loop.time()
            if look.changes != seen or self._open or not look.is_loaded:
                quiet_since, seen = now, look.changes
            quiet_s = now - quiet_since
            is_spent = self._guard.is_spent or self._asked > self._options.max_requests
            if quiet_s >= self._options.quiet_ms / 1000 and (look.has_text or is_spent or quiet_s >= patience_s / 2):
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _decide(self, route: Route) -> None:
        with contextlib.suppress(Error):  # the page has gone meanwhile
            try:
                await self._answer(route)
            except Error:
                raise
            except Exception:
                # A request without an answer would stay open, and its page never come to rest.
                logger.exception("a bug while a page asked for something", extra=action("handler.bug"))
                await route.abort("blockedbyclient")

    async def _answer(self, route: Route) -> None:
        request = route.request
        if request.is_navigation_request():
            await self._navigate(route)
        elif self._may_ask(request):
            await route.continue_(headers=_honest(request.headers))
        else:
            await route.abort("blockedbyclient")

    def _may_ask(self, request: Request) -> bool:
        self._asked += 1
        if self._asked > self._options.max_requests:
            return False
        if request.resource_type not in _TYPES or request.method not in _METHODS:
            return False
        return self._request.may_ask(request.url)

    async def _navigate(self, route: Route) -> None:
        """The document once, from what was fetched; to any further place the browser doesn't go itself."""
        if route.request.frame.parent_frame is not None:
            await route.abort("blockedbyclient")
        elif not self._is_delivered:
            self._is_delivered = True
            headers = {"content-type": _content_type(self._request), "content-security-policy": _SANDBOX}
            await route.fulfill(status=200, headers=headers, body=self._request.response.body)
        else:
            if self._request.is_redirect(route.request.url) and not self._end.done():
                self._end.set_result(Rendered(redirect=route.request.url))
            await route.fulfill(status=204)  # with which a browser stays where it is

    def _fail(self, reason: str) -> None:
        if not self._end.done():
            self._end.set_exception(TransientError(f"{self._url} can't be rendered: {reason}"))


class _Beside:
    """What `tab.js` says of the page. A page that replaced its document is looked at anew."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        self._world: int | None = None

    async def evaluate(self, expression: str) -> Any:
        while True:
            try:
                if self._world is None:
                    self._world = await self._entered()
                return await self._asked(expression, self._world)
            except Error as error:
                if not any(word in str(error) for word in _REPLACED):
                    raise
                self._world = None
                await asyncio.sleep(_LOOK_EVERY_S)

    async def _entered(self) -> int:
        tree = await self._session.send("Page.getFrameTree")
        frame = {"frameId": tree["frameTree"]["frame"]["id"], "worldName": "beside"}
        world = int((await self._session.send("Page.createIsolatedWorld", frame))["executionContextId"])
        await self._asked(_BESIDE_THE_PAGE, world)
        return world

    async def _asked(self, expression: str, world: int) -> Any:
        asked = {"expression": expression, "contextId": world, "returnByValue": True}
        answer = await self._session.send("Runtime.evaluate", asked)
        if "exceptionDetails" in answer:
            raise TransientError(f"the page can't be looked at: {answer['exceptionDetails'].get('text', '')}")
        return answer["result"].get("value")


async def _close(page: Page) -> None:
    with contextlib.suppress(Error):
        await page.close()


def _read_by_nobody(end: "asyncio.Future[Rendered]") -> None:
    """Tell asyncio that an end that came too late isn't a forgotten error."""
    if not end.cancelled():
        end.exception()


def _honest(headers: Mapping[str, str]) -> dict[str, str]:
    """Without what Playwright makes up of the machine and the browser for a user agent that it doesn't know."""
    return {name: value for name, value in headers.items() if not name.lower().startswith("sec-ch-ua")}


def _content_type(request: RenderRequest) -> str:
    """UTF-8 is told by its bytes, as the parser does; anything else by what the server or the page says."""
    try:
        request.response.body.decode("utf-8")
    except UnicodeDecodeError:
        return request.response.headers.get("content-type", "text/html")
    return f"{request.response.content_type}; charset=utf-8"
