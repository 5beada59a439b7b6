"""What publishers go by, read from the database now and then and swapped whole; a failed read keeps the last one."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.refresh import PriorityRulesRefresher, RefreshReport
from issuetracker_dagster.flow.resolve import PriorityTable
from issuetracker_dagster.flow.rules import HostTable, sift
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import PARAMETER_OPTIONS, ParameterRule, parameter_rule
from issuetracker_dagster.ports.rules import ParserRules, RuleSnapshots

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Snapshot(Generic[T]):
    """Calling it gives the value of the moment, at most `every_s` old when its source answers. Thread-safe.

    The first callers wait for the first value. While the source can't be reached and never could, calling raises
    `Unavailable`: `initial` stands in only for a value that is there and can't be used.
    """

    def __init__(self, load: Callable[[], T], initial: T, every_s: float) -> None:
        self._load = load
        self._value = initial
        self._every_s = every_s
        self._loaded_at = float("-inf")
        self._has_value = False
        self._lock = threading.Lock()

    def __call__(self) -> T:
        if self._is_old() and self._lock.acquire(blocking=not self._has_value):
            try:
                if self._is_old():
                    self._look()
            finally:
                self._lock.release()
        return self._value

    def _is_old(self) -> bool:
        return not self._has_value or time.monotonic() - self._loaded_at > self._every_s

    def _look(self) -> None:
        self._loaded_at = time.monotonic()
        try:
            self._value = self._load()
        except (Unavailable, ValueError) as error:
            if isinstance(error, Unavailable) and not self._has_value:
                raise
            logger.warning("rules stay as they were: %s", error, extra=action("rules.unread"))
        self._has_value = True


class LatestPriorities:
    """Calling it gives the table of the newest rule snapshot, an empty one when there is none. For a `Snapshot`: one
    caller at a time."""

    def __init__(self, snapshots: RuleSnapshots) -> None:
        self._snapshots = snapshots
        self._version = 0
        self._table: PriorityTable = HostTable(())

    def __call__(self) -> PriorityTable:
        # Building a table of thousands of rules takes a second; asking for the version, a millisecond.
        if self._snapshots.latest_version() != self._version:
            latest = self._snapshots.latest()
            # Made by another version of the program, it may hold a rule that this one doesn't take.
            good, refused = sift((rule.host, rule.path, rule) for rule in (latest.rules if latest else ()))
            for reason in refused:
                logger.warning("a rule of the snapshot is refused: %s", reason, extra=action("rules.refused"))
            self._table = HostTable(good)
            self._version = latest.version if latest else 0
        return self._table


class LatestBlacklist:
    """Calling it gives the blacklist as it is in its table; an entry that is none is told once and left out."""

    def __init__(self, rules: ParserRules) -> None:
        self._rules = rules
        self._entries: Sequence[BlacklistEntry] = ()
        self._table: HostTable[BlacklistMode] = HostTable(())
        self._told: set[str] = set()

    def __call__(self) -> HostTable[BlacklistMode]:
        entries = self._rules.blacklist()
        if entries != self._entries:
            good, refused = sift((entry.host_pattern, entry.path_pattern, entry.mode) for entry in entries)
            for reason in refused:
                if reason not in self._told:
                    logger.warning("a blacklist entry is refused: %s", reason, extra=action("rules.refused"))
            self._table, self._entries, self._told = HostTable(good), entries, set(refused)
        return self._table


class LatestParameters:
    """Calling it gives what the query parameters of each host mean, as the options of parser rules say."""

    def __init__(self, rules: ParserRules) -> None:
        self._rules = rules

    def __call__(self) -> HostTable[ParameterRule]:
        said = (
            (host, path, parameters)
            for host, path, options in self._rules.with_options(PARAMETER_OPTIONS)
            if (parameters := parameter_rule(options))
        )
        good, _ = sift(said)  # what is refused is told when the rules are refreshed
        return HostTable(good)


def refresh_rules(stores: SqlStores, limit: int) -> RefreshReport:
    """Make a snapshot of the rules at once, as a start does: publishers mustn't wait for the schedule's first tick."""
    refresher = PriorityRulesRefresher(
        rules=stores.parser_rules, snapshots=stores.rule_snapshots, clock=SystemClock(), limit=limit
    )
    return refresher.refresh()
