"""Refreshing the priority rules: whole, versioned, each bad row refused alone, nothing lost by a failure."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.rule_snapshots import MemoryRuleSnapshots
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.refresh import TICK_SLACK_MS, PriorityRulesRefresher, RuleSet
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule
from issuetracker_dagster.ports.rules import ParserRules

INTERVAL_MS = 300_000


def rule(path: str = "", priority: Any = Priority.HIGH, rule_id: int = 1, host: str = "a.com") -> PriorityRule:
    return PriorityRule(host=host, path=path, priority=priority, rule_id=rule_id)


class World:
    """A table that people edit, and its snapshots."""

    def __init__(self, *rows: PriorityRule, limit: int = 100) -> None:
        self.rows: list[PriorityRule] = list(rows)
        self.is_out = False
        self.reads = 0
        self.snapshots = MemoryRuleSnapshots()
        self.clock = FakeClock()
        rules: ParserRules = self  # type: ignore[assignment]
        self.refresher = PriorityRulesRefresher(rules=rules, snapshots=self.snapshots, clock=self.clock, limit=limit)

    def priority_rules(self, limit: int) -> Sequence[PriorityRule]:
        self.reads += 1
        if self.is_out:
            raise Unavailable("the database is out (DATABASE_URL)")
        return self.rows[:limit]

    def paths(self) -> list[str]:
        latest = self.snapshots.latest()
        assert latest is not None
        return [found.path for found in latest.rules]


def test_the_first_refresh_makes_version_1_even_of_an_empty_table() -> None:
    world = World()
    report = world.refresher.refresh()
    assert (report.version, report.is_new, report.rules) == (1, True, 0)
    assert world.paths() == []


def test_an_edited_table_becomes_the_next_version_as_a_whole_and_says_what_moved() -> None:
    world = World(rule("/gone"), rule("/moves", Priority.LOW, 2), rule("/stays", Priority.NORMAL, 3))
    world.refresher.refresh()
    world.rows = [rule("/moves", Priority.HIGH, 2), rule("/stays", Priority.NORMAL, 9), rule("/new", Priority.LOW, 4)]
    report = world.refresher.refresh()
    assert (report.version, report.added, report.removed, report.changed) == (2, 1, 1, 1)
    assert dict(report.by_band) == {Priority.HIGH: 1, Priority.NORMAL: 1, Priority.LOW: 1}
    assert world.paths() == ["/moves", "/stays", "/new"]


def test_the_same_rules_make_no_version() -> None:
    world = World(rule("/a"))
    world.refresher.refresh()
    world.clock.advance(5_000)
    report = world.refresher.refresh()
    assert (report.version, report.is_new, report.changed) == (1, False, 0)
    latest = world.snapshots.latest()
    assert latest is not None
    assert latest.checked_ms == world.clock.now_ms()


def test_rules_of_a_host_in_another_order_are_other_rules() -> None:
    first, second = rule("/aa", Priority.HIGH, 1), rule("/bb", Priority.LOW, 2)
    assert RuleSet(rules=(first, second)).fingerprint != RuleSet(rules=(second, first)).fingerprint


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (rule("(", rule_id=5), "isn't RE2"),
        (rule(host="News.a.com", rule_id=5), "lower case"),
        (rule(host="http://a.com/", rule_id=5), "leave out scheme"),
        (rule(priority=9, rule_id=5), "crawl_priority 9 is none of 1"),
        (rule("x" * 501, rule_id=5), "at most 500"),
    ],
)
def test_a_bad_row_is_refused_with_its_reason_and_costs_no_other(
    bad: PriorityRule, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(rule("/a", rule_id=1), bad, rule("/b", rule_id=6))
    with caplog.at_level(logging.WARNING):
        report = world.refresher.refresh()
    assert world.paths() == ["/a", "/b"]
    (refused,) = report.refused
    assert refused.startswith("rule 5: ")
    assert reason in refused
    assert refused in caplog.text
    latest = world.snapshots.latest()
    assert latest is not None
    assert latest.refused == report.refused


def test_rows_above_the_limit_are_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    world = World(rule("/a"), rule("/b"), rule("/c"), limit=2)
    with caplog.at_level(logging.WARNING):
        report = world.refresher.refresh()
    assert report.truncated
    assert world.paths() == ["/a", "/b"]
    assert "PRIORITY_RULES_LOAD_LIMIT" in caplog.text
    assert not World(rule("/a"), rule("/b"), limit=2).refresher.refresh().truncated


def test_a_failed_load_keeps_the_last_snapshot_and_fails() -> None:
    world = World(rule("/a"))
    world.refresher.refresh()
    world.is_out = True
    with pytest.raises(Unavailable):
        world.refresher.refresh()
    assert world.paths() == ["/a"]
    assert world.snapshots.latest_version() == 1


def test_a_refresh_is_due_at_once_then_after_each_interval_and_only_for_other_rules() -> None:
    world = World(rule("/a"))
    assert world.refresher.wait(INTERVAL_MS) is None
    world.refresher.refresh()
    reads = world.reads
    world.rows.append(rule("/b", rule_id=2))
    assert "was checked 0s ago" in (world.refresher.wait(INTERVAL_MS) or "")
    assert world.reads == reads
    world.clock.advance(INTERVAL_MS - TICK_SLACK_MS)
    assert world.refresher.wait(INTERVAL_MS) is None
    world.refresher.refresh()
    world.clock.advance(INTERVAL_MS)
    assert world.refresher.wait(INTERVAL_MS) == "unchanged, version 2, 2 rules"
    assert "was checked 0s ago" in (world.refresher.wait(INTERVAL_MS) or "")


def test_a_look_at_unchanged_rules_tells_what_is_refused() -> None:
    world = World(rule("(", rule_id=5))
    world.refresher.refresh()
    world.clock.advance(INTERVAL_MS)
    assert "1 refused: rule 5: " in (world.refresher.wait(INTERVAL_MS) or "")


def test_a_fingerprint_is_that_of_another_process() -> None:
    # Publishers, CLI and schedule are processes of their own: nothing seeded by a process may be in it.
    expected = hashlib.sha256(b'[[{"host":"a.com","path":"/a","priority":1,"rule_id":1}],[]]').hexdigest()
    assert RuleSet(rules=(rule("/a"),)).fingerprint == expected
