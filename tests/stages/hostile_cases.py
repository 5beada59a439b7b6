"""Answers that no server should give, by name, each with how a fetch of it ends.

`RESULT` is a page that is stored, `LATER` a transient error, `TIMED_OUT` the one that only time ends; anything else is
the code of a permanent one.
"""

import gzip
import struct
import zlib
from collections.abc import Callable

from tests.stages.hostile_pages import (
    CHUNKED,
    HTML,
    OK,
    WORDS,
    chunked,
    encoded,
    flood,
    headed,
    later_on,
    longer_and_longer,
    raw,
    reset,
    silence,
    sized,
    started,
)  # fmt: skip
from tests.stages.http_site import Page, endless, fixed, redirect

MEGABYTE = 1_000_000
RESULT, LATER, TIMED_OUT = "result", "later", "timed out"


def _zstd_bomb(megabytes: int) -> bytes:
    """A frame of blocks that each say one byte 128 KiB times."""
    blocks = megabytes * 8
    frame = b"\x28\xb5\x2f\xfd\x00\x58"  # no size told, a window of 2 MiB
    for number in range(blocks):
        header = (128 * 1024 << 3) | (1 << 1) | (number == blocks - 1)
        frame += struct.pack("<I", header)[:3] + b"\0"
    return frame


def _bomb(compress: Callable[[bytes], bytes]) -> bytes:
    return compress(b"\0" * 60 * MEGABYTE)


_GZIP_BOMB = _bomb(lambda data: gzip.compress(data, 6))
_GZIPPED = gzip.compress(WORDS * 100)
_NAMELESS = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"
"""A gzip member that says a file name follows."""

ENCODINGS: dict[str, tuple[Page, str]] = {
    "gzip bomb": (encoded("gzip", _GZIP_BOMB), "too_large"),
    "gzip bomb in chunks": (
        raw(CHUNKED[:-2] + b"Content-Encoding: gzip\r\n\r\n%x\r\n" % len(_GZIP_BOMB) + _GZIP_BOMB + b"\r\n0\r\n\r\n"),
        "too_large",
    ),
    "gzip bomb in a gzip bomb": (encoded("gzip", gzip.compress(_GZIP_BOMB)), RESULT),
    "gzip bomb encoded twice": (encoded("gzip, gzip", gzip.compress(_GZIP_BOMB)), "bad_encoding"),
    "gzip bomb named in two headers": (
        headed(b"Content-Encoding: gzip", b"Content-Encoding: gzip", body=gzip.compress(_GZIP_BOMB)),
        "bad_encoding",
    ),
    "deflate bomb": (encoded("deflate", _bomb(zlib.compress)), "too_large"),
    "bare deflate bomb": (encoded("deflate", _bomb(zlib.compress)[2:-4]), "too_large"),
    "brotli that nobody asked for": (encoded("br", b"\x5b\xff\xff\xff\xb5\x41" * 1000), "bad_encoding"),
    "zstd bomb that nobody asked for": (encoded("zstd", _zstd_bomb(200)), "bad_encoding"),
    "gzip without end": (flood(OK + HTML + b"Content-Encoding: gzip\r\n\r\n", _GZIPPED * 50), "too_large"),
    "gzip with a name without end": (
        flood(OK + HTML + b"Content-Encoding: gzip\r\n\r\n" + _NAMELESS, b"n" * 50_000),
        "too_large",
    ),
    "gzip cut in the middle": (encoded("gzip", _GZIPPED[:-12]), LATER),
    "gzip cut in its header": (encoded("gzip", _GZIPPED[:5]), LATER),
    "gzip of one byte": (encoded("gzip", b"\x1f"), LATER),
    "gzip with a wrong checksum": (encoded("gzip", _GZIPPED[:-8] + bytes(8)), "bad_encoding"),
    "gzip with rubbish behind": (encoded("gzip", _GZIPPED + b"<!-- cached -->"), RESULT),
    "words that claim to be gzip": (encoded("gzip", WORDS), "bad_encoding"),
    "nothing that claims to be gzip": (encoded("gzip", b""), RESULT),
    "an encoding that doesn't exist": (encoded("none; q=\x01", WORDS), RESULT),
}

