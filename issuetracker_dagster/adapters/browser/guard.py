"""The proxy of one rendered page: all that the browser sends for it comes by here, and goes to public addresses only.

A proxy and no interception of requests, because a browser has more ways out than those that can be intercepted:
redirects of scripts and pictures, web sockets, shared workers, preconnects, preflights. It resolves each name itself,
checks every address, and connects to what it checked, so that neither a redirect nor a name that answers differently a
moment later leads inside. Encrypted traffic passes as it is: the browser checks certificates.
"""

import asyncio
import contextlib
import re
import socket
from collections.abc import Mapping, Sequence
from types import TracebackType
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver

from issuetracker_dagster.errors import PermanentError

_MAX_HEAD = 64 * 1024
_MAX_UPLOAD = 1_000_000
_CONNECT_S = 10.0
_PIECE = 64 * 1024
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s\[\]/@:]+):(?P<port>\d{1,5})")
_OF_THE_HOP = frozenset(
    {"connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade"}
)

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Refused(Exception):
    """The request goes nowhere; the text is the status line that the browser gets."""


class Guard:
    """A context: a proxy on a loopback `port` of its own, gone with all its connections at the end.

    It passes `limit` bytes in both directions together, over at most `connections` at once; then nothing more.
    """

    def __init__(self, resolver: AbstractResolver, *, limit: int, connections: int) -> None:
        self._resolver = resolver
        self._left = limit
        self._connections = connections
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._is_over = False
        self.port = 0

    async def __aenter__(self) -> "Guard":
        # A socket of ours: without a free handle asyncio would start a server that listens nowhere, and say nothing.
        listening = socket.create_server(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._accept, sock=listening, limit=_MAX_HEAD)
        self.port = listening.getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def is_spent(self) -> bool:
        """Whether the page has had all the bytes that it may have."""
        return self._left <= 0

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_over:
            writer.close()  # it came in just before the end
            return
        task = asyncio.create_task(self._serve((reader, writer)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, browser: Stream) -> None:
        reader, writer = browser
        try:
            if self.is_spent or len(self._tasks) > self._connections:
                raise Refused("503 Too Much")
            await self._pass_on(await reader.readuntil(b"\r\n\r\n"), browser)
        except Refused as refused:
            writer.write(f"HTTP/1.1 {refused}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever has gone or talks nonsense gets no answer
        finally:
            writer.close()

    async def _pass_on(self, head: bytes, browser: Stream) -> None:
        """One request a connection: a second one on it might be for somebody else."""
        method, target, headers = _parsed(head)
        if method == "CONNECT":
            server = await self._connected(*_host_and_port(target))
            browser[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            upload = None
        else:
            upload = _length(headers)
            host, port, path = _place(target)
            server = await self._connected(host, port)
            server[1].write(_rewritten(method, path, headers))
        try:
            await self._both_ways(browser, server, upload)
        finally:
            server[1].close()

    async def _connected(self, host: str, port: int) -> Stream:
        try:
            found = await self._resolver.resolve(host.strip("[]"), port)
        except PermanentError:
            raise Refused("403 Not A Public Address") from None
        except OSError:
            raise Refused("502 No Such Host") from None
        for one in found:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_S):
                    return await asyncio.open_connection(one["host"], port)
        raise Refused("502 No Answer")

    async def _both_ways(self, browser: Stream, server: Stream, upload: int | None) -> None:
        """Until either side has ended."""
        ways = [
            asyncio.create_task(self._copy(browser[0], server[1], upload)),
            asyncio.create_task(self._copy(server[0], browser[1], None)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None) -> None:
        """Until the end, or until the page is spent; what comes after `limit` bytes ends the connection."""
        while piece := await reader.read(_PIECE):
            if limit is not None:
                limit -= len(piece)
                if limit < 0:
                    return
            self._left -= len(piece)
            if self.is_spent:
                return
            writer.write(piece)
            await writer.drain()


def _parsed(head: bytes) -> tuple[str, str, Sequence[tuple[str, str]]]:
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3:
        raise Refused("400 No Request")
    headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return words[0], words[1], headers


def _host_and_port(authority: str) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(authority)
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise Refused("400 No Authority")
    return match["host"], int(match["port"])


def _place(target: str) -> tuple[str, int, str]:
    """Host, port and path of a request for an http page; everything else has to come as a tunnel."""
    try:
        url = urlsplit(target)
        host, port = url.hostname or "", url.port or 80
    except ValueError:
        raise Refused("400 No URL") from None
    if url.scheme != "http" or not host:
        raise Refused("400 No URL")
    return host, port, (url.path or "/") + (f"?{url.query}" if url.query else "")


def _length(headers: Sequence[tuple[str, str]]) -> int:
    """Bytes of the request's body."""
    by_name: Mapping[str, str] = {name.lower(): value for name, value in headers}
    if "transfer-encoding" in by_name:
        raise Refused("411 Length Required")
    said = by_name.get("content-length", "0")
    if not (said.isascii() and said.isdigit()) or int(said[:12]) > _MAX_UPLOAD:
        raise Refused("413 Too Large")
    return int(said)


def _rewritten(method: str, path: str, headers: Sequence[tuple[str, str]]) -> bytes:
    kept = [f"{name}: {value}" for name, value in headers if name.lower() not in _OF_THE_HOP]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *kept, "Connection: close", "", ""]).encode("latin-1")
