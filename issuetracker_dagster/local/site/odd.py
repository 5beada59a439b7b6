"""Pages as crawlers meet them: slow, broken, doubled, circular, endless."""

import asyncio
import contextlib
import gzip
from collections.abc import Awaitable, Callable
from html import escape

from aiohttp import web

from issuetracker_dagster.local.site.articles import article_page
from issuetracker_dagster.local.site.hosts import ODD
from issuetracker_dagster.local.site.newsroom import Newsroom
from issuetracker_dagster.local.site.pages import page

SLOW_S = 2.5
HUGE_BYTES = 50 * 1024 * 1024
_DRIP_S = 0.25
_CHUNK = 64 * 1024
_LINKS = (
    ("slow", "answers after 2.5 seconds"),
    ("missing", "404"),
    ("error", "500"),
    ("truncated", "gzip that breaks off"),
    ("copy", "a thread under a second address, with rel=canonical"),
    ("redirect/3", "three redirects to a thread"),
    ("loop/a", "redirects to itself by way of another"),
    ("endless", "never ends"),
    ("huge", "50 MB"),
)

Answer = Callable[[web.Request, int], Awaitable[web.StreamResponse]]


class OddPages:
    """Answers below `/odd/`, `/calendar/` and `/private/`. `stopping` ends what never ends by itself.

    Who asks for the endless and the huge one hangs up sooner or later; that is no error here.
    """

    def __init__(self, newsroom: Newsroom, base_url: str, stopping: asyncio.Event) -> None:
        self._newsroom = newsroom
        self._base_url = base_url
        self._stopping = stopping
        self._answers: dict[str, Answer] = {
            "": self._list,
            "slow": self._slow,
            "error": self._error,
            "truncated": self._truncated,
            "copy": self._copy,
            "redirect": self._redirect,
            "loop": self._loop,
            "endless": self._endless,
            "huge": self._huge,
        }

    async def answer(self, request: web.Request, now_ms: int) -> web.StreamResponse | None:
        """The odd page of that path; None when there is none."""
        _, top, *rest = request.path.split("/")
        if top == "calendar":
            return self._calendar(rest, now_ms)
        if top == "private":
            return web.Response(text="This folder is closed to robots.")
        found = self._answers.get(rest[0] if rest else "") if top == "odd" else None
        return await found(request, now_ms) if found else None

    async def _list(self, _request: web.Request, now_ms: int) -> web.StreamResponse:
        items = "\n".join(f'<li><a href="/odd/{name}">{escape(name)}</a>: {escape(what)}</li>' for name, what in _LINKS)
        more = '<li><a href="/calendar/2031/05/">a calendar without end</a></li>'
        more += '<li><a href="/private/notes">closed to robots</a></li>'
        return _html(page(ODD, "Odd pages", f"<h1>Odd pages</h1>\n<ul>\n{items}\n{more}\n</ul>", now_ms))

    async def _slow(self, _request: web.Request, now_ms: int) -> web.StreamResponse:
        await asyncio.sleep(SLOW_S)
        text = "This page took its time, as pages behind a tired database do. " * 6
        return _html(page(ODD, "Slow page", f"<h1>A slow page</h1><p>{text}</p>", now_ms))

    async def _error(self, _request: web.Request, _now_ms: int) -> web.StreamResponse:
        return web.Response(status=500, text="Something broke, as it always does here.")

    async def _truncated(self, _request: web.Request, now_ms: int) -> web.StreamResponse:
        whole = gzip.compress(
            page(ODD, "Cut off", "<p>" + "Half of this never arrives. " * 200 + "</p>", now_ms).encode()
        )
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"}
        return web.Response(body=whole[: len(whole) // 2], headers=headers)

    async def _copy(self, _request: web.Request, now_ms: int) -> web.StreamResponse:
        story = self._newsroom.latest(ODD, now_ms, limit=1)[0]
        return _html(article_page(story, self._base_url, now_ms))

    async def _redirect(self, request: web.Request, now_ms: int) -> web.StreamResponse:
        left = request.path.rsplit("/", 1)[-1]
        if left in ("2", "3"):
            return _to(f"/odd/redirect/{int(left) - 1}")
        return _to(self._newsroom.latest(ODD, now_ms, limit=1)[0].path)

    async def _loop(self, request: web.Request, _now_ms: int) -> web.StreamResponse:
        return _to("/odd/loop/b" if request.path.endswith("/a") else "/odd/loop/a")

    async def _endless(self, request: web.Request, _now_ms: int) -> web.StreamResponse:
        response = await _streamed(request)
        with contextlib.suppress(ConnectionError):
            await response.write(b"<!DOCTYPE html><title>Endless</title>")
            while not self._stopping.is_set():
                await response.write(b"<p>And then, and then, and then ...</p>\n")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), _DRIP_S)
        return response

    async def _huge(self, request: web.Request, _now_ms: int) -> web.StreamResponse:
        response = await _streamed(request)
        line = b"<p>One line of a very long page.</p>\n"
        chunk = line * (_CHUNK // len(line))
        with contextlib.suppress(ConnectionError):
            for _ in range(HUGE_BYTES // len(chunk) + 1):
                if self._stopping.is_set():
                    break
                await response.write(chunk)
        return response

    def _calendar(self, rest: list[str], now_ms: int) -> web.StreamResponse | None:
        try:
            year, month = int(rest[0]), int(rest[1])
        except (IndexError, ValueError):
            return None
        if not 1 <= month <= 12 or not 1 <= year <= 9_998:
            return None
        days = "".join(f'<a href="/calendar/{year}/{month:02}/{day:02}/">{day}</a> ' for day in range(1, 29))
        later, next_month = (year + 1, 1) if month == 12 else (year, month + 1)
        text = f'<h1>{month}/{year}</h1><p>{days}</p><a href="/calendar/{later}/{next_month:02}/">next</a>'
        return _html(page(ODD, f"Calendar {month}/{year}", text, now_ms))


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", charset="utf-8")


def _to(path: str) -> web.Response:
    return web.Response(status=302, headers={"Location": path})


async def _streamed(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/html; charset=utf-8"})
    await response.prepare(request)
    return response
