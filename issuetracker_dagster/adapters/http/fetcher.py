"""The fetch stage's way out: aiohttp on one loop in one thread, behind a blocking `fetch` for any number of callers."""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import aiohttp
from yarl import URL

from issuetracker_dagster.adapters.http.addresses import AddressPolicy, CheckedResolver, Lookup, system_lookup
from issuetracker_dagster.adapters.http.bounds import BoundedConnection, SentTooMuch, allow_body
from issuetracker_dagster.adapters.http.decoding import ACCEPTED, BodyReader, TooLarge, Truncated, Undecodable
from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.urls import BadUrl, parse_http
from issuetracker_dagster.ports.http import FetchRequest, FetchResponse, TimedOut

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5"
_MAX_HEADER_BYTES = 64 * 1024
_LOOKUP_THREADS = 32
_DNS_CACHE_S = 60
_GRACE_S = 5.0

T = TypeVar("T")


class AiohttpFetcher:
    """A `Fetcher`. `allowed_networks` (CIDR) may be asked although they aren't public; `lookup` resolves names."""

    def __init__(
        self,
        *,
        allow_private_addresses: bool = False,
        allowed_networks: Sequence[str] = (),
        lookup: Lookup = system_lookup,
    ) -> None:
        self._policy = AddressPolicy(allow_private=allow_private_addresses, allowed_networks=allowed_networks)
        self._loop = asyncio.new_event_loop()
        # A name server that doesn't answer holds a thread for many seconds; the default pool would soon be used up.
        self._lookups = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="http-lookup")
        self._loop.set_default_executor(self._lookups)
        self._thread = threading.Thread(target=self._loop.run_forever, name="http-fetcher", daemon=True)
        self._thread.start()
        self._closed = threading.Event()
        self._session = self._run(self._open(lookup), 30.0)

    def fetch(self, request: FetchRequest) -> FetchResponse:
        """One GET, as `ports.http.Fetcher` promises it."""
        if self._closed.is_set():
            raise TransientError("the fetcher is closed")
        return self._run(self._bounded(request), request.timeout_ms / 1000 + _GRACE_S)

    def close(self) -> None:
        """Break off what is under way and let go of connections and threads; a second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        with contextlib.suppress(TransientError):
            self._run(self._shut_down(), _GRACE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_GRACE_S)
        self._lookups.shutdown(wait=False, cancel_futures=True)
        if not self._thread.is_alive():
            self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except concurrent.futures.CancelledError:
            raise TransientError("the fetcher was closed meanwhile") from None
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise TimedOut(f"no answer from the fetcher within {timeout_s:.1f} s") from None

    async def _open(self, lookup: Lookup) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0,  # the stage's pools and the host gate bound what is under way
            resolver=CheckedResolver(self._policy, lookup),
            ttl_dns_cache=_DNS_CACHE_S,
            force_close=True,  # what a server sends beyond its answer would be the answer to the next request
        )
        connector._factory = partial(BoundedConnection, self._loop)  # type: ignore[assignment]
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # its bound is per chunk, ours per body, and it hides a truncated gzip
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
            trust_env=False,  # a proxy would connect to addresses that nobody checked
        )
        session._retry_connection = False  # a host that hung up would be asked twice, past the host gate
        return session

    async def _shut_down(self) -> None:
        mine = asyncio.current_task()
        running = [task for task in asyncio.all_tasks() if task is not mine]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._session.close()

    async def _bounded(self, request: FetchRequest) -> FetchResponse:
        try:
            async with asyncio.timeout(max(request.timeout_ms, 1) / 1000):
                return await self._fetch(request)
        except TimeoutError:
            raise TimedOut(f"{request.url} wasn't complete within {request.timeout_ms} ms") from None
        except aiohttp.InvalidURL as error:
            raise PermanentError(f"{request.url} can't be asked: {error}", code="bad_url") from None
        except SentTooMuch as error:
            raise PermanentError(f"{request.url}: {error}", code="too_large") from None
        except (aiohttp.ClientError, OSError) as error:
            raise TransientError(f"{request.url}: {_told(error)}") from error

    async def _fetch(self, request: FetchRequest) -> FetchResponse:
        url = self._checked(request.url)
        try:
            return await self._get(url, request, ACCEPTED)
        except Undecodable:
            pass  # a broken compressor or a proxy in between; the plain page often is whole
        try:
            return await self._get(url, request, "identity")
        except Truncated as error:
            raise TransientError(f"{request.url}: {error}") from None
        except Undecodable as error:
            raise PermanentError(f"{request.url}: {error}", code="bad_encoding") from None

    def _checked(self, text: str) -> URL:
        try:
            url = URL(str(parse_http(text).href), encoded=True)
            host = url.host or ""
        except (BadUrl, ValueError) as error:
            raise PermanentError(f"{text[:200]!r} can't be asked: {error}", code="bad_url") from None
        # The connector takes such a host for an address and never asks the resolver, so it is checked here.
        if ":" in host or host.replace(".", "").isdigit():
            self._policy.check(host, host)
        return url

    async def _get(self, url: URL, request: FetchRequest, encodings: str) -> FetchResponse:
        allow_body(request.max_bytes)
        headers = {"User-Agent": request.user_agent, "Accept": _ACCEPT, "Accept-Encoding": encodings, **request.headers}
        async with self._session.get(url, headers=headers, allow_redirects=False) as response:
            answer = FetchResponse(url=request.url, status=response.status, headers=_first_of_each(response.headers))
            if not 200 <= response.status < 300 or answer.content_type.startswith(request.skip_types or ("\0",)):
                response.close()  # an error page may be endless too; the connection is the cheaper loss
                return answer
            body = await _read(response, request)
        return FetchResponse(url=answer.url, status=answer.status, headers=answer.headers, body=body)


async def _read(response: aiohttp.ClientResponse, request: FetchRequest) -> bytes:
    encodings = ", ".join(response.headers.getall("Content-Encoding", ()))
    reader = BodyReader(encodings, request.max_bytes)
    try:
        async for chunk in response.content.iter_any():
            reader.feed(chunk)
        return reader.finish()
    except TooLarge:
        response.close()
        if request.cut:
            return reader.body
        raise PermanentError(f"{request.url} is longer than {request.max_bytes} bytes", code="too_large") from None
    except aiohttp.ClientPayloadError as error:
        if reader.is_encoded:
            raise Truncated(f"the body broke off: {error}") from None
        raise


def _first_of_each(headers: Mapping[str, str]) -> dict[str, str]:
    first: dict[str, str] = {}
    for name, value in headers.items():
        lowered = name.lower()
        # Bytes that aren't UTF-8 came as surrogates, which no database or log takes; a Location still needs the bytes.
        first.setdefault(lowered, value if lowered == "location" else _printable(value))
    return first


def _printable(value: str) -> str:
    return value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _told(error: BaseException) -> str:
    """The error with its type, since many of them have an empty text."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
