"""The rules of parsing, priority, politeness and refusal, kept in SQL. Without a database all raise Unavailable."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import BlacklistEntry, FetcherRule, ParserRule, PriorityRule


class ParserRules(Protocol):
    """Rules by which pages are read and links are judged."""

    def for_host(self, host: str, target_type: TargetType) -> Sequence[ParserRule]:
        """Enabled rules of that host and type: exact host first, then longer path, then newer version."""

    def priority_rules(self, limit: int) -> Sequence[PriorityRule]:
        """(host, path, priority) of all enabled rules, newest version of each, in saved order.

        Rows come unjudged: people edit them in SQL, and one that is no rule mustn't cost the others.
        """

    def with_options(self, names: Sequence[str]) -> Sequence[tuple[str, str, Mapping[str, str]]]:
        """(host, path, options) of the enabled rules that have one of these options, newest version of each, in saved
        order. Cheap where few have one.
        """

    def all(self) -> Sequence[ParserRule]:
        """Every rule as it is in force (its newest enabled version, else its newest), in saved order.

        One that can't be read is among them and says why: no other rule is hidden by it.
        """

    def get(self, rule_id: int) -> ParserRule | None:
        """The rule of which that is a version, as `all` has it."""

    def versions(self, rule_id: int) -> Sequence[ParserRule]:
        """Every version of the rule of which that is one, oldest first; empty when there is none.

        One that can't be read is among them and says why.
        """

    def set_enabled(self, rule_id: int, *, enabled: bool) -> None:
        """Switch every version of that rule on or off; raises `PermanentError` (`invalid_rule`) when there is none."""

    def apply(self, rules: Sequence[ParserRule]) -> None:
        """Make each of these the rule in force of its (host, path, type) in one transaction: all or none.

        Unlike with `save` a priority given here counts, and like `enabled` it is set for every version. What is so
        already isn't touched; only other selectors or options make a new version. Raises as `save` does.
        """

    def blacklist(self) -> Sequence[BlacklistEntry]:
        """Every entry as it was added, the oldest first; ids aren't used twice."""

    def add_to_blacklist(self, entry: BlacklistEntry) -> bool:
        """Add unless the same host and path is there; whether it was new. Raises `PermanentError` (`invalid_rule`)."""

    def remove_from_blacklist(self, host_pattern: str, path_pattern: str) -> bool:
        """Whether there was such an entry."""

    def save(self, rule: ParserRule) -> ParserRule:
        """Store the rule as the next version of its (host, path, type); returns it as stored.

        A successor inherits the `crawl_priority` of the version before it; the same selectors and options again make no
        new version. Raises `PermanentError` (`invalid_rule`) for a priority outside 1..3, a host that is none or a path
        that RE2 doesn't take.
        """

    def set_priority(self, rule_id: int, crawl_priority: int) -> None:
        """Change the priority of every version of that rule; raises `PermanentError` as `save` does."""

    def fetcher_rule(self, host: str) -> FetcherRule | None:
        """The rule of the exact host, else of the longest wildcard above it."""

    def save_fetcher_rule(self, rule: FetcherRule) -> None:
        """Insert or replace by `host_pattern`; raises `PermanentError` (`invalid_rule`) for a wrong host or limit."""


class RuleSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A whole set of priority rules as publishers use it; `fingerprint` tells equal sets, `version` grows by one.

    `checked_ms` is when the rules in the database were last found to be these. `refused` are rows that are no rules,
    each as a sentence with the reason.
    """

    version: int
    fingerprint: str
    rules: tuple[PriorityRule, ...]
    created_ms: int = 0
    checked_ms: int = 0
    refused: tuple[str, ...] = ()


class RuleSnapshots(Protocol):
    """Versions of the priority rules, each whole."""

    def latest_version(self) -> int:
        """Cheap; 0 when there is none."""

    def latest(self) -> RuleSnapshot | None: ...

    def save(
        self, fingerprint: str, rules: Sequence[PriorityRule], created_ms: int, refused: Sequence[str] = ()
    ) -> int:
        """Store as the next version unless the latest has this fingerprint; returns the latest version.

        Either way the latest counts as checked at `created_ms`.
        """

    def checked(self, version: int, at_ms: int) -> None:
        """The rules in the database are still those of that version."""
