"""What the proxy of a rendered page lets through, on real sockets."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from issuetracker_dagster.adapters.browser.guard import Guard
from issuetracker_dagster.adapters.http.addresses import AddressPolicy, CheckedResolver, Lookup, system_lookup
from tests.contracts.browser_world import ALLOWED, MEGABYTE

INSIDE = "127.0.0.2"
"""As private as any other address, but not among those allowed here."""


class Server:
    """Keeps what it was sent and answers each request with `answer`, then closes if that says so."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.heads: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def serving(
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", host: str = "127.0.0.1"
) -> AsyncIterator[Server]:
    """A server that never closes a connection by itself."""
    server = Server(answer)
    async with await asyncio.start_server(server.serve, host, 0) as listening:
        server.port = listening.sockets[0].getsockname()[1]
        yield server


@asynccontextmanager
async def guarded(lookup: Lookup = system_lookup, limit: int = MEGABYTE, connections: int = 64) -> AsyncIterator[Guard]:
    resolver = CheckedResolver(AddressPolicy(allowed_networks=ALLOWED), lookup)
    async with Guard(resolver, limit=limit, connections=connections) as guard:
        yield guard


async def said(guard: Guard, *pieces: bytes) -> bytes:
    """All that comes back on one connection when these are sent, each after an answer to the one before."""
    reader, writer = await asyncio.open_connection("127.0.0.1", guard.port)
    found = b""
    with contextlib.suppress(ConnectionResetError):  # how an end looks that left something unread
        for piece in pieces:
            writer.write(piece)
            found += await reader.read(65_536)
        while more := await reader.read(65_536):
            found += more
    writer.close()
    return found


def get(url: str, *headers: str) -> bytes:
    host = url.split("/")[2]
    return "\r\n".join([f"GET {url} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode()


def test_a_request_goes_to_its_server_as_from_a_browser_without_a_proxy() -> None:
    async def scene() -> None:
        closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
        async with serving(closing) as server, guarded() as guard:
            sent = get(f"http://127.0.0.1:{server.port}/a?b=c", "Proxy-Connection: keep-alive", "X-Kept: yes")
            reader, writer = await asyncio.open_connection("127.0.0.1", guard.port)
            writer.write(sent)
            assert await reader.readexactly(len(closing)) == closing
            writer.close()
            (head,) = server.heads
            assert head.startswith(b"GET /a?b=c HTTP/1.1\r\n")
            assert b"X-Kept: yes" in head
            assert b"Connection: close" in head
            assert b"Proxy-" not in head

    asyncio.run(scene())


@pytest.mark.parametrize(
    "host", [INSIDE, "10.0.0.1", "169.254.169.254", "192.168.1.1", "0.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "[fe80::1]"]
)
def test_private_addresses_are_refused_for_requests_and_tunnels(host: str) -> None:
    async def scene() -> None:
        async with guarded() as guard:
            assert (await said(guard, get(f"http://{host}/latest"))).startswith(b"HTTP/1.1 403 ")
            assert (await said(guard, f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())).startswith(b"HTTP/1.1 403 ")

    asyncio.run(scene())


def test_a_name_that_changes_its_address_is_asked_once_a_connection_and_that_answer_is_checked() -> None:
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else [INSIDE]

    async def scene() -> None:
        async with serving(host="127.0.0.1") as outside, guarded(rebinding) as guard:
            url = f"http://evil.example:{outside.port}/"
            reader, writer = await asyncio.open_connection("127.0.0.1", guard.port)
            writer.write(get(url))
            assert (await reader.readuntil(b"ok")).endswith(b"ok")
            writer.close()
            assert (await said(guard, get(url))).startswith(b"HTTP/1.1 403 ")
            assert asked == ["evil.example"] * 2

    asyncio.run(scene())


def test_one_private_address_among_public_ones_is_enough_to_be_refused() -> None:
    async def both(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1", INSIDE]

    async def scene() -> None:
        async with guarded(both) as guard:
            assert (await said(guard, get("http://evil.example/"))).startswith(b"HTTP/1.1 403 ")

    asyncio.run(scene())


def test_a_second_request_on_a_connection_reaches_nobody() -> None:
    """It may be meant for another host, with what only that one may see."""

    async def scene() -> None:
        async with serving() as server, guarded() as guard:
            mine, others = get(f"http://127.0.0.1:{server.port}/"), get("http://bank.example/", "Cookie: secret")
            answer = await said(guard, mine, others)
            assert answer.endswith(b"ok")
            assert len(server.heads) == 1

    asyncio.run(scene())


def test_a_tunnel_carries_what_it_gets_both_ways() -> None:
    async def scene() -> None:
        async with serving(b"pong\r\n\r\n") as server, guarded() as guard:
            reader, writer = await asyncio.open_connection("127.0.0.1", guard.port)
            writer.write(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            writer.write(b"ping\r\n\r\n")
            assert await reader.readuntil(b"\r\n\r\n") == b"pong\r\n\r\n"
            writer.close()
            assert server.heads == [b"ping\r\n\r\n"]

    asyncio.run(scene())


def test_once_its_bytes_are_used_up_a_page_gets_nothing_more() -> None:
    async def scene() -> None:
        long = b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n" + b"x" * 500_000
        async with serving(long) as server, guarded(limit=200_000) as guard:
            url = f"http://127.0.0.1:{server.port}/"
            assert len(await said(guard, get(url))) <= 200_000
            assert guard.is_spent
            assert (await said(guard, get(url))).startswith(b"HTTP/1.1 503 ")
            assert len(server.heads) == 1

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET ftp://127.0.0.1/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET http://127.0.0.1:99999/ HTTP/1.1\r\n\r\n", b"400"),
        (b"CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST http://127.0.0.1/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"POST http://127.0.0.1/ HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"GET http://no-such-host.invalid/ HTTP/1.1\r\n\r\n", b"502"),
    ],
)
def test_what_is_no_request_for_a_page_is_refused(sent: bytes, status: bytes) -> None:
    async def nowhere(host: str, port: int) -> Sequence[str]:
        raise OSError("no such host")

    async def scene() -> None:
        async with guarded(nowhere) as guard:
            assert (await said(guard, sent)).split(b" ")[1] == status

    asyncio.run(scene())


def test_a_request_head_without_end_is_cut_and_idle_connections_end_with_the_page() -> None:
    async def scene() -> None:
        async with guarded() as guard:
            assert await said(guard, b"GET http://a.example/" + b"a" * 200_000) == b""
            idle, writer = await asyncio.open_connection("127.0.0.1", guard.port)
        assert await asyncio.wait_for(idle.read(), 5) == b""
        writer.close()
        with pytest.raises(OSError):  # noqa: PT011
            await asyncio.open_connection("127.0.0.1", guard.port)

    asyncio.run(scene())


def test_a_page_has_a_bounded_number_of_connections() -> None:
    async def scene() -> None:
        async with serving() as server, guarded(connections=2) as guard:
            idle = [await asyncio.open_connection("127.0.0.1", guard.port) for _ in range(2)]
            answer = await said(guard, get(f"http://127.0.0.1:{server.port}/"))
            assert answer.startswith(b"HTTP/1.1 503 ")
            for _, writer in idle:
                writer.close()

    asyncio.run(scene())
