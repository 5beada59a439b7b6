"""The port `Renderer`: a thread with a loop of its own, in which everything of the browser happens.

Callers are threads and hand their page over with a deadline. The browser is started for the first page, replaced after
some pages (they leave something behind, whatever one closes) and whenever it died.
"""

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from aiohttp.abc import AbstractResolver
from playwright.async_api import BrowserContext, Error

from issuetracker_dagster.adapters.browser.chromium import BrowserLoop, Chromium
from issuetracker_dagster.adapters.browser.guard import Guard
from issuetracker_dagster.adapters.browser.options import RenderOptions
from issuetracker_dagster.adapters.browser.places import Places
from issuetracker_dagster.adapters.browser.tab import Tab
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.http import TimedOut
from issuetracker_dagster.ports.rendering import Rendered, RendererBusy, RenderRequest

logger = logging.getLogger(__name__)

_START_S = 45.0
_CLOSE_CONTEXT_S = 3.0
_GRACE_S = 10.0
_SHUT_DOWN_S = 15.0
"""Longer than a browser takes that has to be ended by force, and whose folder has to wait for it."""
_REST_S = 60.0
"""How long a browser that didn't start isn't tried again: trying costs seconds, and a whole shift would wait."""
_LOOKUP_THREADS = 8

T = TypeVar("T")


class BrowserRenderer:
    """A `Renderer`. `resolver` says where each name is, and refuses what may not be asked."""

    def __init__(self, options: RenderOptions, resolver: AbstractResolver) -> None:
        self._options = options
        self._resolver = resolver
        self._places = Places(options.pages)
        self._loop = BrowserLoop()
        self._lookups = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="browser-lookup")
        self._loop.set_default_executor(self._lookups)
        self._thread = threading.Thread(target=self._loop.run_forever, name="browser", daemon=True)
        self._thread.start()
        self._closed = threading.Event()
        self._starting = asyncio.Lock()
        self._start: asyncio.Task[Chromium] | None = None
        self._running: list[Chromium] = []
        self._failed: RendererBusy | None = None
        self._rests_until = 0.0

    def reserve(self, *, is_urgent: bool, wait_ms: int) -> None:
        until = time.monotonic() + wait_ms / 1000
        if not self._places.take(is_urgent=is_urgent, wait_s=wait_ms / 1000):
            raise RendererBusy(f"all {self._options.pages} pages of the browser are in use (FETCH_RENDER_PAGES)")
        try:
            self._run(self._ready(until - time.monotonic()), _START_S)
        except BaseException as error:
            self._places.give_back()
            if isinstance(error, TransientError):
                raise RendererBusy(str(error)) from None
            raise

    def release(self) -> None:
        self._places.give_back()

    def render(self, request: RenderRequest) -> Rendered:
        return self._run(self._rendered(request), _START_S + request.timeout_ms / 1000 + _GRACE_S)

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        try:
            asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result(_SHUT_DOWN_S)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            logger.warning("the browser didn't end in time, it is killed", extra=action("render.killed"))
            for browser in self._running:
                self._loop.call_soon_threadsafe(browser.kill)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_GRACE_S)
            self._lookups.shutdown(wait=False, cancel_futures=True)
            if not self._thread.is_alive():
                self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        if self._closed.is_set():
            work.close()
            raise TransientError("the renderer is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except concurrent.futures.CancelledError:
            raise TransientError("the renderer was closed meanwhile") from None
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise TimedOut(f"no answer from the browser within {timeout_s:.0f} s") from None

    async def _ready(self, wait_s: float) -> None:
        """Return when there is a browser for the next page; raises `RendererBusy`. Its start goes on without us."""
        if self._usable():
            return
        if self._start is None or self._start.done():
            self._start = asyncio.create_task(self._fresh())
            self._start.add_done_callback(_read_by_nobody)
        await asyncio.wait({self._start}, timeout=max(wait_s, 0))
        if not self._start.done():
            raise RendererBusy("the browser is being started")
        self._start.result()

    def _usable(self) -> Chromium | None:
        newest = self._running[-1] if self._running else None
        return newest if newest and newest.is_alive and newest.pages < self._options.restart_after else None

    async def _fresh(self) -> Chromium:
        """The browser for the next page, started when there is none; raises `RendererBusy`."""
        async with self._starting:
            if usable := self._usable():
                return usable
            if self._failed and self._loop.time() < self._rests_until:
                raise self._failed
            try:
                started = await Chromium.started(self._options, self._loop)
            except RendererBusy as failed:
                self._failed, self._rests_until = failed, self._loop.time() + _REST_S
                logger.warning(str(failed), extra=action("render.unavailable"))
                raise
            self._failed = None
            self._running.append(started)
        await self._let_go()
        return started

    async def _let_go(self) -> None:
        """End browsers that are dead, and those that had their pages once nobody uses them."""
        most = self._options.restart_after
        gone = [one for one in self._running if not one.is_alive or (one.pages >= most and not one.in_use)]
        self._running = [one for one in self._running if one not in gone]
        for browser in gone:
            await browser.close()

    async def _rendered(self, request: RenderRequest) -> Rendered:
        try:
            browser = await self._fresh()
        except RendererBusy as died:
            raise TransientError(f"{request.response.url} can't be rendered: {died}") from None
        browser.pages += 1
        browser.in_use += 1
        try:
            return await self._in(browser, request)
        except TimeoutError:
            raise TimedOut(f"{request.response.url} wasn't rendered within {request.timeout_ms} ms") from None
        except (Error, OSError) as error:  # the latter of a machine without handles or space
            reason = str(error).strip().partition("\n")[0]
            raise TransientError(f"{request.response.url} can't be rendered: {reason}") from None
        finally:
            browser.in_use -= 1
            await self._let_go()

    async def _in(self, browser: Chromium, request: RenderRequest) -> Rendered:
        limit, connections = self._options.max_traffic, self._options.max_connections
        async with Guard(self._resolver, limit=limit, connections=connections) as guard:
            context: BrowserContext | None = None
            try:
                async with asyncio.timeout(request.timeout_ms / 1000):
                    context = await browser.context(proxy_port=guard.port, user_agent=request.user_agent)
                    return await Tab(context, request, guard, self._options).rendered()
            finally:
                if not await _closed(context):
                    browser.pages = self._options.restart_after  # it doesn't obey any more

    async def _shut_down(self) -> None:
        mine = asyncio.current_task()
        # At once, so that one that hangs takes no time of the others.
        ends = await asyncio.gather(*(browser.close() for browser in self._running), return_exceptions=True)
        for error in ends:
            if error is not None:
                logger.error("a bug while a browser was ended", exc_info=error, extra=action("handler.bug"))
        running = [task for task in asyncio.all_tasks() if task is not mine]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _read_by_nobody(start: "asyncio.Task[Chromium]") -> None:
    """Tell asyncio that a start that failed isn't a forgotten error: the next page learns of it."""
    if not start.cancelled():
        start.exception()


async def _closed(context: BrowserContext | None) -> bool:
    """Whether the page and all that it had is gone."""
    if context is None:
        return False
    try:
        async with asyncio.timeout(_CLOSE_CONTEXT_S):
            await context.close()
    except (Error, TimeoutError):
        return False
    return True
