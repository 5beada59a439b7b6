"""A server of many hosts, told apart by name, that notes who was asked for what from when to when."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a host says, after `wait_s`."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    wait_s: float = 0.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One request; times are of the monotonic clock in seconds. `status` is what was answered."""

    host: str
    path: str
    headers: Mapping[str, str]
    began: float
    ended: float
    status: int


Host = Callable[[str, Mapping[str, str]], Answer]
"""(path, headers in lower case) -> answer."""


class PoliteSite:
    """Hosts by name below `localhost`; each has the same port."""

    def __init__(self, hosts: Mapping[str, Host], port: int) -> None:
        self._hosts = hosts
        self.port = port
        self._lock = threading.Lock()
        self._asked: list[Asked] = []

    def url(self, host: str, path: str) -> str:
        return f"http://{self.authority(host)}{path}"

    def authority(self, host: str) -> str:
        return f"{host}.localhost:{self.port}"

    def asked(self, host: str) -> Sequence[Asked]:
        """Requests of that host that were answered, in the order in which they came."""
        with self._lock:
            return sorted((one for one in self._asked if one.host == host), key=lambda one: one.began)

    def pages(self, host: str) -> Sequence[Asked]:
        """The same without robots.txt."""
        return [one for one in self.asked(host) if one.path != "/robots.txt"]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        began = time.monotonic()
        headers = {name.lower(): value for name, value in handler.headers.items()}
        host = headers["host"].partition(".")[0]
        answer = self._hosts[host](handler.path, headers)
        time.sleep(answer.wait_s)  # this is the host's slowness, not a wait
        head = {"Content-Length": str(len(answer.body)), "Content-Type": "text/html", **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} Said", *(f"{name}: {value}" for name, value in head.items())]
        ended = time.monotonic()
        asked = Asked(host=host, path=handler.path, headers=headers, began=began, ended=ended, status=answer.status)
        with self._lock:
            self._asked.append(asked)
        handler.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + answer.body)


@contextmanager
def polite_site(hosts: Mapping[str, Host]) -> Iterator[PoliteSite]:
    """The server on a free port, stopped at the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    site = PoliteSite(hosts, server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def page(path: str, headers: Mapping[str, str]) -> Answer:
    """A page that never changes, and no robots.txt."""
    if path == "/robots.txt":
        return Answer(status=404)
    etag = f'"{path}"'
    if headers.get("if-none-match") == etag:
        return Answer(status=304, headers={"ETag": etag})
    return Answer(body=f"<p>page {path}</p>".encode(), headers={"ETag": etag})


def most_at_once(asked: Sequence[Asked]) -> int:
    """How many requests of a host were under way at the same time."""
    steps = sorted([(one.began, 1) for one in asked] + [(one.ended, -1) for one in asked])
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def most_beyond_rate(asked: Sequence[Asked], requests_per_hour: int, tolerance_s: float) -> int:
    """Over every window from one request to another: how many more there were than the rate brings in that time.

    A burst of that many is what a host sees. `tolerance_s` is how much later than another a request may have been on
    its way from the gate to the host.
    """
    interval_s = 3_600 / requests_per_hour
    times = [one.began for one in asked]
    return max(
        last - first + 1 - int((times[last] - times[first] + tolerance_s) / interval_s)
        for first in range(len(times))
        for last in range(first, len(times))
    )
