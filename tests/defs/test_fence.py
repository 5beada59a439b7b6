"""What ends a shift before its time."""

import os
import signal
import threading

import dagster as dg
import pytest
from dagster import DagsterEvent, DagsterEventType, DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from issuetracker_dagster.defs import fence as fences
from issuetracker_dagster.defs.fence import Fence, counted, interrupts


@pytest.fixture(autouse=True)
def asks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fences, "STATUS_EVERY_S", 0.0)


@pytest.fixture
def run_id(instance: dg.DagsterInstance) -> str:
    made: str = create_run_for_test(instance, job_name="parser_shift", status=DagsterRunStatus.STARTED).run_id
    return made


def fence(instance: dg.DagsterInstance, run_id: str, *, stage_is_on: bool = True) -> Fence:
    return Fence(instance, run_id, lambda: stage_is_on)


def test_a_started_run_of_a_stage_that_is_on_goes_on(instance: dg.DagsterInstance, run_id: str) -> None:
    assert fence(instance, run_id).reason() is None
    fence(instance, run_id).raise_if_ended()


def test_a_stage_that_is_switched_off_ends_its_shift(instance: dg.DagsterInstance, run_id: str) -> None:
    assert fence(instance, run_id, stage_is_on=False).reason() == "the stage is switched off"


def test_a_run_that_was_failed_ends_its_shift_and_stays_failed(instance: dg.DagsterInstance, run_id: str) -> None:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    instance.report_run_failed(run, "heartbeat lost")
    assert fence(instance, run_id).reason() == "the run is FAILURE"
    with pytest.raises(dg.Failure) as raised:
        fence(instance, run_id).raise_if_ended()
    assert raised.value.description == ("this run was failed from outside (heartbeat lost); it has drained and ended")


def test_counts_are_told_as_words_and_what_did_not_happen_is_not() -> None:
    assert counted({"forwarded": 10, "dead": 0, "deferred": 2}) == "forwarded 10, deferred 2"
    assert counted({"forwarded": 0}) == "nothing done"


def test_a_run_that_is_being_canceled_ends_its_shift_as_canceled(instance: dg.DagsterInstance, run_id: str) -> None:
    event = DagsterEvent(event_type_value=DagsterEventType.RUN_CANCELING.value, job_name="parser_shift")
    instance.report_dagster_event(event, run_id=run_id)
    assert fence(instance, run_id).reason() == "the run is CANCELING"
    with pytest.raises(dg.DagsterExecutionInterruptedError):
        fence(instance, run_id).raise_if_ended()


def test_a_deleted_run_ends_its_shift(instance: dg.DagsterInstance, run_id: str) -> None:
    instance.delete_run(run_id)
    assert fence(instance, run_id).reason() == "the run was deleted"


def test_a_parent_that_is_gone_ends_the_shift(
    instance: dg.DagsterInstance, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fence(instance, run_id)
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert made.reason() == "the process that started this run is gone"


def test_an_instance_that_cannot_be_asked_changes_nothing(
    instance: dg.DagsterInstance, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out(_: str) -> None:
        raise OSError("the storage is out")

    monkeypatch.setattr(instance, "get_run_by_id", out)
    assert fence(instance, run_id).reason() is None


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_noted_and_the_first_is_told(signum: signal.Signals) -> None:
    before = signal.getsignal(signum)
    with interrupts() as interrupted:
        assert interrupted() is None
        for sent in (signum, signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), sent)
        assert interrupted() == f"interrupted by {signum.name}"
    assert signal.getsignal(signum) is before


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    seen: list[object] = []

    def elsewhere() -> None:
        with interrupts() as interrupted:
            seen.extend([interrupted(), signal.getsignal(signal.SIGINT)])

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [None, signal.getsignal(signal.SIGINT)]
