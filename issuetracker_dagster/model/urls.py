"""The identity of a URL. Parsing is the WHATWG algorithm (ada-url); what counts as the same page is decided here."""

import hashlib
import re
from urllib.parse import unquote

from ada_url import URL

_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "hsa_")
_TRACKING_NAMES = frozenset(
    {
        "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
        "igsh", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id", "s_cid",
        "cmpid", "ocid", "at_medium", "at_campaign", "__twitter_impression", "wt_mc", "rss", "xtor",
    }
)  # fmt: skip


_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class BadUrl(ValueError):
    """Not an absolute http or https URL with a host."""


def parse_http(url: str, base: str | None = None) -> URL:
    """The parsed URL, relative to `base` when given; raises `BadUrl`."""
    try:
        parsed = URL(url, base) if base else URL(url)
    except ValueError:
        raise BadUrl(f"{url[:200]!r} isn't a URL") from None
    if parsed.protocol not in ("http:", "https:") or not parsed.hostname:
        raise BadUrl(f"{url[:200]!r} isn't an http or https URL")
    return parsed


def normalise(url: str, base: str | None = None) -> str:
    """The form under which a URL is known: no fragment, no credentials, no known tracking parameters.

    Every other query parameter stays, in its order, since `?id=1` and `?id=2` are two pages. Percent escapes get one
    form (RFC 3986, 6.2.2), so that `%ea%b0%80` of one link and `%EA%B0%80` of another are one page. Idempotent.
    Raises `BadUrl`.
    """
    parsed = parse_http(url, base)
    # Most links are clean already; every call into the parser costs as much as all these looks together.
    href = str(parsed.href)
    if "#" in href:
        parsed.hash = ""
    if "@" in href:
        parsed.username = ""
        parsed.password = ""
    if parsed.hostname.endswith("."):
        _without_final_dots(parsed, url)
    if "%" in href:
        parsed.pathname = _ESCAPE.sub(_one_way, parsed.pathname)
    if "?" in href:
        parsed.search = _ESCAPE.sub(_one_way, _without_tracking(parsed.search))
    return str(parsed.href)


def _without_final_dots(parsed: URL, url: str) -> None:
    try:
        parsed.hostname = parsed.hostname.rstrip(".")
    except ValueError:
        # Dots only, or a number at the end that makes no address.
        raise BadUrl(f"{url[:200]!r} has no host") from None


def _one_way(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _without_tracking(search: str) -> str:
    if len(search) < 2:
        return ""
    kept = [pair for pair in search[1:].split("&") if pair and not _is_tracking(pair.partition("=")[0])]
    # With its question mark: the setter takes a leading one of the query itself for the separator.
    return "?" + "&".join(kept) if kept else ""


def _is_tracking(name: str) -> bool:
    lowered = unquote(name).lower()
    return lowered in _TRACKING_NAMES or lowered.startswith(_TRACKING_PREFIXES)


def identity_of(url: str) -> str:
    """The normalised form, or the text itself when it can't be normalised: rows are known by it, nothing is judged."""
    try:
        return normalise(url)
    except BadUrl:
        return url


def host_of(url: str) -> str:
    """The host in lower case without port; empty for what isn't an http URL (used as a Kafka key, never to judge)."""
    try:
        return str(parse_http(url).hostname)
    except BadUrl:
        return ""


def authority_of(url: str) -> str:
    """Host and port as one word, the unit of politeness: two ports are two servers. Raises `BadUrl`."""
    return str(parse_http(url).host)


def decoded_path(url: str) -> str:
    """The path with percent escapes decoded, as rules match it. Raises `BadUrl`."""
    return unquote(parse_http(url).pathname)


def place_of(url: str) -> tuple[str, str]:
    """The host and the decoded path, as rules match them, from one parse. Raises `BadUrl`."""
    parsed = parse_http(url)
    return str(parsed.hostname), unquote(parsed.pathname)


def url_hash(url: str) -> str:
    """SHA-256 of a normalised URL in hex: the name of its locks and its row."""
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
