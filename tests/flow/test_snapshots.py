"""Rules as every publisher sees them: never before they were read once, never half, never lost by a failed read."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.wiring.snapshots import Snapshot


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
