"""Which events the health probe writes: news at once or every five minutes, what stays every hour, none of it lost."""

import dagster as dg
import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.defs.assets import queue_key, topic_key
from issuetracker_dagster.defs.news import AGAIN_MS, EVERY_MS, PATIENCE_MS, AssetEvent, News
from issuetracker_dagster.defs.work_checks import INTAKE, WORKERS
from issuetracker_dagster.model.stage import Stage, Topic

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


def observed(lag: int) -> dg.AssetObservation:
    return dg.AssetObservation(topic_key(Topic.FETCHED), metadata={"lag": lag})


def judged(passed: bool, held: int, severity: dg.AssetCheckSeverity = ERROR) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=queue_key(Stage.PARSER),
        check_name="depth",
        passed=passed,
        severity=severity,
        metadata={"held": held},
    )


def test_only_what_changed_is_told_and_that_at_most_every_five_minutes() -> None:
    news, clock = News(), FakeClock()
    assert len(news.worth_telling([observed(1), judged(True, 1)], clock)) == 2
    assert news.worth_telling([observed(2), judged(True, 2)], clock) == []
    clock.advance(EVERY_MS)
    assert news.worth_telling([observed(1), judged(True, 2)], clock) == [judged(True, 2)]
    assert news.worth_telling([observed(3)], clock) == [observed(3)]


def test_a_check_that_stays_as_it_is_is_told_every_hour_and_a_figure_is_not() -> None:
    news, clock = News(), FakeClock()
    unchanged: list[AssetEvent] = [observed(1), judged(True, 1)]
    news.worth_telling(unchanged, clock)
    clock.advance(AGAIN_MS - 1)
    assert news.worth_telling(unchanged, clock) == []
    clock.advance(1)
    assert news.worth_telling(unchanged, clock) == [judged(True, 1)]
    assert news.worth_telling(unchanged, clock) == []


def test_a_check_that_turns_is_told_at_once() -> None:
    news, clock = News(), FakeClock()
    for passed in (True, False, True):
        assert news.worth_telling([judged(passed, 1)], clock) == [judged(passed, 1)]
        assert news.worth_telling([judged(passed, 2)], clock) == []


def test_what_was_chosen_and_never_stored_is_news_still() -> None:
    news, clock = News(), FakeClock()
    news.worth_telling([judged(True, 1)], clock)
    assert news.worth_telling([judged(False, 1), observed(1)], clock) == [judged(False, 1), observed(1)]
    news.forget_last()
    assert news.worth_telling([judged(False, 1), observed(1)], clock) == [judged(False, 1), observed(1)]
    assert news.worth_telling([judged(False, 1), observed(1)], clock) == []
    news.forget_last()  # nothing was chosen last
    assert news.worth_telling([judged(False, 1)], clock) == []


def worked(passed: bool, name: str = WORKERS, severity: dg.AssetCheckSeverity = ERROR) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=topic_key(Topic.FETCHED),
        check_name=name,
        passed=passed,
        severity=severity,
        metadata={"alive": int(passed)},
    )


@pytest.mark.parametrize("name", [WORKERS, INTAKE])
def test_nobody_at_work_is_told_only_when_it_lasts(name: str) -> None:
    news, clock = News(), FakeClock()
    for passed in (False, True):
        news.worth_telling([worked(passed, name)], clock)
    clock.advance(PATIENCE_MS)
    assert news.worth_telling([worked(False, name)], clock) == []
    clock.advance(PATIENCE_MS - 1)
    assert news.worth_telling([worked(False, name)], clock) == []
    clock.advance(1)
    assert news.worth_telling([worked(False, name)], clock) == [worked(False, name)]
    assert news.worth_telling([worked(True, name)], clock) == [worked(True, name)]


OFF, DEAD = worked(False, severity=WARN), worked(False, severity=ERROR)


@pytest.mark.parametrize("before", [[OFF], [DEAD, OFF]])
def test_a_stage_that_is_switched_on_again_has_a_minute_until_its_workers_are_missed(
    before: list[dg.AssetCheckEvaluation],
) -> None:
    news, clock = News(), FakeClock()
    for state in before:
        news.worth_telling([state], clock)
        clock.advance(PATIENCE_MS)
        assert news.worth_telling([state], clock) == [state]
    clock.advance(10 * PATIENCE_MS)
    assert news.worth_telling([DEAD], clock) == []
    clock.advance(PATIENCE_MS)
    assert news.worth_telling([DEAD], clock) == [DEAD]


def test_a_stage_whose_runs_come_and_go_is_told_all_the_same() -> None:
    news, clock = News(), FakeClock()
    told: list[AssetEvent] = []
    for state in (OFF, DEAD, OFF, DEAD, OFF):
        told += news.worth_telling([state], clock)
        clock.advance(PATIENCE_MS / 2)
    assert told == [OFF]


def test_a_warning_that_becomes_an_error_is_told_at_once() -> None:
    news, clock = News(), FakeClock()
    warning, error = judged(False, 1, WARN), judged(False, 2, ERROR)
    assert news.worth_telling([warning], clock) == [warning]
    assert news.worth_telling([error], clock) == [error]
    assert news.worth_telling([error], clock) == []
