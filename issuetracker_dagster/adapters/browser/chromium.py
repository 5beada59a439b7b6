"""One running Chromium with the driver that Playwright puts beside it: started whole, ended whole.

Three processes hang together by pipes: the worker, the driver, the browser. Each ends when the one before it has gone,
so that nothing is left behind a worker that was killed. What is killed here are processes that this module started.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

import psutil
from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Playwright, async_playwright

from issuetracker_dagster.adapters.browser.folders import new_folder, remove_folder
from issuetracker_dagster.adapters.browser.installed import browser_path
from issuetracker_dagster.adapters.browser.options import RenderOptions
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.rendering import RendererBusy

logger = logging.getLogger(__name__)

_START_S = 30.0
_CLOSE_S = 5.0
_GONE_S = 2.0
_LONGEST_FOLDER = 60
"""Chromium puts a socket below it, and the path of one has 107 bytes."""
_LOOK_EVERY_S = 0.5
_TRIES = 6
_NOWHERE = "http://127.0.0.1:1"
"""A proxy that isn't there: whatever the browser would send for no page goes nowhere."""
_ARGUMENTS = (
    "--disable-quic",  # which goes past any proxy
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # likewise
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its name before
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # names are looked up by the guard
)
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "FONTCONFIG_PATH", "LD_LIBRARY_PATH")
"""What the browser may know of our environment, in which passwords of servers are."""


class BrowserLoop(asyncio.SelectorEventLoop):
    """Remembers what is started in it, since Playwright doesn't name its driver. `folder` is where that may write."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = ""
        self._started: list[asyncio.SubprocessTransport] = []

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        # In a session of its own, since Ctrl-C at a terminal is meant for the worker, which still wants its pages.
        options |= {"start_new_session": True, "env": {**(options["env"] or os.environ), "TMPDIR": self.folder}}
        transport, protocol = await super().subprocess_exec(*args, **options)
        self._started.append(transport)
        return transport, protocol

    def take_started(self) -> "list[Child]":
        """What was started since it was asked last."""
        started = [Child(transport) for transport in self._started]
        self._started.clear()
        return started


class Child:
    """A process that is ended together with those below it."""

    def __init__(self, transport: asyncio.SubprocessTransport) -> None:
        self._transport = transport
        try:
            self._process: psutil.Process | None = psutil.Process(transport.get_pid())
        except psutil.Error:
            self._process = None

    @property
    def pid(self) -> int:
        return self._transport.get_pid()

    def end(self) -> None:
        """Kill what is left of it and of those below."""
        if self._process:  # which knows when it was started: a number that was given to another is left alone
            with contextlib.suppress(psutil.Error):
                left = [*self._process.children(recursive=True), self._process]
                for process in left:
                    with contextlib.suppress(psutil.Error):
                        process.kill()
                psutil.wait_procs(left, timeout=_GONE_S)  # they write until they are gone
        self._transport.close()


class Chromium:
    """A browser that answers. `pages` counts what it was used for, `in_use` what it is used for now."""

    def __init__(self, playwright: Playwright, children: Sequence[Child], browser: Browser, folder: str) -> None:
        self._playwright = playwright
        self._folder = folder
        self._children = children
        self._browser = browser
        self._watch: asyncio.Task[None] | None = None
        self.pages = 0
        self.in_use = 0

    @classmethod
    async def started(cls, options: RenderOptions, loop: BrowserLoop) -> "Chromium":
        """A new browser in that running loop; raises `RendererBusy` with the reason when it doesn't start."""
        with contextlib.ExitStack() as unless_it_starts:
            try:
                loop.folder = folder = new_folder()
                unless_it_starts.callback(remove_folder, folder)
                unless_it_starts.callback(lambda: _end(loop.take_started()))
                async with asyncio.timeout(_START_S):
                    playwright = await async_playwright().start()
                    browser = await _launched(playwright, options, folder)
                    session = await browser.new_browser_cdp_session()
            except (Error, OSError, TimeoutError) as error:
                raise RendererBusy(f"the browser doesn't start: {_told(error)}") from error
            unless_it_starts.pop_all()
        chromium = cls(playwright, loop.take_started(), browser, folder)
        chromium._watch = asyncio.create_task(chromium._watch_memory(session, options.max_memory))
        return chromium

    @property
    def is_alive(self) -> bool:
        return self._browser.is_connected()

    async def context(self, *, proxy_port: int, user_agent: str) -> BrowserContext:
        """A profile of its own for one page: nothing in it from before, and gone with it."""
        return await self._browser.new_context(
            user_agent=user_agent,
            # Without this word the browser goes to loopback and link-local addresses past the proxy.
            proxy={"server": f"http://127.0.0.1:{proxy_port}", "bypass": "<-loopback>"},
            service_workers="block",
            accept_downloads=False,
        )

    async def close(self) -> None:
        """End browser and driver, by force when they don't answer."""
        if self._watch:
            self._watch.cancel()
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._browser.close()
                await self._playwright.stop()
        _end(self._children)
        for _ in range(_TRIES):
            if remove_folder(self._folder):
                return
            await asyncio.sleep(_LOOK_EVERY_S)  # a browser that outlived its driver for a moment still writes

    def kill(self) -> None:
        """End browser and driver without waiting for their answer."""
        _end(self._children)
        remove_folder(self._folder)

    async def _watch_memory(self, session: CDPSession, most: int) -> None:
        """A page that takes too much loses its process; the others, in processes of their own, don't notice.

        The driver is looked at, too: a page can flood it with messages.
        """
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            try:
                found = await _in_time(session.send("SystemInfo.getProcessInfo"))
            except (Error, TimeoutError):
                continue  # a browser that is gone or hangs is found out by those who use it
            pids = [int(one["id"]) for one in found["processInfo"]]
            for pid in (*pids, *(child.pid for child in self._children)):
                with contextlib.suppress(psutil.Error):
                    process = psutil.Process(pid)
                    if process.memory_info().rss > most:
                        logger.warning("a process of the browser took too much memory", extra=action("render.killed"))
                        process.kill()


async def _launched(playwright: Playwright, options: RenderOptions, folder: str) -> Browser:
    path = browser_path(options)
    return await playwright.chromium.launch(
        executable_path=path or None,
        channel=None if path else options.browser or None,
        headless=True,
        chromium_sandbox=options.sandbox,
        args=list(_ARGUMENTS),
        proxy={"server": _NOWHERE, "bypass": "<-loopback>"},
        env={**_environment(folder)},
        handle_sigint=False,  # a worker that is told to stop still wants the pages in hand
        handle_sigterm=False,
        handle_sighup=False,
    )


def _environment(folder: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return kept | ({"TMPDIR": folder} if len(folder) <= _LONGEST_FOLDER else {})


async def _in_time(answer: Awaitable[Any]) -> Any:
    async with asyncio.timeout(_CLOSE_S):
        return await answer


def _end(children: Iterable[Child]) -> None:
    for child in children:
        child.end()


def _told(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
