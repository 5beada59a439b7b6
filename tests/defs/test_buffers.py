"""What an operator is told about the buffers before Kafka."""

import dagster as dg
import pytest

from issuetracker_dagster.defs.assets import buffer_key
from issuetracker_dagster.defs.buffers import buffer_observations, judge_backlog, judge_drained, judge_dwell
from issuetracker_dagster.model.buffer import BufferState
from issuetracker_dagster.model.limits import Limits
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.buffering import DRAINER_SILENT_AFTER_MS, BufferHealth

NOW_MS = 1_750_000_000_000


def health(
    waiting: int = 0,
    *,
    draining: int = 0,
    age_ms: int | None = None,
    max_len: int = 100,
    is_on: bool = True,
    silent_ms: int | None = 0,
) -> BufferHealth:
    state = BufferState(waiting=waiting, draining=draining, oldest_ms=0 if age_ms is None else NOW_MS - age_ms)
    ages, full = Limits(3_600_000, 7_200_000), Limits(0.8, 0.95)
    return BufferHealth(Topic.CRAWL_LOW, state, max_len, is_on, silent_ms, NOW_MS, ages, full)


@pytest.mark.parametrize(
    ("waiting", "draining", "max_len", "judged"),
    [
        (80, 0, 100, None),
        (81, 0, 100, dg.AssetCheckSeverity.WARN),
        (70, 11, 100, dg.AssetCheckSeverity.WARN),
        (96, 0, 100, dg.AssetCheckSeverity.ERROR),
        (1_000_000, 0, 0, None),
    ],
)
def test_a_buffer_is_too_full_by_its_limits_and_never_without_a_length(
    waiting: int, draining: int, max_len: int, judged: dg.AssetCheckSeverity | None
) -> None:
    result = judge_backlog(health(waiting, draining=draining, max_len=max_len))
    assert (None if result.passed else result.severity) is judged
    assert f"{waiting + draining} jobs wait" in (result.description or "")
    assert "would be" not in (result.description or "")


@pytest.mark.parametrize(
    ("age_ms", "judged"),
    [
        (None, None),
        (3_600_000, None),
        (3_601_000, dg.AssetCheckSeverity.WARN),
        (7_201_000, dg.AssetCheckSeverity.ERROR),
    ],
)
def test_a_job_that_waits_longer_than_its_priority_may_is_told(
    age_ms: int | None, judged: dg.AssetCheckSeverity | None
) -> None:
    result = judge_dwell(health(1, age_ms=age_ms))
    assert (None if result.passed else result.severity) is judged
    assert result.passed is ("PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG" not in (result.description or ""))
    assert judge_backlog(health(1, age_ms=age_ms)).passed


@pytest.mark.parametrize("silent_ms", [None, DRAINER_SILENT_AFTER_MS + 1])
def test_buffering_without_a_drain_run_is_an_error_that_says_what_to_do(silent_ms: int | None) -> None:
    result = judge_drained(health(0, silent_ms=silent_ms))
    assert result.passed is False
    assert result.severity is dg.AssetCheckSeverity.ERROR
    assert "launching the job drain_backlog" in (result.description or "")


@pytest.mark.parametrize("silent_ms", [None, DRAINER_SILENT_AFTER_MS + 1])
def test_jobs_stranded_in_a_buffer_that_is_off_are_an_error_that_says_what_to_do(silent_ms: int | None) -> None:
    result = judge_drained(health(7, is_on=False, silent_ms=silent_ms))
    assert result.passed is False
    assert result.severity is dg.AssetCheckSeverity.ERROR
    said = result.description or ""
    assert "7 jobs are left" in said
    assert "Launching the job drain_backlog drains at once" in said


@pytest.mark.parametrize(
    "fine",
    [
        health(50, silent_ms=DRAINER_SILENT_AFTER_MS),
        health(50, is_on=False, silent_ms=1_000),
        health(0, is_on=False, silent_ms=None),
    ],
)
def test_a_buffer_that_is_drained_or_off_and_empty_passes(fine: BufferHealth) -> None:
    assert judge_drained(fine).passed is True


def test_the_figures_of_a_buffer_are_observed() -> None:
    (observation,) = buffer_observations([health(3, draining=2, age_ms=1_500)])
    assert observation.asset_key == buffer_key(Topic.CRAWL_LOW) == dg.AssetKey(["redis", "buffer_low"])
    assert {name: value.value for name, value in observation.metadata.items()} == {
        "waiting": 3,
        "draining": 2,
        "outbox": 0,
        "oldest_age_s": 1.5,
        "paused": False,
        "buffering": True,
    }
