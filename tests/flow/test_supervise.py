"""Which worker runs count as dead and which slots are filled: decisions over runs and signs of life."""

from collections.abc import Sequence

import pytest

from issuetracker_dagster.flow.supervise import (
    FIRST_SIGN_MS,
    START_LIMIT_MS,
    Plan,
    WorkerRun,
    first_sign_limit_ms,
    plan_slots,
)
from issuetracker_dagster.ports.locks import Heartbeat

NOW_MS = 1_750_000_000_000
DEAD_AFTER_MS = 15_000
HOUR_MS = 3_600_000


def run(run_id: str, slot: int = 0, *, age_ms: int = HOUR_MS, started: bool = True) -> WorkerRun:
    created_ms = NOW_MS - age_ms
    return WorkerRun(run_id, "parser", slot, created_ms, created_ms if started else None)


def beat(run_id: str, slot: int = 0, *, age_ms: int = 0, store_ahead_ms: int = 0) -> Heartbeat:
    return Heartbeat("parser", slot, run_id, NOW_MS + store_ahead_ms - age_ms)


def plan(
    runs: Sequence[WorkerRun], beats: Sequence[Heartbeat] = (), *, slots: int = 1, store_ahead_ms: int = 0
) -> Plan:
    return plan_slots(
        "parser",
        runs,
        beats,
        slots=slots,
        now_ms=NOW_MS,
        store_now_ms=NOW_MS + store_ahead_ms,
        dead_after_ms=DEAD_AFTER_MS,
    )


def failed(found: Plan) -> list[str]:
    return [run_id for run_id, _ in found.fail]


def test_every_slot_of_a_stage_without_runs_is_filled() -> None:
    assert plan([], slots=3) == Plan((), (0, 1, 2))


def test_living_runs_are_left_alone() -> None:
    found = plan([run("a"), run("b", 1)], [beat("a"), beat("b", 1, age_ms=DEAD_AFTER_MS)], slots=2)
    assert found == Plan((), (), ("a", "b"))


def test_a_run_whose_heartbeat_is_too_old_is_failed_with_the_reason_and_replaced() -> None:
    found = plan([run("a")], [beat("a", age_ms=DEAD_AFTER_MS + 1_000)])
    assert found == Plan((("a", "heartbeat lost 16 s ago"),), (0,))


def test_heartbeats_are_judged_by_the_time_of_their_own_store() -> None:
    ahead_ms = 7 * HOUR_MS
    assert not plan([run("a")], [beat("a", store_ahead_ms=ahead_ms)], store_ahead_ms=ahead_ms).fail
    assert plan([run("a")], [beat("a")], store_ahead_ms=ahead_ms).fail


@pytest.mark.parametrize(("age_ms", "is_dead"), [(FIRST_SIGN_MS, False), (FIRST_SIGN_MS + 1, True)])
def test_a_started_run_has_a_minute_for_its_first_heartbeat(age_ms: int, is_dead: bool) -> None:
    found = plan([run("a", age_ms=age_ms)])
    assert failed(found) == (["a"] if is_dead else [])
    assert found.launch == ((0,) if is_dead else ())


def test_a_run_without_any_heartbeat_is_failed_with_the_reason() -> None:
    assert plan([run("a", age_ms=61_000)]).fail == (("a", "no sign of life 61 s after its start"),)


def test_a_young_run_that_has_shown_signs_of_life_is_held_to_them() -> None:
    assert failed(plan([run("a", age_ms=20_000)], [beat("a", age_ms=DEAD_AFTER_MS + 1)])) == ["a"]


@pytest.mark.parametrize(("dead_after_ms", "limit_ms"), [(1_000, FIRST_SIGN_MS), (15_000, 60_000), (60_000, 240_000)])
def test_the_first_heartbeat_may_take_four_silences_and_never_less_than_a_minute(
    dead_after_ms: int, limit_ms: int
) -> None:
    assert first_sign_limit_ms(dead_after_ms) == limit_ms


@pytest.mark.parametrize(("age_ms", "is_dead"), [(START_LIMIT_MS, False), (START_LIMIT_MS + 1, True)])
def test_a_run_that_has_not_begun_holds_its_slot_for_three_minutes(age_ms: int, is_dead: bool) -> None:
    found = plan([run("a", age_ms=age_ms, started=False)])
    assert failed(found) == (["a"] if is_dead else [])
    assert found.launch == ((0,) if is_dead else ())


def test_a_heartbeat_of_another_run_is_no_sign_of_life_of_this_one() -> None:
    assert failed(plan([run("a")], [beat("b")])) == ["a"]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_living_runs_on_a_slot_the_older_one_stays(order: int) -> None:
    runs = [run("older", age_ms=HOUR_MS), run("younger", age_ms=10_000)][::order]
    found = plan(runs, [beat("older"), beat("younger")])
    assert found == Plan((("younger", "slot 0 of parser is held by run older"),), (), ("older",))


def test_a_dead_older_run_leaves_its_slot_to_the_living_younger_one() -> None:
    found = plan([run("older"), run("younger", age_ms=1_000)], [beat("older", age_ms=HOUR_MS), beat("younger")])
    assert failed(found) == ["older"]
    assert found.healthy == ("younger",)
    assert found.launch == ()


def test_a_living_run_on_a_slot_that_was_configured_away_is_neither_failed_nor_replaced() -> None:
    found = plan([run("a"), run("extra", 5)], [beat("a"), beat("extra", 5)], slots=1)
    assert found == Plan((), (), ("a",))


def test_a_dead_run_on_a_slot_that_was_configured_away_is_failed_and_not_replaced() -> None:
    found = plan([run("a"), run("extra", 5)], [beat("a"), beat("extra", 5, age_ms=HOUR_MS)], slots=1)
    assert failed(found) == ["extra"]
    assert found.launch == ()
