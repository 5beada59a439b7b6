"""What an answer means: a page, a step further, an error, or a host that wants to be left alone for a while."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.urls import BadUrl, parse_http
from issuetracker_dagster.ports.http import FetchResponse

PAGE = frozenset({200, 203})
UNCHANGED = 304
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_COME_BACK = frozenset({408, 425, 429})
_LEFT_ALONE = frozenset({429, 503})

SKIPPED_TYPES = (
    "image/", "video/", "audio/", "font/", "model/",
    "application/pdf", "application/zip", "application/msword", "application/vnd.ms-", "application/vnd.openxml",
    "application/x-7z", "application/x-rar", "application/vnd.rar", "application/java-archive",
    "application/x-msdownload", "application/vnd.android", "application/epub", "application/wasm",
    "application/x-shockwave",
)  # fmt: skip
"""Types that hold no page, feed or sitemap. A sitemap may well be `application/gzip` or `application/octet-stream`."""


def redirect_target(response: FetchResponse) -> str | None:
    """Where the answer sends us, absolute, without fragment and credentials; None when it doesn't.

    Raises `PermanentError` with code `bad_url` for a place that isn't http or https.
    """
    location = response.headers.get("location", "")
    if response.status not in _REDIRECTS or not location.strip():
        return None
    try:
        parsed = parse_http(_percent_encoded(location), response.url)
    except BadUrl as error:
        raise PermanentError(f"redirected from {response.url} to no page: {error}", code="bad_url") from None
    parsed.hash = ""
    parsed.username = ""
    parsed.password = ""
    return str(parsed.href)


def _percent_encoded(location: str) -> str:
    """Raw UTF-8 is left to the URL parser; bytes of another charset keep their value."""
    if location.isascii():
        return location
    raw = location.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)


def failure(response: FetchResponse, retry_at_ms: int | None) -> PermanentError | TransientError | None:
    """The error that an answer amounts to; None for a page and for "not modified" (which the caller asked for)."""
    status = response.status
    if status >= 500 or status in _COME_BACK:
        return TransientError(f"{response.url} answered {status}", retry_at_ms=retry_at_ms)
    if status not in PAGE and status != UNCHANGED:
        return PermanentError(f"{response.url} answered {status}", code=f"http_{status}")
    if status in PAGE and response.content_type.startswith(SKIPPED_TYPES):
        return PermanentError(f"{response.url} is {response.content_type}", code="unsupported_type")
    return None


def left_alone_until_ms(response: FetchResponse, now_ms: int, cap_ms: int) -> int | None:
    """Until when a 429 or 503 asks not to be bothered, at most `cap_ms` from now; None when it doesn't say."""
    if response.status not in _LEFT_ALONE:
        return None
    said = response.headers.get("retry-after", "").strip()
    if said.isascii() and said.isdigit():
        wait_ms = int(said[:10]) * 1000
    else:
        at_ms = http_date_ms(said)
        if at_ms is None:
            return None
        wait_ms = at_ms - now_ms
    return now_ms + min(max(wait_ms, 0), cap_ms)


def http_date_ms(text: str) -> int | None:
    """Unix milliseconds of an HTTP date; None when it is none."""
    try:
        parsed = parsedate_to_datetime(text[:100])
        moment = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def validator(headers: Mapping[str, str], name: str) -> str:
    """An ETag or Last-Modified that can be sent back as it is; empty when there is none such."""
    value = headers.get(name, "").strip()
    return value if value.isascii() and value.isprintable() and len(value) <= 512 else ""
