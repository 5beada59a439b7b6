"""The identity of a URL. Parsing is the WHATWG algorithm (ada-url); what counts as the same page is decided here."""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote

import msgspec
from ada_url import URL

_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "hsa_")
_TRACKING_NAMES = frozenset(
    {
        "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid", "igshid",
        "igsh", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "vero_id", "oly_anon_id", "oly_enc_id", "s_cid",
        "cmpid", "ocid", "at_medium", "at_campaign", "__twitter_impression", "wt_mc", "rss", "xtor",
    }
)  # fmt: skip


_ESCAPE = re.compile("%([0-9A-Fa-f]{2})?")
_CREDENTIALS = re.compile(r"[/\\]{2}[^/\\?#]*@")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class BadUrl(ValueError):
    """Not an absolute http or https URL with a host."""


def parse_http(url: str, base: str | None = None) -> URL:
    """The parsed URL, relative to `base` when given; raises `BadUrl`."""
    try:
        parsed = URL(url, base) if base else URL(url)
    except ValueError:
        raise _bad(url, "isn't a URL") from None
    if parsed.protocol not in ("http:", "https:") or not parsed.hostname:
        raise _bad(url, "isn't an http or https URL")
    return parsed


def _bad(url: str, why: str) -> BadUrl:
    # It goes into logs, and what is no URL may have a password in it all the same.
    return BadUrl(f"{_CREDENTIALS.sub('//', url)[:200]!r} {why}")


class ParameterRule(msgspec.Struct, frozen=True, kw_only=True):
    """What the query parameters of a host mean, by names in lower case: `keep` stay although they look like tracking,
    `drop` go although they don't (a session id), and with `any_order` the order of their names says nothing.
    """

    keep: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    any_order: bool = False


PARAMETER_OPTIONS = ("keep_params", "drop_params", "any_param_order")


def parameter_rule(options: Mapping[str, str]) -> ParameterRule | None:
    """What a parser rule's options say: `keep_params` and `drop_params`, one name a line; `any_param_order`: `true`."""
    *names, order = PARAMETER_OPTIONS
    keep, drop = (
        frozenset(line.strip().lower() for line in options.get(name, "").splitlines() if line.strip()) for name in names
    )
    any_order = options.get(order, "").strip().lower() == "true"
    return ParameterRule(keep=keep - drop, drop=drop, any_order=any_order) if keep or drop or any_order else None


def spelled(url: str, base: str | None = None) -> str:
    """As `normalise`, but with every query parameter: for links on their way to the publisher, who knows the rule of
    their host. Idempotent; raises `BadUrl`.
    """
    # The parser is asked once: each of its getters and setters costs as much as all these looks at the text together.
    scheme, authority, rest = _split(url, base)
    if "@" in authority:
        authority = authority.rpartition("@")[2]
    if authority.endswith(".") or ".:" in authority:
        authority = _without_final_dots(scheme, authority)
    path, mark, query = rest.partition("#")[0].partition("?")
    if "%" in path:
        path = _ESCAPE.sub(_one_way, path)
    if not mark:
        return f"{scheme}//{authority}/{path}"
    if "%" in query:
        query = _ESCAPE.sub(_one_way, query)
    query = "&".join([pair for pair in query.split("&") if pair])
    return f"{scheme}//{authority}/{path}?{query}" if query else f"{scheme}//{authority}/{path}"


def normalise(url: str, base: str | None = None, rule: ParameterRule | None = None) -> str:
    """The form under which a URL is known: no fragment, no credentials, no known tracking parameters.

    Every other query parameter stays, in its order, since `?id=1` and `?id=2` are two pages. Percent escapes get one
    form (RFC 3986, 6.2.2), so that `%ea%b0%80` of one link and `%EA%B0%80` of another are one page, and a percent sign
    that begins none is escaped. The `rule` of its host may keep and drop others. Idempotent. Raises `BadUrl`.
    """
    return reduced(spelled(url, base), rule)


