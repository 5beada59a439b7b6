"""Priority rules on their way from the table that people edit to the snapshot that publishers use.

Every row is judged by itself, so a bad one costs nobody else; the good ones become the next version as a whole.
"""

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from issuetracker_dagster.flow.rules import sift
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.rules import ParserRules, RuleSnapshot, RuleSnapshots

logger = logging.getLogger(__name__)

TICK_SLACK_MS = 30_000
"""Half the distance of two ticks: a look just short of the interval is due, or each would come a minute late."""


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of the database as they may be used; `refused` are rows that are no rules, each with the reason."""

    rules: tuple[PriorityRule, ...] = ()
    refused: tuple[str, ...] = ()
    truncated: bool = False

    @property
    def fingerprint(self) -> str:
        """Equal for equal sets in equal order."""
        return hashlib.sha256(msgspec.json.encode((self.rules, self.refused))).hexdigest()


class RefreshReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a refresh found. Rules are told apart by host and path; `changed` are those whose priority is another."""

    version: int
    is_new: bool
    by_band: Mapping[Priority, int]
    added: int = 0
    removed: int = 0
    changed: int = 0
    refused: tuple[str, ...] = ()
    truncated: bool = False

    @property
    def rules(self) -> int:
        return sum(self.by_band.values())


class PriorityRulesRefresher:
    """Makes snapshots of the priority rules. At most `limit` rows are used, in saved order."""

    def __init__(self, *, rules: ParserRules, snapshots: RuleSnapshots, clock: Clock, limit: int) -> None:
        self._rules = rules
        self._snapshots = snapshots
        self._clock = clock
        self._limit = limit

    def read(self) -> RuleSet:
        """The rules of the moment, each row judged by itself. Raises `Unavailable`."""
        rows = self._rules.priority_rules(self._limit + 1)
        found = judged(rows[: self._limit], truncated=len(rows) > self._limit)
        if found.truncated:
            said = "there are more than %d priority rules (PRIORITY_RULES_LOAD_LIMIT); those saved later aren't used"
            logger.warning(said, self._limit, extra=action("rules.refused"))
        return found

    def refresh(self) -> RefreshReport:
        """Save the rules of the database as the next version, unless they are those of the latest.

        Raises `Unavailable`; the latest snapshot then stays as it is.
        """
        before = self._snapshots.latest()
        found = self.read()
        for reason in found.refused:
            logger.warning("a priority rule is refused: %s", reason, extra=action("rules.refused"))
        version = self._snapshots.save(found.fingerprint, found.rules, self._clock.now_ms(), found.refused)
        is_new = before is None or before.version != version
        report = reported(version, found, () if before is None else before.rules, is_new=is_new)
        if is_new:
            logger.info("priority rules are at version %d", version, extra=action("rules.refreshed", version=version))
        return report

    def wait(self, interval_ms: int) -> str | None:
        """Why no refresh is needed now; None when one is.

        The rules are looked at when the last look was `interval_ms` ago; unchanged ones count as checked from then on.
        Raises `Unavailable`.
        """
        latest = self._snapshots.latest()
        if latest is None:
            return None
        age_ms = self._clock.now_ms() - latest.checked_ms
        if age_ms < interval_ms - TICK_SLACK_MS:
            age, interval = about_duration(age_ms), about_duration(interval_ms)
            return f"version {latest.version} was checked {age} ago; checked every {interval}"
        if self.read().fingerprint != latest.fingerprint:
            return None
        self._snapshots.checked(latest.version, self._clock.now_ms())
        return f"unchanged, version {latest.version}, {len(latest.rules)} rules{refusals(latest)}"


def refusals(snapshot: RuleSnapshot) -> str:
    """What a sentence about a snapshot adds when rows were refused."""
    return f"; {len(snapshot.refused)} refused: {'; '.join(snapshot.refused[:3])}" if snapshot.refused else ""


def judged(rows: Iterable[PriorityRule], *, truncated: bool = False) -> RuleSet:
    """The rows that are rules, and why the others aren't."""
    rules: list[PriorityRule] = []
    refused: list[str] = []
    for row in rows:
        reason = _reason(row)
        if reason is None:
            rules.append(row)
        else:
            refused.append(f"rule {row.rule_id}: {reason}")
    return RuleSet(rules=tuple(rules), refused=tuple(refused), truncated=truncated)


def _reason(row: PriorityRule) -> str | None:
    if row.priority not in set(Priority):
        return f"crawl_priority {row.priority} is none of 1 (high), 2 (normal), 3 (low)"
    _, refused = sift([(row.host, row.path, row)])
    return next(iter(refused), None)


def reported(version: int, found: RuleSet, before: Sequence[PriorityRule], *, is_new: bool) -> RefreshReport:
    """The report of a refresh that found one set where there was another."""
    old, new = _by_place(before), _by_place(found.rules)
    bands = Counter(rule.priority for rule in found.rules)
    return RefreshReport(
        version=version,
        is_new=is_new,
        by_band={priority: bands[priority] for priority in Priority},
        added=len(new.keys() - old.keys()),
        removed=len(old.keys() - new.keys()),
        changed=sum(old[place] != new[place] for place in old.keys() & new.keys()),
        refused=found.refused,
        truncated=found.truncated,
    )


def _by_place(rules: Iterable[PriorityRule]) -> Mapping[tuple[str, str], list[Priority]]:
    # A host and path may have a rule for each type of page.
    places: dict[tuple[str, str], list[Priority]] = defaultdict(list)
    for rule in rules:
        places[rule.host, rule.path].append(rule.priority)
    return places