BODIES: dict[str, tuple[Page, str]] = {
    "body without end in chunks": (endless(lambda: b"x" * 50_000), "too_large"),
    "body without end": (flood(OK + HTML + b"\r\n", b"x" * 50_000), "too_large"),
    "body without end, a byte at a time": (flood(OK + HTML + b"\r\n", b"x", 0.02), TIMED_OUT),
    "body that never comes": (silence(OK + HTML + b"Content-Length: 10\r\n\r\n"), TIMED_OUT),
    "error page without end": (flood(b"HTTP/1.1 404 Gone\r\n\r\n", b"x" * 50_000), "http_404"),
    "redirect without end": (flood(b"HTTP/1.1 302 On\r\nLocation: /good\r\n\r\n", b"x" * 50_000), RESULT),
    "picture without end": (flood(OK + b"Content-Type: image/png\r\n\r\n", b"x" * 50_000), "unsupported_type"),
    "length of more than is sent": (sized(b"1000"), LATER),
    "length of less than is sent at once": (sized(b"6"), LATER),
    "length of less than is sent": (later_on(OK + HTML + b"Content-Length: 6\r\n\r\n<html>", b"<p>more"), RESULT),
    "length below zero": (sized(b"-1"), LATER),
    "length that is no number": (sized(b"many"), LATER),
    "length in hexadecimal": (sized(b"0x10"), LATER),
    "length of 30 digits": (sized(b"9" * 30), LATER),
    "length of exabytes": (sized(b"9" * 18), LATER),
    "length with a plus": (sized(b"+5"), LATER),
    "two lengths": (headed(b"Content-Length: 5", b"Content-Length: 30"), LATER),
    "two lengths in one": (sized(b"5, 30"), LATER),
    "length and chunks": (
        headed(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"5\r\nwords\r\n0\r\n\r\n"),
        LATER,
    ),
    "connection that breaks in the middle": (reset, LATER),
    "204 with a body": (later_on(b"HTTP/1.1 204 None\r\nContent-Length: 30\r\n\r\n", WORDS), "http_204"),
    "204 with a body at once": (raw(b"HTTP/1.1 204 None\r\nContent-Length: 30\r\n\r\n" + WORDS), LATER),
    "204 with a body without end": (flood(b"HTTP/1.1 204 None\r\n\r\n" + b"x" * 1000, b"x" * 50_000), LATER),
    "304 with a body": (later_on(b"HTTP/1.1 304 Same\r\nContent-Length: 30\r\n\r\n", WORDS), "http_304"),
    "304 with a body at once": (raw(b"HTTP/1.1 304 Same\r\nContent-Length: 30\r\n\r\n" + WORDS), LATER),
    "205 with a body without end": (flood(b"HTTP/1.1 205 Reset\r\n\r\n", b"x" * 50_000), "too_large"),
}

CHUNKS: dict[str, tuple[Page, str]] = {
    "chunk size that is no number": (chunked(b"zz\r\nwords\r\n0\r\n\r\n"), LATER),
    "chunk size below zero": (chunked(b"-5\r\nwords\r\n0\r\n\r\n"), LATER),
    "chunk size of 20 digits": (chunked(b"F" * 20 + b"\r\nwords\r\n0\r\n\r\n"), LATER),
    "chunk size with 0x": (chunked(b"0x5\r\nwords\r\n0\r\n\r\n"), LATER),
    "chunk size without end": (flood(CHUNKED, b"0" * 50_000), "too_large"),
    "chunk extension without end": (flood(CHUNKED + b"5;", b"a" * 50_000), "too_large"),
    "chunk that is cut": (chunked(b"1000\r\nwords"), LATER),
    "chunk that is longer than its size": (chunked(b"3\r\nwords\r\n0\r\n\r\n"), LATER),
    "chunks without the last": (chunked(b"5\r\nwords\r\n"), LATER),
    "chunks of a few bytes without end": (flood(CHUNKED, b"3\r\nabc\r\n" * 5_000), "too_large"),
    "trailers without end": (flood(CHUNKED + b"5\r\nwords\r\n0\r\n", b"X-Trailer: yes\r\n" * 1000), LATER),
    "trailer without end": (flood(CHUNKED + b"5\r\nwords\r\n0\r\nX-Trailer: ", b"x" * 50_000), LATER),
    "chunks that are none": (headed(b"Transfer-Encoding: chunked"), LATER),
}

