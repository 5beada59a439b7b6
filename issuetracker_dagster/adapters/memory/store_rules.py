"""Rules and their snapshots in memory."""

import threading
from collections.abc import Mapping, Sequence

import msgspec

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import (
    BlacklistEntry,
    FetcherRule,
    ParserRule,
    PriorityRule,
    check_fetcher_rule,
    check_place,
    check_rule,
    host_forms,
    in_force,
)

_RuleKey = tuple[str, str, TargetType]


def _key(rule: ParserRule) -> _RuleKey:
    return rule.host_pattern, rule.path_pattern, rule.target_type


class MemoryParserRules:
    """The port `ParserRules`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[ParserRule] = []
        self._blacklist: dict[tuple[str, str], BlacklistEntry] = {}
        self._entries_added = 0
        self._fetcher_rules: dict[str, FetcherRule] = {}

    def for_host(self, host: str, target_type: TargetType) -> Sequence[ParserRule]:
        forms = host_forms(host)
        found = [
            rule
            for rule in self._rules
            if rule.enabled and rule.target_type is target_type and rule.host_pattern in forms
        ]
        return sorted(found, key=lambda r: (forms.index(r.host_pattern), -len(r.path_pattern), -r.version, r.rule_id))

    def priority_rules(self, limit: int) -> Sequence[PriorityRule]:
        return [
            PriorityRule(
                host=rule.host_pattern,
                path=rule.path_pattern,
                priority=Priority(rule.crawl_priority),
                rule_id=rule.rule_id,
            )
            for rule in self._enabled()[:limit]
        ]

    def with_options(self, names: Sequence[str]) -> Sequence[tuple[str, str, Mapping[str, str]]]:
        return [
            (rule.host_pattern, rule.path_pattern, rule.options)
            for rule in self._enabled()
            if any(name in rule.options for name in names)
        ]

    def _enabled(self) -> list[ParserRule]:
        return [rule for rule in self.all() if rule.enabled]

    def all(self) -> Sequence[ParserRule]:
        versions: dict[_RuleKey, list[ParserRule]] = {}
        for rule in self._rules:
            versions.setdefault(_key(rule), []).append(rule)
        return [in_force(known) for known in versions.values()]

    def get(self, rule_id: int) -> ParserRule | None:
        found = self.versions(rule_id)
        return in_force(found) if found else None

    def versions(self, rule_id: int) -> Sequence[ParserRule]:
        place = next((_key(rule) for rule in self._rules if rule.rule_id == rule_id), None)
        return [rule for rule in self._rules if _key(rule) == place]

    def set_enabled(self, rule_id: int, *, enabled: bool) -> None:
        with self._lock:
            self._change(_key(self._version(rule_id)), enabled=enabled)

    def apply(self, rules: Sequence[ParserRule]) -> None:
        for rule in rules:
            check_rule(rule)
        with self._lock:
            for rule in rules:
                self._make_so(rule)

    def _make_so(self, rule: ParserRule) -> None:
        known = [version for version in self._rules if _key(version) == _key(rule)]
        if not known:
            self._append(rule, version=1)
            return
        now = in_force(known)
        if (now.selectors, now.options) != (rule.selectors, rule.options):
            self._append(rule, version=known[-1].version + 1)
        self._change(_key(rule), crawl_priority=rule.crawl_priority)
        if now.enabled is not rule.enabled:
            self._change(_key(rule), enabled=rule.enabled)

    def save(self, rule: ParserRule) -> ParserRule:
        check_rule(rule)
        with self._lock:
            before = [known for known in self._rules if _key(known) == _key(rule)]
            latest = max(before, key=lambda known: known.version, default=None)
            if latest is not None and _reads_alike(latest, rule):
                return latest
            if latest is None:
                return self._append(rule, version=1)
            return self._append(rule, version=latest.version + 1, crawl_priority=latest.crawl_priority)

    def set_priority(self, rule_id: int, crawl_priority: int) -> None:
        with self._lock:
            target = self._version(rule_id)
            check_rule(msgspec.structs.replace(target, crawl_priority=crawl_priority))
            self._change(_key(target), crawl_priority=crawl_priority)

    def _version(self, rule_id: int) -> ParserRule:
        target = next((rule for rule in self._rules if rule.rule_id == rule_id), None)
        if target is None:
            raise PermanentError(f"there is no parser rule {rule_id}", code="invalid_rule")
        return target

    def _append(self, rule: ParserRule, **values: int) -> ParserRule:
        stored = msgspec.structs.replace(rule, rule_id=len(self._rules) + 1, **values)
        self._rules.append(stored)
        return stored

    def _change(self, key: _RuleKey, **values: int) -> None:
        self._rules = [msgspec.structs.replace(rule, **values) if _key(rule) == key else rule for rule in self._rules]

    def blacklist(self) -> Sequence[BlacklistEntry]:
        return list(self._blacklist.values())

    def add_to_blacklist(self, entry: BlacklistEntry) -> bool:
        check_place(entry.host_pattern, entry.path_pattern)
        with self._lock:
            place = entry.host_pattern, entry.path_pattern
            if place in self._blacklist:
                return False
            self._entries_added += 1
            self._blacklist[place] = msgspec.structs.replace(entry, entry_id=self._entries_added)
            return True

    def remove_from_blacklist(self, host_pattern: str, path_pattern: str) -> bool:
        with self._lock:
            return self._blacklist.pop((host_pattern, path_pattern), None) is not None

    def fetcher_rule(self, host: str) -> FetcherRule | None:
        return next((self._fetcher_rules[form] for form in host_forms(host) if form in self._fetcher_rules), None)

    def fetcher_rules(self) -> Sequence[FetcherRule]:
        """All of them."""
        with self._lock:
            return list(self._fetcher_rules.values())

    def save_fetcher_rule(self, rule: FetcherRule) -> None:
        check_fetcher_rule(rule)
        with self._lock:
            self._fetcher_rules[rule.host_pattern] = rule


def _reads_alike(known: ParserRule, rule: ParserRule) -> bool:
    return (known.selectors, known.options, known.enabled) == (rule.selectors, rule.options, rule.enabled)
