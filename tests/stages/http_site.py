"""A web site on loopback whose pages are written byte by byte, so that they can be as broken as real ones."""

import gzip
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol


class Exchange:
    """One request in hand. `headers` in lower case; `write` returns False once the other side has gone."""

    def __init__(self, handler: BaseHTTPRequestHandler, stopping: threading.Event) -> None:
        self._handler = handler
        self.path = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.stopping = stopping

    def write(self, raw: bytes) -> bool:
        try:
            self._handler.wfile.write(raw)
            self._handler.wfile.flush()
        except OSError:
            return False
        return True

    def break_off(self) -> None:
        """Reset the connection instead of closing it."""
        self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._handler.connection.close()

    def send(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """A well-formed answer that closes the connection; header values go out as UTF-8."""
        head = {"Content-Length": str(len(body)), "Content-Type": "text/html", "Connection": "close", **(headers or {})}
        lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in head.items())]
        self.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


class Page(Protocol):
    """Answers one request."""

    def __call__(self, exchange: Exchange, /) -> None: ...


class Site:
    """Pages by path (query excluded); what isn't there is 404. `hits` counts by path, `seen` keeps the requests."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        self.pages: dict[str, Page] = {}
        self.hits: Counter[str] = Counter()
        self.seen: list[Exchange] = []
        self._lock = threading.Lock()

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.authority}{path}"

    def answer(self, exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        with self._lock:
            self.hits[path] += 1
            self.seen.append(exchange)
        self.pages.get(path, missing)(exchange)

    def last(self, path: str) -> Exchange:
        """The latest request of that path."""
        return next(one for one in reversed(self.seen) if one.path.partition("?")[0] == path)


@contextmanager
def running_site(host: str = "127.0.0.1") -> Iterator[Site]:
    """A site on a free port, stopped at the end."""
    stopping = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(Exchange(self, stopping))
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # the sixth of many at once would otherwise wait a second for its connection
        daemon_threads = True

    server = Server((host, 0), Handler)
    site = Site(host, server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        stopping.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def missing(exchange: Exchange) -> None:
    exchange.send(404, b"nothing here")


def fixed(body: bytes = b"<html>page</html>", status: int = 200, **headers: str) -> Page:
    """Always this; header names with underscores for dashes."""

    def page(exchange: Exchange) -> None:
        exchange.send(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    return page


def redirect(location: str, status: int = 302) -> Page:
    return fixed(b"", status, Location=location)


def in_turn(*pages: Page) -> Page:
    """The first page for the first request, and so on; the last one stays."""
    lock = threading.Lock()
    waiting = list(pages)

    def page(exchange: Exchange) -> None:
        with lock:
            now = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        now(exchange)

    return page


def with_etag(body: bytes, etag: str) -> Page:
    """Honours If-None-Match."""

    def page(exchange: Exchange) -> None:
        if exchange.headers.get("if-none-match") == etag:
            exchange.send(304, b"", {"ETag": etag})
        else:
            exchange.send(200, body, {"ETag": etag})

    return page


def endless(piece: Callable[[], bytes], wait_s: float = 0.0, limit: int = 200_000_000, **headers: str) -> Page:
    """A chunked page that goes on until the other side leaves, `limit` bytes were sent, or the site stops."""

    def page(exchange: Exchange) -> None:
        head = {"Content_Type": "text/html", "Transfer_Encoding": "chunked", **headers}
        lines = ["HTTP/1.1 200 OK", *(f"{name.replace('_', '-')}: {value}" for name, value in head.items())]
        going = exchange.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        sent = 0
        while going and sent < limit and not exchange.stopping.wait(wait_s):
            data = piece()
            sent += len(data)
            going = exchange.write(b"%x\r\n%b\r\n" % (len(data), data))
        endless_sent[exchange.path] = sent

    return page


endless_sent: dict[str, int] = {}
"""How many bytes an `endless` page wrote before the other side left, by path."""


def gzipped(body: bytes) -> Page:
    return fixed(gzip.compress(body), Content_Encoding="gzip")
