"""RE2 expressions of rules and blacklist: linear in time, whatever somebody saved."""

import logging
import re
from functools import lru_cache
from typing import Protocol

import re2

from issuetracker_dagster.model.urls import BadUrl, decoded_path

logger = logging.getLogger(__name__)

# Not re2.escape, which backslashes every slash too: people read these in the blacklist.
_SPECIAL = re.compile(r"[\\.^$|?*+()\[\]{}]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BACKSLASHED = r"\\\g<0>"


class Pattern(Protocol):
    """A compiled expression."""

    def search(self, text: str) -> object | None: ...


@lru_cache(maxsize=4_096)
def compiled(expression: str) -> Pattern | None:
    """The compiled expression; None, with one warning, when it doesn't compile (a rule was saved unchecked)."""
    options = re2.Options()
    options.log_errors = False
    try:
        pattern: Pattern = re2.compile(expression, options)
    except re2.error as error:
        logger.warning("the expression %r doesn't compile and matches nothing: %s", expression, error)
        return None
    return pattern


def found_in(expression: str, text: str) -> bool:
    """Whether the expression is found in the text; an empty one always is."""
    if not expression:
        return True
    pattern = compiled(expression)
    return pattern is not None and pattern.search(text) is not None


def exactly(path: str) -> str:
    """The expression that finds this decoded path and no other."""
    return f"^{_SPECIAL.sub(_BACKSLASHED, path)}$"


def path_of(expression: str) -> str | None:
    """The path that `exactly` made this expression of; None when it is another kind of expression."""
    path = _ESCAPED.sub(r"\1", expression[1:-1])
    return path if path and exactly(path) == expression else None


def host_matches(host_pattern: str, host: str) -> bool:
    """Exact, or `*.example.com` for every host below `example.com`."""
    return host.endswith(host_pattern[1:]) if host_pattern.startswith("*.") else host == host_pattern


def path_and_query(url: str) -> str:
    """The decoded path of a spelled URL, with the query as it is: forum threads differ by query only. Empty for what is
    no URL.
    """
    try:
        path = decoded_path(url)
    except BadUrl:
        return ""
    query = url.partition("?")[2]  # there is no fragment
    return f"{path}?{query}" if query else path
