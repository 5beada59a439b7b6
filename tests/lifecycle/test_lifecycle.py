"""What a Dagster under load goes through: its Redis away, its code loaded anew, a shift terminated, its servers and its
whole machine killed, and its end. Each time it comes back to full strength by itself, and nothing is lost.

The tests build on each other and run in their order.
"""

import os
import signal
import time

import pytest
from dagster import DagsterRunStatus

from issuetracker_dagster.flow.intake import intake_lock
from issuetracker_dagster.local import family
from issuetracker_dagster.local.ports import is_free
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.parts import Wiring
from tests.faults.pipeline import BACK_WITHIN_S, seconds_of
from tests.lifecycle.load import Load, SlotWatch
from tests.lifecycle.session import AT_WORK, DEAD_AFTER_S, PATIENCE_S, STAGES, Runs, Session, slowness
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(1200)]

OUTAGE_S = float(os.environ.get("LIFECYCLE_OUTAGE_S", 2.5 * DEAD_AFTER_S))
"""Longer than a worker may be silent. A minute, asked for by the variable, takes the suite a minute."""
DRAIN_S = 20.0
PARSER = "parser_shift"


def goes_on(load: Load, within_s: float = PATIENCE_S) -> float:
    """Wait until work goes on; seconds until it did."""
    began, before = time.monotonic(), load.handled()
    eventually(lambda: load.handled() > before, timeout_s=within_s, interval_s=0.1)
    return time.monotonic() - began


def is_at_full_strength(runs: Runs) -> bool:
    return set(runs.at_work()) == AT_WORK and {run.run_id for run in runs.live()} >= set(runs.at_work().values())


def comes_back(runs: Runs, load: Load, gone: set[str]) -> float:
    """Wait until other runs than `gone` fill all slots and work goes on; seconds until they did."""
    began = time.monotonic()
    eventually(
        lambda: is_at_full_strength(runs) and not gone & set(runs.at_work().values()),
        timeout_s=PATIENCE_S,
        interval_s=0.5,
    )
    goes_on(load)
    return time.monotonic() - began


def test_redis_away_for_longer_than_a_worker_may_be_silent_costs_no_run(
    session: Session, runs: Runs, load: Load
) -> None:
    before, begun = runs.at_work(), len(runs.begun())
    with session.proxy.refusing():
        eventually(seconds_of(OUTAGE_S), timeout_s=OUTAGE_S + 5)
    took_s = goes_on(load, min(BACK_WITHIN_S * slowness(), PATIENCE_S))
    print(f"work went on {took_s:.1f} s after {OUTAGE_S:.0f} s without Redis")
    assert runs.at_work() == before
    slot_runs = [run for run in runs.begun()[: len(runs.begun()) - begun] if run.job_name in AT_WORK]
    assert not slot_runs


def test_code_loaded_anew_under_load_leaves_the_shifts_at_work(session: Session, runs: Runs, load: Load) -> None:
    before, servers = runs.at_work(), family.code_servers(session.home)
    session.ui.reload()
    eventually(lambda: family.code_servers(session.home)[-1] != servers[-1], timeout_s=PATIENCE_S)
    goes_on(load)
    assert runs.at_work() == before


def test_a_shift_that_is_terminated_in_the_ui_gives_its_leases_back_at_once_and_is_replaced(
    session: Session, runs: Runs, load: Load, parts: Wiring
) -> None:
    before, began = runs.at_work(), time.monotonic()
    session.ui.terminate(before[PARSER])
    eventually(lambda: runs.status(before[PARSER]) is DagsterRunStatus.CANCELED, timeout_s=PATIENCE_S, interval_s=0.1)
    took_s = time.monotonic() - began
    assert parts.queue(Stage.PARSER).depth().leased == 0, "the next shift can't have begun yet"
    assert took_s < DRAIN_S * slowness()
    print(f"canceled {took_s:.1f} s after it was terminated")
    comes_back(runs, load, {before[PARSER]})
    assert {name: run for name, run in runs.at_work().items() if name != PARSER} == {
        name: run for name, run in before.items() if name != PARSER
    }


def test_a_second_run_on_a_slot_ends_without_any_work(
    session: Session, runs: Runs, load: Load, watch: SlotWatch
) -> None:
    """As two daemons on one instance would start it, or somebody by hand."""
    before = runs.at_work()
    second = session.ui.launch(PARSER)
    ended = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE)  # by itself, or by the supervisor if that was sooner
    eventually(lambda: runs.status(second) in ended, timeout_s=PATIENCE_S, interval_s=0.2)
    assert runs.at_work() == before
    assert f"held by run {before[PARSER]}" in runs.log(second)
    goes_on(load)
    watch.doubled.clear()  # in Dagster's records it was at work, for a moment


def test_a_code_server_that_was_killed_is_replaced_and_the_slots_are_filled_again(
    session: Session, runs: Runs, load: Load
) -> None:
    """The parser's run is a child of the killed one; the others belong to the one before the reload and work on."""
    own = runs.at_work()[PARSER]
    os.kill(family.code_servers(session.home)[-1].pid, signal.SIGKILL)
    took_s = comes_back(runs, load, {own})
    print(f"full strength {took_s:.0f} s after the code server was killed")
    assert session.said("the code is loaded again")
    assert runs.status(own) is DagsterRunStatus.SUCCESS, "it drained and ended, as its parent was gone"


def test_dagster_is_started_again_when_its_daemon_was_killed(session: Session, runs: Runs, load: Load) -> None:
    before = set(runs.at_work().values())
    session.process("dagster._daemon").kill()
    took_s = comes_back(runs, load, before)
    print(f"full strength {took_s:.0f} s after the daemon was killed")
    assert session.said("it is started again")


def test_after_a_power_cut_every_slot_is_filled_and_no_run_is_stuck(session: Session, runs: Runs, load: Load) -> None:
    before = set(runs.at_work().values())
    session.kill_everything()
    began = time.monotonic()
    session.start_valkey()
    session.start()
    comes_back(runs, load, before)
    print(f"full strength {time.monotonic() - began:.0f} s after the start that followed the power cut")
    assert {runs.status(run_id) for run_id in before} == {DagsterRunStatus.FAILURE}
    eventually(lambda: {run.run_id for run in runs.live()} == set(runs.at_work().values()), timeout_s=PATIENCE_S)


def test_at_no_look_were_two_runs_at_work_on_one_slot(watch: SlotWatch) -> None:
    assert watch.looks > 100
    assert not watch.doubled


def test_nothing_that_was_sent_is_lost(load: Load) -> None:
    assert len(load.pages) > 100
    seen = set(load.pages) | set(load.jobs)
    eventually(lambda: not load.lost() & seen, timeout_s=PATIENCE_S, interval_s=2)
    pages = len(load.pages)
    eventually(lambda: load.handled() >= pages, timeout_s=PATIENCE_S, interval_s=1)


def test_sigterm_ends_everything_within_its_bounds_and_leaves_nothing_behind(
    session: Session, runs: Runs, load: Load, parts: Wiring
) -> None:
    assert load.handled()
    began = time.monotonic()
    os.kill(session.pid, signal.SIGTERM)
    assert session.ends(within_s=PATIENCE_S) == 0
    took_s = time.monotonic() - began
    print(f"ended {took_s:.1f} s after SIGTERM")
    assert family.members(session.home) == []
    assert is_free(session.port)
    assert not runs.live()
    for stage in STAGES:
        assert parts.queue(stage).depth().leased == 0
        hold = parts.locks.acquire(intake_lock(stage), 1_000)
        assert hold is not None, "a tick that was killed left its lock"
        parts.locks.release(hold)