HEADERS: dict[str, tuple[Page, str]] = {
    "header a byte at a time": (flood(OK, b"X", 0.02), TIMED_OUT),
    "status line a byte at a time": (flood(b"HTTP/1.1 200 ", b"O", 0.02), TIMED_OUT),
    "headers without end": (flood(OK, b"X-Header: yes\r\n" * 1000), LATER),
    "header without end": (flood(OK + b"X-Header: ", b"x" * 50_000), LATER),
    "header name without end": (flood(OK, b"X" * 50_000), LATER),
    "status line without end": (flood(b"HTTP/1.1 200 ", b"O" * 50_000), LATER),
    "header that breaks off": (raw(OK + b"X-Header: ye"), LATER),
    "header of 60 KB": (headed(b"X-Header: " + b"x" * 60_000), RESULT),
    "cookie of 60 KB": (headed(b"Set-Cookie: a=" + b"x" * 60_000), RESULT),
    "a hundred odd cookies": (
        headed(*(b'Set-Cookie: =;"\xff, %d==; Domain=.; Max-Age=-9e9; Path=\\' % number for number in range(100))),
        RESULT,
    ),
    "NUL in a header": (headed(b"X-Header: a\0b"), LATER),
    "control bytes in a header": (headed(b"X-Header: a\x01\x1b[2Jb"), RESULT),
    "carriage return in a header": (headed(b"X-Header: a\rX-Other: b"), LATER),
    "header without a colon": (headed(b"X-Header"), LATER),
    "header without a name": (headed(b": yes"), LATER),
    "header name of other letters": (headed("Überschrift: ja".encode()), LATER),
    "blank before the colon": (headed(b"X-Header : yes"), LATER),
    "header in two lines": (headed(b"X-Header: a\r\n b"), RESULT),
    "line feeds alone": (raw(OK.replace(b"\r", b"") + b"Content-Type: text/html\n\n" + WORDS), RESULT),
    "charset that lies": (headed(b"Content-Type: text/html; charset=utf-16"), RESULT),
    "charset of bytes": (raw(OK + b"Content-Type: text/html; charset=\xff\xfe\x80\r\n\r\n" + WORDS), RESULT),
    "charset of 10 KB": (raw(OK + b"Content-Type: text/html; charset=" + b"x" * 10_000 + b"\r\n\r\n" + WORDS), RESULT),
    "validators that nobody could send back": (
        headed(b"ETag: \xff\x01", b"Last-Modified: yesterday\xff", body=WORDS),
        RESULT,
    ),
    "upgrade that nobody asked for": (headed(b"Upgrade: websocket", b"Connection: upgrade"), RESULT),
}

STATUS_LINES: dict[str, tuple[Page, str]] = {
    "HTTP/0.9": (raw(WORDS), LATER),
    "nothing": (raw(), LATER),
    "line feeds": (raw(b"\r\n" * 1000), LATER),
    "mail server": (raw(b"220 mail ready\r\n\r\n"), LATER),
    "TLS": (raw(b"\x15\x03\x03\x00\x02\x02\x28" * 100), LATER),
    "version that doesn't exist": (started(b"HTTP/9.9 200 OK"), LATER),
    "version 2 in words": (started(b"HTTP/2 200 OK"), LATER),
    "version 1.0": (started(b"HTTP/1.0 200 OK"), RESULT),
    "status of no digits": (started(b"HTTP/1.1 abc OK"), LATER),
    "status of two digits": (started(b"HTTP/1.1 20 OK"), LATER),
    "status of four digits": (started(b"HTTP/1.1 2000 OK"), LATER),
    "status below zero": (started(b"HTTP/1.1 -200 OK"), LATER),
    "status 000": (started(b"HTTP/1.1 000 OK"), "http_0"),
    "status 999": (started(b"HTTP/1.1 999 No"), LATER),
    "status 101": (raw(b"HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + WORDS), "http_101"),
    "100 before the page": (raw(b"HTTP/1.1 100 Go\r\n\r\n" + OK + HTML + b"\r\n" + WORDS), RESULT),
    "103 without end": (flood(b"", b"HTTP/1.1 103 Early\r\nLink: </a.css>\r\n\r\n" * 100), "too_large"),
    "100 without end": (flood(b"", b"HTTP/1.1 100 Go\r\n\r\n" * 1000), "too_large"),
}

REDIRECTS: dict[str, tuple[Page, str]] = {
    "redirect to itself": (redirect("?"), "redirect_loop"),
    "redirect to itself by fragment": (redirect("#again"), "redirect_loop"),
    "redirect ever further": (longer_and_longer, "too_many_redirects"),
    "redirect to nowhere": (redirect(""), "http_302"),
    "two places to go": (raw(b"HTTP/1.1 302 On\r\nLocation: /good\r\nLocation: http://10.0.0.1/\r\n\r\n"), RESULT),
    "two places to go, the first inside": (
        raw(b"HTTP/1.1 302 On\r\nLocation: http://10.0.0.1/\r\nLocation: /good\r\n\r\n"),
        "private_address",
    ),
    "place of 60 KB": (redirect("/" + "x" * 60_000), "http_404"),
    "place with a NUL": (raw(b"HTTP/1.1 302 On\r\nLocation: /a\0b\r\n\r\n"), LATER),
    "place of all bytes": (
        raw(b"HTTP/1.1 302 On\r\nLocation: /" + bytes(range(128, 256)) + b"\r\n\r\n"),
        "http_404",
    ),
    "page that refreshes itself": (fixed(b'<meta http-equiv="refresh" content="0; url=?">'), RESULT),
    "header that refreshes": (headed(b"Refresh: 0; url=http://10.0.0.1/"), RESULT),
    "300 with choices": (raw(b"HTTP/1.1 300 Many\r\nLocation: /good\r\n\r\n"), "http_300"),
    "304 with a place to go": (raw(b"HTTP/1.1 304 Same\r\nLocation: /good\r\n\r\n"), "http_304"),
}

CASES = ENCODINGS | BODIES | CHUNKS | HEADERS | STATUS_LINES | REDIRECTS
