"""How the checks of a stage queue judge: room, age by priority, leases, and whether anybody relays."""

import dagster as dg
import pytest

from issuetracker_dagster.defs.checks import (
    QueueState,
    judge_age,
    judge_depth,
    judge_leases,
    judge_retries,
    near_ms,
)
from issuetracker_dagster.model.limits import Limits, LimitsByBand
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import BandDepth, LeaseTimes, QueueDepth
from issuetracker_dagster.model.stage import Stage

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
NONE_LATE = LeaseTimes()


def state(depth: QueueDepth, *, leases: LeaseTimes = NONE_LATE, relay_is_fresh: bool = True) -> QueueState:
    """A queue with room for a hundred; its low entries have no limit of age of their own."""
    return QueueState(
        stage=Stage.PARSER,
        depth=depth,
        leases=leases,
        max_size=100,
        entry_ttl_ms=86_400_000,
        lease_ms=60_000,
        relay_is_fresh=relay_is_fresh,
        depth_limits=LimitsByBand({"high": 0.1, "normal": 0.5, "low": 0.8}, {"high": 0.5, "normal": 0.8, "low": 0.95}),
        age_limits=LimitsByBand(
            {"high": 300_000, "normal": 3_600_000, "low": 0}, {"high": 1_800_000, "normal": 21_600_000, "low": 0}
        ),
        late_limits=Limits(120_000, 600_000),
    )


@pytest.mark.parametrize(
    ("ready", "leased", "delayed", "passed"),
    [(80, 0, 0, True), (81, 0, 0, False), (60, 10, 10, True), (60, 11, 10, False)],
)
def test_a_queue_is_too_full_above_four_fifths_of_its_size(ready: int, leased: int, delayed: int, passed: bool) -> None:
    depth = QueueDepth({Priority.LOW: BandDepth(ready)}, leased=leased, delayed=delayed, outbox=1_000)
    result = judge_depth(state(depth))
    assert result.passed is passed
    assert result.severity is dg.AssetCheckSeverity.WARN
    assert str(ready + leased + delayed) in (result.description or "")


@pytest.mark.parametrize(
    ("ready", "judged"),
    [
        ((10, 40, 30), None),
        ((11, 0, 0), WARN),
        ((51, 0, 0), ERROR),
        ((10, 41, 0), WARN),
        ((10, 71, 0), ERROR),
        ((0, 0, 95), WARN),
        ((0, 0, 96), ERROR),
        ((10, 40, 46), ERROR),
    ],
)
def test_a_priority_and_better_ones_may_take_their_share_of_the_queue(
    ready: tuple[int, int, int], judged: dg.AssetCheckSeverity | None
) -> None:
    bands = {priority: BandDepth(count) for priority, count in zip(Priority, ready, strict=True)}
    result = judge_depth(state(QueueDepth(bands)))
    assert (None if result.passed else result.severity) is judged
    assert result.passed is ("issuetracker queue peek parser" not in (result.description or ""))


@pytest.mark.parametrize(
    ("priority", "oldest_s", "judged"),
    [
        (Priority.HIGH, 300, None),
        (Priority.HIGH, 301, WARN),
        (Priority.HIGH, 1_801, ERROR),
        (Priority.NORMAL, 3_600, None),
        (Priority.NORMAL, 3_601, WARN),
        (Priority.NORMAL, 21_601, ERROR),
        (Priority.LOW, 43_200, None),
        (Priority.LOW, 43_201, WARN),
        (Priority.LOW, 77_761, ERROR),
    ],
)
def test_an_entry_is_too_old_by_the_limit_of_its_priority_and_at_most_by_its_time_to_live(
    priority: Priority, oldest_s: int, judged: dg.AssetCheckSeverity | None
) -> None:
    depth = QueueDepth({Priority.HIGH: BandDepth(1), priority: BandDepth(1, oldest_s * 1000)})
    result = judge_age(state(depth))
    assert (None if result.passed else result.severity) is judged
    assert result.metadata[f"oldest_{priority.label}_s"].value == oldest_s
    assert result.passed is (f"oldest {priority.label} entry" not in (result.description or ""))


@pytest.mark.parametrize(
    ("leases", "judged", "told"),
    [
        (LeaseTimes(), None, "0 entries are held"),
        (LeaseTimes(over=3, oldest_over_ms=5_000), None, "3 are over"),
        (LeaseTimes(near=2), WARN, "2 of them without a sign of life for two thirds of 1m"),
        (LeaseTimes(over=1, oldest_over_ms=120_001), WARN, "retry_relay brings them back"),
        (LeaseTimes(near=1, over=1, oldest_over_ms=600_001), ERROR, "retry_relay brings them back"),
    ],
)
def test_leases_without_a_sign_of_life_warn_and_what_nobody_brings_back_is_an_error(
    leases: LeaseTimes, judged: dg.AssetCheckSeverity | None, told: str
) -> None:
    result = judge_leases(state(QueueDepth({}), leases=leases))
    assert (None if result.passed else result.severity) is judged
    assert told in (result.description or "")


def test_a_worker_that_lives_is_never_near_its_deadline() -> None:
    """It extends its leases every third of their time, so two thirds of it are left at the least."""
    lease_ms = 60_000
    assert near_ms(lease_ms) < lease_ms - lease_ms / 3


@pytest.mark.parametrize(
    ("late", "helps"),
    [
        ({Priority.HIGH: 1_900}, "PARSER_SLOTS"),
        ({Priority.NORMAL: 3_700}, "PARSER_WORKER_COUNT"),
        ({Priority.LOW: 43_300}, "PARSER_ZSET_MAX_WAIT"),
        ({Priority.NORMAL: 3_700, Priority.LOW: 43_300}, "PARSER_ZSET_MAX_WAIT"),
        ({Priority.HIGH: 1_900, Priority.LOW: 43_300}, "PARSER_SLOTS"),
    ],
)
def test_a_share_of_the_claims_is_advised_when_low_is_late_and_high_is_not(
    late: dict[Priority, int], helps: str
) -> None:
    said = judge_age(state(QueueDepth({band: BandDepth(1, age_s * 1000) for band, age_s in late.items()}))).description
    assert helps in (said or "")
    assert ("ZSET_MAX_WAIT" in (said or "")) is (helps == "PARSER_ZSET_MAX_WAIT")


def test_what_is_leased_or_delayed_comes_on_top_of_the_room_and_is_told_so() -> None:
    bands = {Priority.LOW: BandDepth(90)}
    said = judge_depth(state(QueueDepth(bands, leased=20, delayed=30))).description or ""
    assert "140 entries held, 90 of them ready, of which 100 find room" in said


def test_ages_are_told_as_people_write_them() -> None:
    told = judge_age(state(QueueDepth({Priority.LOW: BandDepth(1, 5_405_000)}))).description
    assert told == "the oldest entry has waited 1h 30m; entries expire after 1d"


def test_a_silent_relay_turns_the_check_of_retries_red() -> None:
    assert judge_retries(state(QueueDepth({}))).passed is True
    red = judge_retries(state(QueueDepth({}), relay_is_fresh=False))
    assert red.passed is False
    assert red.severity is dg.AssetCheckSeverity.ERROR
    assert "retry_relay" in (red.description or "")
