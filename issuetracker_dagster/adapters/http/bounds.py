"""What a server may send for one answer, whatever it is: interim answers, header lines, the frames of chunks, a body.

aiohttp bounds a header line and how many there are, and the reader of bodies what is in them. Between those a server
may say "103 Early Hints" for ever, or put an extension without end behind the size of a chunk.
"""

import asyncio
from contextvars import ContextVar
from typing import Any

from aiohttp.client_exceptions import ClientError, ClientPayloadError
from aiohttp.client_proto import ResponseHandler

MAX_ANSWERS = 20
"""Interim ones and the last; more than a few of them nobody has seen."""
OVERHEAD_BYTES = 256 * 1024
"""For headers, and for the frames of chunks."""

_allowed: ContextVar[int] = ContextVar("bytes allowed on the wire", default=OVERHEAD_BYTES)


class SentTooMuch(ClientError):
    """The server sent more than any answer to the request may take."""


def allow_body(max_bytes: int) -> None:
    """Bounds the next request of this asyncio task to what a body of that many bytes takes on the wire."""
    _allowed.set(max_bytes + OVERHEAD_BYTES)


class BoundedConnection(ResponseHandler):
    """aiohttp's end of a connection, which breaks off when a server goes beyond the bounds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._bytes_left = OVERHEAD_BYTES
        self._answers_left = MAX_ANSWERS

    def set_response_params(self, **params: Any) -> None:
        """Called for each request, in its own task."""
        self._bytes_left, self._answers_left = _allowed.get(), MAX_ANSWERS
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        self._bytes_left -= len(data)
        if self._bytes_left >= 0:
            super().data_received(data)
        else:
            self._break_off("more bytes than a page of the longest takes")

    def feed_data(self, data: Any, size: int = 0) -> None:
        self._answers_left -= 1
        if self._answers_left >= 0:
            super().feed_data(data, size)
        else:
            self._break_off(f"more than {MAX_ANSWERS} answers to one request")

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        # aiohttp tells only who waits for an answer; who reads a body whose frames went wrong would wait for ever.
        payload = self._payload
        if payload is not None and not payload.is_eof() and payload.exception() is None:
            payload.set_exception(exc if isinstance(exc, SentTooMuch) else ClientPayloadError(str(exc)))

    def _break_off(self, what: str) -> None:
        transport = self.transport
        self.set_exception(SentTooMuch(f"the server sent {what}"))
        if transport is not None:
            transport.abort()
