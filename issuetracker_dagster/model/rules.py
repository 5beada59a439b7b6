"""Rules as values: how pages are read, how urgent they are, what is refused, how hosts are asked.

What may be stored is decided here, matching URLs is in `flow.rules`.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

import msgspec
import re2
from ada_url import URL

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority

_HOST_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_ADDRESS = re.compile(r"\[[0-9a-f:.]+\]")
_LOOKS_AROUND = "(?=", "(?!", "(?<"
_QUIET = re2.Options()
_QUIET.log_errors = False


class PriorityRule(msgspec.Struct, frozen=True, kw_only=True):
    """`host` is exact or `*.example.com`; `path` an RE2 expression searched in the decoded path, empty = any."""

    host: str
    path: str = ""
    priority: Priority = Priority.NORMAL
    rule_id: int = 0


def check_host(host: str) -> str:
    """The host as it must be written; raises ValueError that says what to write instead."""
    front = "*." if host.startswith("*.") else ""
    bare = host.removeprefix(front)
    if _ADDRESS.fullmatch(host):
        return _as_asked(host)
    if "/" in bare or ":" in bare:
        raise ValueError(f"host {host!r}: leave out scheme, port and path, write just 'news.example.com'")
    if bare != bare.lower():
        raise ValueError(f"host {host!r}: write it in lower case, {host.lower()!r}")
    if "*" in bare:
        raise ValueError(f"host {host!r}: a wildcard is only allowed in front, as '*.example.com'")
    if not bare.isascii():
        raise ValueError(f"host {host!r}: write it as it is asked for, {_in_urls(bare, front) or 'xn--...'!r}")
    if not all(_HOST_LABEL.fullmatch(label) for label in bare.split(".")) or (front and bare[-1].isdigit()):
        raise ValueError(f"host {host!r} isn't a host name; write 'news.example.com' or '*.example.com'")
    return _as_asked(bare, front)


def _as_asked(bare: str, front: str = "") -> str:
    # Another spelling of an address, or what only looks like a name, is the host of no URL: such a rule never matches.
    known = _in_urls(bare, front)
    if not known:
        raise ValueError(f"host {front + bare!r} isn't the host of any URL; write 'news.example.com'")
    if known != front + bare:
        raise ValueError(f"host {front + bare!r}: write it as it is asked for, {known!r}")
    return known


def _in_urls(bare: str, front: str) -> str:
    """The host as URLs have it once they are parsed; empty when none can."""
    try:
        return front + str(URL(f"http://{bare}/").hostname)
    except ValueError:
        return ""


@lru_cache(maxsize=4_096)
def host_forms(host: str) -> tuple[str, ...]:
    """Every host pattern that matches `host`, the most specific first: itself, then `*.` and each domain above it."""
    labels = host.lower().rstrip(".").split(".")
    return (".".join(labels), *("*." + ".".join(labels[start:]) for start in range(1, len(labels))))


MAX_PATH_PATTERN = 500
"""Longest path expression in characters."""


def check_path(pattern: str) -> str:
    """The path expression when RE2 takes it; raises ValueError with RE2's reason.

    RE2 matches in linear time whatever the expression, so no rule can hang a publisher.
    """
    if len(pattern) > MAX_PATH_PATTERN:
        raise ValueError(f"path expression of {len(pattern)} characters; at most {MAX_PATH_PATTERN}")
    if "\x00" in pattern or not _encodable(pattern):
        raise ValueError(f"path expression {pattern!r} holds what no text column takes; write such signs as \\x{{...}}")
    try:
        re2.compile(pattern, _QUIET)
    except re2.error as error:
        raise ValueError(f"path expression {pattern!r} isn't RE2: {_reason(error)}") from None
    return pattern


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: Exception) -> str:
    # The binding gives what RE2 says as bytes.
    (said,) = error.args
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    if any(sign in text for sign in _LOOKS_AROUND):
        return f"{text}; it has no look-around, write what has to be there, or a rule of its own for the exception"
    if text.startswith("invalid escape sequence") and text[-1].isdigit():
        return f"{text}; it has no back references, write the alternatives out"
    if text.startswith("invalid repetition size"):
        return f"{text}; repeat at most 1000 times, or write + or *"
    return text


SELECTOR_FIELDS = ("title", "main_content", "author", "category", "tags", "images", "summary", "published_at")
"""What selectors are asked for; under any other name one finds nothing that is kept."""


class SelectorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Where a field is on a page: a CSS selector, an attribute instead of the text, one or all matches."""

    css: str
    attribute: str = ""
    multi: bool = False


class ParserRule(msgspec.Struct, frozen=True, kw_only=True):
    """How pages of a host and path are read. `options` hold the article pattern and excludes of categories.

    `fault` is why the selectors and options of its row can't be read; both are then empty here.
    """

    rule_id: int = 0
    host_pattern: str
    path_pattern: str = ""
    target_type: TargetType = TargetType.ARTICLE
    version: int = 1
    enabled: bool = True
    selectors: dict[str, SelectorSpec] = {}
    options: dict[str, str] = {}
    crawl_priority: int = 2
    fault: str = ""


def in_force(versions: Iterable[ParserRule]) -> ParserRule:
    """Of the versions of one rule the newest enabled one, else the newest."""
    return max(versions, key=lambda version: (version.enabled, version.version))


def check_rule(rule: ParserRule) -> None:
    """Raise `PermanentError` (`invalid_rule`) with the reason when the rule may not be stored."""
    if rule.crawl_priority not in (1, 2, 3):
        reason = f"crawl_priority {rule.crawl_priority} is none of 1 (high), 2 (normal), 3 (low)"
        raise PermanentError(reason, code="invalid_rule")
    check_place(rule.host_pattern, rule.path_pattern)


def check_place(host_pattern: str, path_pattern: str) -> None:
    """Raise `PermanentError` (`invalid_rule`) when no rule or blacklist entry can be about that host and path."""
    try:
        check_host(host_pattern)
        check_path(path_pattern)
    except ValueError as error:
        raise PermanentError(str(error), code="invalid_rule") from None


class BlacklistMode(StrEnum):
    """What happens to a link that the blacklist knows."""

    DROP = "drop"
    EXTRACT_LINKS_ONLY = "extract_links_only"


class BlacklistEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Host exact or `*.`, path an RE2 expression as in priority rules. `entry_id` is given when it is stored."""

    host_pattern: str
    path_pattern: str = ""
    mode: BlacklistMode = BlacklistMode.DROP
    source: str = "manual"
    entry_id: int = 0


class FetcherRule(msgspec.Struct, frozen=True, kw_only=True):
    """How politely a host is asked. `requests_per_hour` 0 = no limit beyond concurrency; `burst` in requests."""

    host_pattern: str
    requests_per_hour: int = 3_600
    burst: int = 5
    concurrency: int = 2
    timeout_ms: int = 30_000
    user_agent: str = ""
    rendering: bool = False
    source: str = "default"


def check_fetcher_rule(rule: FetcherRule) -> None:
    """Raise `PermanentError` (`invalid_rule`) with the reason when the rule may not be stored."""
    check_place(rule.host_pattern, "")
    if rule.requests_per_hour < 0 or min(rule.burst, rule.concurrency, rule.timeout_ms) < 1:
        reason = "burst, concurrency and timeout are at least 1, requests an hour at least 0 (0 = no limit)"
        raise PermanentError(f"fetcher rule for {rule.host_pattern!r}: {reason}", code="invalid_rule")
