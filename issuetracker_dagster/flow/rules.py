"""Matching URLs against host and path patterns. Expressions are RE2, so no pattern can hang a publisher."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, TypeVar

import re2

from issuetracker_dagster.model.rules import check_host, check_path, host_forms
from issuetracker_dagster.model.urls import decoded_path, host_of

T = TypeVar("T")


class HostTable(Generic[T]):
    """Values by host and path, asked in the order of the design.

    Exact hosts before wildcards, longer wildcards first; inside a host the longer path expression first, ties in the
    order given. `*.example.com` matches any host below example.com, not example.com itself. Immutable once built.
    """

    def __init__(self, entries: Iterable[tuple[str, str, T]]) -> None:
        by_host: dict[str, list[tuple[str, T]]] = defaultdict(list)
        for host, path, value in entries:
            by_host[check_host(host)].append((check_path(path), value))
        self._by_host = {
            host: [(re2.compile(path) if path else None, value) for path, value in _longest_first(paths)]
            for host, paths in by_host.items()
        }

    def find(self, url: str) -> T | None:
        """The first value whose host and path match; None when none does. Raises `BadUrl`."""
        path = decoded_path(url)
        for pattern_host in host_forms(host_of(url)):
            for expression, value in self._by_host.get(pattern_host, ()):
                if expression is None or expression.search(path):
                    return value
        return None

    def __len__(self) -> int:
        return sum(len(paths) for paths in self._by_host.values())


def _longest_first(paths: list[tuple[str, T]]) -> list[tuple[str, T]]:
    return sorted(paths, key=lambda path: -len(path[0]))
