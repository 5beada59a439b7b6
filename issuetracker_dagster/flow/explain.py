"""Why a URL gets its priority: the rules of its host in the order in which they are asked."""

from collections.abc import Iterable

import msgspec
import re2

from issuetracker_dagster.model.rules import PriorityRule, host_forms
from issuetracker_dagster.model.urls import place_of


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """`decides` is the rule that matched first, `passed` those asked before it, `next` the one that matches without it.

    `host` and `path` (decoded) are what the rules were held against.
    """

    host: str
    path: str
    passed: tuple[PriorityRule, ...] = ()
    decides: PriorityRule | None = None
    next: PriorityRule | None = None


def explain(rules: Iterable[PriorityRule], url: str) -> Explanation:
    """Ask the rules as publishers do (`flow.rules.HostTable`), and note who was asked. Raises `BadUrl`."""
    host, path = place_of(url)
    passed: list[PriorityRule] = []
    decides: PriorityRule | None = None
    for rule in in_asking_order(rules, host):
        if not _matches(rule, path):
            if decides is None:
                passed.append(rule)
        elif decides is None:
            decides = rule
        else:
            return Explanation(host=host, path=path, passed=tuple(passed), decides=decides, next=rule)
    return Explanation(host=host, path=path, passed=tuple(passed), decides=decides)


def in_asking_order(rules: Iterable[PriorityRule], host: str) -> list[PriorityRule]:
    """The rules that are about a host: exact before wildcard, then the longer expression, then as saved."""
    forms = {form: place for place, form in enumerate(host_forms(host))}
    return sorted((rule for rule in rules if rule.host in forms), key=lambda rule: (forms[rule.host], -len(rule.path)))


def _matches(rule: PriorityRule, path: str) -> bool:
    return not rule.path or re2.search(rule.path, path) is not None