def reduced(url: str, rule: ParameterRule | None = None) -> str:
    """A `spelled` URL as `normalise` leaves it, without parsing it once more."""
    place, mark, query = url.partition("?")
    if not mark:
        return url
    query = _without_tracking(query) if rule is None else _by_rule(rule, query)
    return f"{place}?{query}" if query else place


def _split(url: str, base: str | None = None) -> tuple[str, str, str]:
    """Scheme with its colon, authority, and what follows the slash after it, of the URL as the parser writes it."""
    try:
        href = str(URL(url, base).href if base else URL(url).href)
    except ValueError:
        raise _bad(url, "isn't a URL") from None
    scheme, _, remainder = href.partition("//")
    if scheme not in ("http:", "https:"):
        raise _bad(url, "isn't an http or https URL")
    authority, _, rest = remainder.partition("/")
    return scheme, authority, rest


def _without_final_dots(scheme: str, authority: str) -> str:
    host, colon, port = authority.partition(":")
    try:
        # Parsed again, since what is left may be a number that makes no address, or one that does.
        return str(URL(f"{scheme}//{host.rstrip('.')}{colon}{port}/").host)
    except ValueError:
        raise BadUrl(f"{authority[:200]!r} is no host") from None


def _one_way(escape: re.Match[str]) -> str:
    if escape[1] is None:
        # Left as it is, it could make an escape of what is unescaped after it: `%%36%31` would be `%61`, and then `a`.
        return "%25"
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _without_tracking(query: str) -> str:
    return "&".join([pair for pair in query.split("&") if pair and not _is_tracking(pair.partition("=")[0])])


def _by_rule(rule: ParameterRule, query: str) -> str:
    kept = []
    for pair in query.split("&"):
        name = pair.partition("=")[0]
        known = _lowered(name)
        if pair and known not in rule.drop and (known in rule.keep or not _is_tracking(name)):
            kept.append(pair)
    # By name only, since the order of `?tag=b&tag=a` may say something all the same.
    return "&".join(sorted(kept, key=lambda pair: pair.partition("=")[0]) if rule.any_order else kept)


def _lowered(name: str) -> str:
    return (unquote(name) if "%" in name else name).lower()


def _is_tracking(name: str) -> bool:
    lowered = _lowered(name)
    return lowered in _TRACKING_NAMES or lowered.startswith(_TRACKING_PREFIXES)


def identity_of(url: str) -> str:
    """The spelled form, or the text itself when it has none: rows are known by it, nothing is judged.

    Which parameters count was decided by who named the page, who knows the rule of its host.
    """
    try:
        return spelled(url)
    except BadUrl:
        return url


def host_of(url: str) -> str:
    """The host in lower case without port; empty for what isn't an http URL (used as a Kafka key, never to judge)."""
    try:
        return place_of(url)[0]
    except BadUrl:
        return ""


def authority_of(url: str) -> str:
    """Host and port as one word, the unit of politeness: two ports are two servers. Raises `BadUrl`."""
    return str(parse_http(url).host)


def decoded_path(url: str) -> str:
    """The path with percent escapes decoded, as rules match it. Raises `BadUrl`."""
    return place_of(url)[1]


@lru_cache(maxsize=1_024)
def place_of(url: str) -> tuple[str, str]:
    """The host and the decoded path, as rules match them, from one parse. Raises `BadUrl`.

    Remembered for a while: a link is asked about by the blacklist, by the rules and for its key, one after the other.
    """
    _, authority, rest = _split(url)
    host, colon, port = authority.rpartition("@")[2].rpartition(":")
    path = rest.partition("#")[0].partition("?")[0]
    if not colon or port.endswith("]"):  # the last colon of an IPv6 address
        host += colon + port
    return host, "/" + (unquote(path) if "%" in path else path)


def url_hash(url: str) -> str:
    """SHA-256 of a normalised URL in hex: the name of its locks and its row."""
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
