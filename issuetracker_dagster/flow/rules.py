"""Matching URLs against host and path patterns. Expressions are RE2, so no pattern can hang a publisher.

What may be a pattern is decided in `model.rules`, what a match means by who builds the table.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import re2

from issuetracker_dagster.model.rules import check_host, check_path, host_forms
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import place_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
Entry = tuple[str, str, T]

_OPTIONS = re2.Options()
_OPTIONS.never_capture = True
_OPTIONS.log_errors = False
FEW = 32
"""Up to so many expressions one automaton finds all that match; of more it may grow too large, so from there on only
those are tried whose literals are in the path."""
_SENTINEL = "/"
"""Matches every path of a URL; without it in its answer a set has run out of memory and knows nothing."""


class HostTable(Generic[T]):
    """Values by host and path, asked in the order of the design.

    Exact hosts before wildcards, longer wildcards first; inside a host the longer path expression first, ties in the
    order given. `*.example.com` matches any host below example.com, not example.com itself. Immutable once built;
    raises ValueError for a host or path that is none.
    """

    def __init__(self, entries: Iterable[Entry[T]]) -> None:
        by_host: dict[str, list[tuple[str, T]]] = defaultdict(list)
        for host, path, value in entries:
            by_host[check_host(host)].append((check_path(path), value))
        self._by_host = {host: _Paths(paths) for host, paths in by_host.items()}
        self._size = sum(len(paths) for paths in by_host.values())

    def find(self, url: str) -> T | None:
        """The first value whose host and path match; None when none does. Raises `BadUrl`."""
        host, path = place_of(url)
        for pattern_host in host_forms(host):
            paths = self._by_host.get(pattern_host)
            if paths is not None and (found := paths.first(path)) is not None:
                return found
        return None

    def __len__(self) -> int:
        return self._size


def sift(entries: Iterable[Entry[T]]) -> tuple[list[Entry[T]], list[str]]:
    """Those of `entries` that a `HostTable` takes, and why it doesn't take the others."""
    good: list[Entry[T]] = []
    refused: list[str] = []
    for host, path, value in entries:
        try:
            good.append((check_host(host), check_path(path), value))
        except ValueError as error:
            refused.append(str(error))
    return good, refused


class _Paths(Generic[T]):
    """The paths of one host pattern, in the order in which they are asked."""

    def __init__(self, paths: Iterable[tuple[str, T]]) -> None:
        ordered = sorted(paths, key=lambda path: -len(path[0]))
        self._values = [value for path, value in ordered if path]
        # An empty expression is the shortest there is, so it comes last, and only the first of several counts.
        self._any = next((value for path, value in ordered if not path), None)
        self._sets = list(_sets([path for path, _ in ordered if path]))

    def first(self, path: str) -> T | None:
        passed = 0
        for one in self._sets:
            index = one.first(path)
            if index is not None:
                return self._values[passed + index]
            passed += len(one)
        return self._any


class _Set:
    """Many expressions asked at once (decision 70)."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._expressions = expressions
        self._size = len(expressions)
        self._at_once: Any = re2.Set.SearchSet(_OPTIONS) if self._size <= FEW else re2.Filter()
        add = self._at_once.Add if self._size <= FEW else partial(self._at_once.Add, options=_OPTIONS)
        for expression in (*expressions, _SENTINEL):
            add(expression)
        self._is_usable = True

    def compile(self) -> bool:
        """Whether these fit into one set; else they can only be asked one by one."""
        try:
            self._at_once.Compile()
        except re2.error:
            self._is_usable = False
        return self._is_usable

    def first(self, path: str) -> int | None:
        """The place of the first expression that matches."""
        if self._is_usable:
            matches = self._at_once.Match(path)
            # RE2 hides from Python that it ran out of memory: it then answers that nothing matches.
            if matches and self._size in matches:
                place: int = min(matches)
                return None if place == self._size else place
            self._is_usable = False
            logger.warning("%d path rules are asked one by one", self._size, extra=action("rules.refused"))
        return next((place for place, one in enumerate(self._one_by_one) if one.search(path)), None)

    @cached_property
    def _one_by_one(self) -> Sequence[Any]:
        return [re2.compile(expression, _OPTIONS) for expression in self._expressions]

    def __len__(self) -> int:
        return self._size


def _sets(expressions: Sequence[str]) -> Iterable[_Set]:
    """As few sets as RE2's bound of memory for one allows, in order."""
    if not expressions:
        return
    whole = _Set(expressions)
    if whole.compile() or len(expressions) == 1:
        yield whole
        return
    half = len(expressions) // 2
    yield from _sets(expressions[:half])
    yield from _sets(expressions[half:])
