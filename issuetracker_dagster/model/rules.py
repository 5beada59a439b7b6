"""Priority rules as values: host forms and the order in which rules are asked. Matching is in `flow.rules`."""

import re

import msgspec

from issuetracker_dagster.model.priority import Priority

_HOST_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


class PriorityRule(msgspec.Struct, frozen=True, kw_only=True):
    """`host` is exact or `*.example.com`; `path` an RE2 expression searched in the decoded path, empty = any."""

    host: str
    path: str = ""
    priority: Priority = Priority.NORMAL
    rule_id: int = 0


def check_host(host: str) -> str:
    """The host as it must be written; raises ValueError that says what to write instead."""
    bare = host[2:] if host.startswith("*.") else host
    if bare != bare.lower():
        raise ValueError(f"host {host!r}: write it in lower case, {host.lower()!r}")
    if "/" in bare or ":" in bare:
        raise ValueError(f"host {host!r}: leave out scheme, port and path, write just 'news.example.com'")
    if "*" in bare:
        raise ValueError(f"host {host!r}: a wildcard is only allowed in front, as '*.example.com'")
    if not all(_HOST_LABEL.fullmatch(label) for label in bare.split(".")):
        raise ValueError(f"host {host!r} isn't a host name; write 'news.example.com' or '*.example.com'")
    return host


def host_forms(host: str) -> tuple[str, ...]:
    """Every host pattern that matches `host`, the most specific first: itself, then `*.` and each domain above it."""
    labels = host.lower().rstrip(".").split(".")
    return (".".join(labels), *("*." + ".".join(labels[start:]) for start in range(1, len(labels))))
