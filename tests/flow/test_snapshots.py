"""Rules as every publisher sees them: never before they were read once, never half, never lost by a failed read."""

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from issuetracker_dagster.adapters.memory.rule_snapshots import MemoryRuleSnapshots
from issuetracker_dagster.adapters.memory.store_rules import MemoryParserRules
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.resolve import PriorityTable
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, ParserRule, PriorityRule
from issuetracker_dagster.model.urls import ParameterRule
from issuetracker_dagster.ports.rules import RuleSnapshot
from issuetracker_dagster.wiring.snapshots import LatestBlacklist, LatestParameters, LatestPriorities, Snapshot


def test_nobody_sees_the_rules_before_they_were_read_once() -> None:
    reading, go_on = threading.Event(), threading.Event()

    def load() -> str:
        reading.set()
        go_on.wait(10)
        return "rules"

    rules = Snapshot(load, "none", every_s=60)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(rules)
        assert reading.wait(5)
        second = threads.submit(rules)
        go_on.set()
        assert (first.result(5), second.result(5)) == ("rules", "rules")


def test_rules_that_could_never_be_read_are_not_taken_for_none() -> None:
    def load() -> str:
        if next(outages, False):
            raise Unavailable("the database is out")
        return "rules"

    outages = iter([True])
    rules = Snapshot(load, "none", every_s=60)
    with pytest.raises(Unavailable):
        rules()
    assert rules() == "rules"


def test_a_failed_read_keeps_the_rules_of_before() -> None:
    answers = iter(["rules"])

    def load() -> str:
        answer = next(answers, None)
        if answer is None:
            raise Unavailable("the database is out")
        return answer

    rules = Snapshot(load, "none", every_s=0)
    assert [rules(), rules(), rules()] == ["rules"] * 3


def test_rules_are_read_by_one_while_others_go_on_with_the_last_ones() -> None:
    reading, go_on = threading.Event(), threading.Event()
    answers = iter(["old"])

    def load() -> str:
        answer = next(answers, None)
        if answer is None:
            reading.set()
            go_on.wait(10)
        return answer or "new"

    rules = Snapshot(load, "none", every_s=0)
    assert rules() == "old"
    with ThreadPoolExecutor(1) as threads:
        newer = threads.submit(rules)
        assert reading.wait(5)
        assert rules() == "old"
        go_on.set()
        assert newer.result(5) == "new"


class Counted(MemoryRuleSnapshots):
    """Snapshots that tell how often they were read whole."""

    reads = 0

    def latest(self) -> RuleSnapshot | None:
        self.reads += 1
        return super().latest()


def high(path: str) -> list[PriorityRule]:
    return [PriorityRule(host="a.com", path=path, priority=Priority.HIGH, rule_id=7)]


def test_publishers_swap_the_whole_table_for_a_newer_version_and_read_it_once() -> None:
    snapshots = Counted()
    rules = Snapshot(LatestPriorities(snapshots), PriorityTable(()), every_s=0)
    assert len(rules()) == 0
    snapshots.save("f1", high("^/a"), 1)
    assert [bool(rules().find(f"http://a.com/{path}")) for path in "ab"] == [True, False]
    snapshots.save("f2", high("^/b"), 2)
    assert [bool(rules().find(f"http://a.com/{path}")) for path in "ab"] == [False, True]
    assert snapshots.reads == 2
    snapshots.save("f3", [], 3)
    assert len(rules()) == 0


def test_a_rule_that_an_older_version_took_costs_no_other_of_its_snapshot(caplog: pytest.LogCaptureFixture) -> None:
    snapshots = MemoryRuleSnapshots()
    unfit = PriorityRule(host="0x7f.1", priority=Priority.LOW, rule_id=3)
    snapshots.save("f1", [unfit, *high("^/a")], 1)
    assert len(Snapshot(LatestPriorities(snapshots), PriorityTable(()), every_s=0)()) == 1
    assert "write it as it is asked for, '127.0.0.1'" in caplog.text


def test_a_database_that_goes_out_keeps_the_rules_of_before() -> None:
    class Failing(MemoryRuleSnapshots):
        is_out = False

        def latest_version(self) -> int:
            if self.is_out:
                raise Unavailable("the database is out")
            return super().latest_version()

    snapshots = Failing()
    snapshots.save("f1", high("^/a"), 1)
    rules = Snapshot(LatestPriorities(snapshots), PriorityTable(()), every_s=0)
    before = rules()
    snapshots.is_out = True
    assert rules() is before
    assert len(before) == 1


def test_parameters_of_a_host_are_as_its_rules_say_now_and_an_unfit_rule_is_left_out() -> None:
    class Edited(MemoryParserRules):
        def with_options(self, names: Sequence[str]) -> Sequence[tuple[str, str, Mapping[str, str]]]:
            return [("Bad Host", "", {"keep_params": "x"}), *super().with_options(names)]

    rules = Edited()
    rules.save(ParserRule(host_pattern="a.com", options={"keep_params": " \n", "kind": "news"}))
    parameters = Snapshot(LatestParameters(rules), HostTable[ParameterRule](()), every_s=0)
    assert len(parameters()) == 0
    rules.save(ParserRule(host_pattern="a.com", path_pattern="^/view", options={"any_param_order": "true"}))
    assert parameters().find("http://a.com/view?b=1") == ParameterRule(any_order=True)
    assert parameters().find("http://a.com/other?b=1") is None
    rules.set_enabled(rules.all()[1].rule_id, enabled=False)
    assert len(parameters()) == 0


def test_one_bad_blacklist_entry_is_left_out_alone_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    class Edited(MemoryParserRules):
        def blacklist(self) -> Sequence[BlacklistEntry]:
            return [*super().blacklist(), BlacklistEntry(host_pattern="Bad Host"), *self.more]

        more: Sequence[BlacklistEntry] = ()

    rules = Edited()
    rules.add_to_blacklist(BlacklistEntry(host_pattern="ads.com"))
    blacklist = Snapshot(LatestBlacklist(rules), HostTable[BlacklistMode](()), every_s=0)
    with caplog.at_level(logging.WARNING):
        assert blacklist().find("http://ads.com/1") is BlacklistMode.DROP
        rules.more = [BlacklistEntry(host_pattern="more.com", mode=BlacklistMode.EXTRACT_LINKS_ONLY)]
        assert blacklist().find("http://more.com/1") is BlacklistMode.EXTRACT_LINKS_ONLY
    assert [record for record in caplog.records if "Bad Host" in record.getMessage()] == caplog.records[:1]
