"""Content encodings, undone piece by piece so that the bound on decoded bytes holds while reading."""

import zlib
from typing import Protocol

GZIP_MAGIC = b"\x1f\x8b"
ACCEPTED = "gzip, deflate"
"""What requests offer; anything else that comes back can't be decoded."""

_REAL_CODINGS = frozenset({"br", "zstd", "compress", "x-compress", "exi", "pack200-gzip", "dcb", "dcz"})
_MAX_MEMBERS = 1_000


class Inflater(Protocol):
    """What `zlib.decompressobj()` returns."""

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def unconsumed_tail(self) -> bytes: ...


class TooLarge(Exception):
    """The body is longer than its limit."""


class Undecodable(Exception):
    """The bytes aren't what the content encoding says, or it is one that nobody asked for."""


class Truncated(Undecodable):
    """The compressed body ends in the middle."""


class BodyReader:
    """Collects a body of at most `limit` decoded bytes (and as many encoded ones)."""

    def __init__(self, content_encoding: str, limit: int) -> None:
        self._coding = _coding(content_encoding)
        self._limit = limit
        self._received = 0
        self._body = bytearray()
        self._head = b""
        self._inflater: Inflater | None = None
        self._members = 0
        self._ended = False

    @property
    def is_encoded(self) -> bool:
        return self._coding != "identity"

    @property
    def body(self) -> bytes:
        return bytes(self._body)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes off the wire; raises `TooLarge` (the body then holds `limit` bytes) or `Undecodable`."""
        self._received += len(chunk)
        if self._coding == "identity":
            self._append(chunk)
            return
        try:
            self._inflate(chunk)
        except zlib.error as error:
            raise Undecodable(f"content encoding {self._coding}: {error}") from None
        if self._received > self._limit:
            raise TooLarge  # endless input that decodes to nothing

    def finish(self) -> bytes:
        """The whole body; raises `Truncated`."""
        if self.is_encoded and self._received and not (self._inflater and self._inflater.eof):
            raise Truncated(f"content encoding {self._coding}: the data ends in the middle")
        return self.body

    def _append(self, piece: bytes) -> None:
        room = self._limit - len(self._body)
        self._body += piece[:room]
        if len(piece) > room:
            raise TooLarge

    def _inflate(self, chunk: bytes) -> None:
        data = self._head + chunk
        self._head = b""
        while data and not self._ended:
            inflater = self._inflater
            if inflater is None or inflater.eof:
                if len(data) < 2:
                    self._head = data  # too little to tell what comes
                    return
                if inflater is not None and not data.startswith(GZIP_MAGIC):
                    self._ended = True  # trailing rubbish after the last member, which every browser ignores
                    return
                inflater = self._open(data)
            self._append(inflater.decompress(data, self._limit - len(self._body) + 1))
            data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail

    def _open(self, data: bytes) -> Inflater:
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise Undecodable(f"more than {_MAX_MEMBERS} gzip members")
        self._inflater = zlib.decompressobj(_window_bits(self._coding, data))
        return self._inflater


def _window_bits(coding: str, data: bytes) -> int:
    if coding == "gzip":
        return 16 + zlib.MAX_WBITS
    # "deflate" means a zlib stream, but some servers send the bare one; the zlib header tells by its checksum.
    is_zlib = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS


def _coding(content_encoding: str) -> str:
    name = content_encoding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return "gzip"
    if name == "deflate":
        return "deflate"
    if "," in name or name in _REAL_CODINGS:
        raise Undecodable(f"content encoding {name!r} wasn't asked for")
    # Servers also write the charset here ("utf-8", "none"); nothing was encoded then.
    return "identity"
