"""What a wanted set of rules changes in the stored one: decided here, before anything is saved."""

from collections.abc import Iterable, Sequence

import msgspec

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import ParserRule, PriorityRule, SelectorSpec

Place = tuple[str, str, TargetType]


class WantedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as somebody wrote it down. None leaves a stored rule as it is; a new one is then normal, on and bare."""

    host: str
    path: str = ""
    target_type: TargetType = TargetType.ARTICLE
    priority: Priority | None = None
    enabled: bool | None = None
    selectors: dict[str, SelectorSpec] | None = None
    options: dict[str, str] | None = None

    @property
    def place(self) -> Place:
        """What names the rule."""
        return self.host, self.path, self.target_type


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A rule before (None: it is new) and after."""

    before: ParserRule | None = None
    after: ParserRule

    @property
    def words(self) -> tuple[str, ...]:
        """What is different, each in a few words."""
        new = Priority(self.after.crawl_priority).label
        if self.before is None:
            return ("new", new) if self.after.enabled else ("new", new, "off")
        found: list[str] = []
        if self.before.crawl_priority != self.after.crawl_priority:
            found.append(f"{Priority(self.before.crawl_priority).label} -> {new}")
        if self.before.enabled is not self.after.enabled:
            found.append("on" if self.after.enabled else "off")
        found.extend(
            f"other {name}"
            for name in ("selectors", "options")
            if getattr(self.before, name) != getattr(self.after, name)
        )
        return tuple(found)

    @property
    def keeps_priorities(self) -> bool:
        """Whether every URL keeps its priority."""
        if self.before is None:
            return False
        return (self.before.crawl_priority, self.before.enabled) == (self.after.crawl_priority, self.after.enabled)

    @property
    def reads_otherwise(self) -> bool:
        """Whether the rule is on and has other selectors or options."""
        before = self.before or ParserRule(host_pattern=self.after.host_pattern)
        return self.after.enabled and (before.selectors, before.options) != (self.after.selectors, self.after.options)


def place_of_rule(rule: ParserRule) -> Place:
    """What names a stored rule."""
    return rule.host_pattern, rule.path_pattern, rule.target_type


def changes(
    current: Sequence[ParserRule], wanted: Sequence[WantedRule], *, disable_missing: bool = False
) -> list[Change]:
    """What has to change, in the order of `wanted`; empty when all is so already.

    With `disable_missing` stored rules that aren't wanted are switched off. None is ever deleted: what was read by them
    names them.
    """
    stored = {place_of_rule(rule): rule for rule in current}
    found = [_change(stored.get(rule.place), rule) for rule in wanted]
    if disable_missing:
        places = {rule.place for rule in wanted}
        found.extend(
            Change(before=rule, after=msgspec.structs.replace(rule, enabled=False))
            for place, rule in stored.items()
            if place not in places
        )
    return [change for change in found if change.before != change.after]


def after(current: Sequence[ParserRule], planned: Iterable[Change]) -> list[ParserRule]:
    """The stored rules as they will be, in saved order: new ones come last."""
    rules = {place_of_rule(rule): rule for rule in current}
    rules.update((place_of_rule(change.after), change.after) for change in planned)
    return list(rules.values())


def priorities(rules: Iterable[ParserRule]) -> list[PriorityRule]:
    """The priority rules among some rules: those that are on."""
    return [
        PriorityRule(
            host=rule.host_pattern,
            path=rule.path_pattern,
            priority=Priority(rule.crawl_priority),
            rule_id=rule.rule_id,
        )
        for rule in rules
        if rule.enabled
    ]


def _change(before: ParserRule | None, wanted: WantedRule) -> Change:
    rule = before or ParserRule(
        host_pattern=wanted.host, path_pattern=wanted.path, target_type=wanted.target_type, crawl_priority=2
    )
    given = {
        "crawl_priority": None if wanted.priority is None else int(wanted.priority),
        "enabled": wanted.enabled,
        "selectors": wanted.selectors,
        "options": wanted.options,
    }
    known = {name: value for name, value in given.items() if value is not None}
    return Change(before=before, after=msgspec.structs.replace(rule, **known))
