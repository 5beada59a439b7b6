"""What keeps `dagster dev` at work and what ends it, shown on small programs in its place."""

import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import psutil
import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.local import children, dagster_dev, family
from issuetracker_dagster.local.children import FAMILY_MARK, Identity, is_alive
from issuetracker_dagster.local.clearing import Clearing
from issuetracker_dagster.local.code_server import GONE_S, CodeServerWatch
from issuetracker_dagster.local.dagster_dev import MOST_STARTS, DagsterDev
from issuetracker_dagster.local.pipeline import Prepared, Ui
from issuetracker_dagster.local.report import Report, Step
from issuetracker_dagster.local.signals import Interrupts, interrupts
from tests.waiting import eventually

LIVES = "import time; print('in', flush=True); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {LIVES}"
CODE_SERVER = ("dagster", "api", "grpc")
WEBSERVER = ("dagster_webserver",)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    # Signals are handled as in the command. A suite in the background of a script is started with SIGINT ignored, and
    # so would be all that it starts: a run would never see its interrupt.
    with interrupts():
        yield tmp_path
        family.end(tmp_path, grace_s=0)


def member(home: Path, program: str, *words: str) -> Identity:
    """A process of the family with these words in its command line, once its program runs."""
    log = home / "logs" / f"{time.monotonic_ns()}.log"
    found = children.spawn([sys.executable, "-c", program, *words], log=log, cwd=home, env={FAMILY_MARK: str(home)})
    eventually(lambda: log.exists() and log.read_text(), timeout_s=60)
    return found


def test_runs_are_waited_for_and_servers_that_have_no_tick_any_more_are_not(home: Path) -> None:
    ends_in_order = f"""
import signal, sys, time
def drain(*_):
    time.sleep(0.5)  # the work in hand
    open({str(home / "drained")!r}, "w").close()
    sys.exit()
signal.signal(signal.SIGINT, drain)
{LIVES}"""
    tracker = member(home, DEAF, "from multiprocessing.resource_tracker import main;main(7)")
    run, code, web = member(home, ends_in_order), member(home, LIVES, *CODE_SERVER), member(home, DEAF, *WEBSERVER)
    began = time.monotonic()
    assert family.end(home, grace_s=600) == 0
    assert time.monotonic() - began < 300
    assert (home / "drained").exists()
    assert not any(map(is_alive, (run, code, web, tracker)))


def test_a_daemon_that_does_not_end_is_killed_when_no_tick_can_be_at_work_any_more(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "TICK_S", 0.5)
    daemon = member(home, DEAF, "dagster._daemon", "run")
    assert family.end(home, grace_s=600) == 0
    assert not is_alive(daemon)


def test_who_is_in_a_hurry_waits_for_nobody(home: Path) -> None:
    run = member(home, DEAF)
    began = time.monotonic()
    assert family.end(home, grace_s=600, hurry=lambda: time.monotonic() - began > 0.3) == 1
    assert not is_alive(run)


def test_a_clock_that_is_set_makes_no_stranger_of_a_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, code = member(home, LIVES), member(home, LIVES, *CODE_SERVER)
    assert family.code_servers(home) == [code]
    monkeypatch.setattr(children, "_started_here", {})  # as another command sees them
    booted_s = psutil.boot_time()
    for step_s in (3_600, -3_600):
        monkeypatch.setattr("psutil._pslinux.boot_time", lambda step_s=step_s: booted_s + step_s)
        assert is_alive(code)
        assert family.code_servers(home) == [code]
    assert family.end(home, grace_s=60, spared=(site,)) == 0
    assert is_alive(site)
    assert not is_alive(code)


def test_what_is_beside_dagster_is_spared_until_the_end(home: Path) -> None:
    site, run = member(home, LIVES), member(home, LIVES)
    assert family.end(home, grace_s=60, spared=(site,)) == 0
    assert is_alive(site)
    assert not is_alive(run)


@dataclass(frozen=True)
class SmallUi(Ui):
    """A program in the place of Dagster, and a UI that answers once that has begun and notes what it is asked."""

    program: str = LIVES
    is_up: bool = True
    begun: Path = Path("/")
    asked: list[float] = field(default_factory=list)

    def command(self) -> list[str]:
        return [sys.executable, "-c", self.program]

    def answers(self) -> bool:
        return self.is_up and self.begun.exists()

    def reload(self) -> bool:
        self.asked.append(time.monotonic())
        return True


def test_the_code_is_loaded_anew_once_when_the_youngest_code_server_died_and_not_before(home: Path) -> None:
    clock = FakeClock(0)
    steps: list[Step] = []
    ui = SmallUi("127.0.0.1", 1)
    watch = CodeServerWatch(home, ui, steps.append, clock.monotonic)

    def asked_after(seconds: float) -> int:
        clock.advance(seconds * 1000)
        watch.look()
        return len(steps)

    older = member(home, LIVES, *CODE_SERVER)  # lives on with its runs after a reload
    assert asked_after(10) == 0
    younger = member(home, LIVES, *CODE_SERVER)
    assert asked_after(10) == 0
    children.stop(younger)
    assert asked_after(GONE_S - 1) == 0, "something else may be replacing it"
    assert asked_after(5) == 1
    assert asked_after(5) == 1
    eventually(lambda: len(ui.asked) == 1)
    assert is_alive(older)
    assert steps[-1].phase == "warning"
    member(home, LIVES, *CODE_SERVER)
    assert asked_after(5) == 2
    assert "loaded again" in steps[-1].text


class Cleared(Clearing):
    """One that has found nothing."""

    def __init__(self) -> None:
        self._process = None


def test_one_that_ends_by_itself_again_and_again_is_given_up_with_its_exit_code(home: Path) -> None:
    steps: list[Step] = []
    ui = SmallUi("127.0.0.1", 1, program="import time; time.sleep(0.5); raise SystemExit(3)")
    assert DagsterDev(home, ui, {}, Prepared(), steps.append).run(Interrupts(), Cleared()) == 3
    said = [step.text for step in steps]
    assert sum("starting" in text for text in said) == MOST_STARTS
    assert sum("exit code 3" in text for text in said) == MOST_STARTS
    assert family.members(home) == []


def test_who_asked_for_the_end_while_old_runs_were_ended_has_nothing_started(home: Path) -> None:
    steps, received = list[Step](), Interrupts()

    class Interrupted(Cleared):
        """Somebody presses Ctrl-C meanwhile."""

        def finish(self, report: Report) -> None:
            received.receive(signal.SIGINT, None)

    assert DagsterDev(home, SmallUi("127.0.0.1", 1), {}, Prepared(), steps.append).run(received, Interrupted()) == 0
    assert not any("starting" in step.text for step in steps)


def test_one_whose_ui_never_answered_is_not_started_again(home: Path) -> None:
    steps: list[Step] = []
    ui = SmallUi("127.0.0.1", 1, program="raise SystemExit(0)", is_up=False)
    assert DagsterDev(home, ui, {}, Prepared(), steps.append).run(Interrupts(), Cleared()) == 1
    assert sum("starting" in step.text for step in steps) == 1


def test_one_that_ignores_the_request_to_end_is_killed_and_that_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dagster_dev, "STOP_GRACE_S", 0.5)
    begun, received, steps = home / "begun", Interrupts(), list[Step]()

    def report(step: Step) -> None:
        steps.append(step)
        if step.phase == "ready":
            received.receive(signal.SIGINT, None)

    program = DEAF.replace("import time;", f"import time; open({str(begun)!r}, 'w').close();")
    ui = SmallUi("127.0.0.1", 1, program=program, begun=begun)
    assert DagsterDev(home, ui, {}, Prepared(), report).run(received, Cleared()) == 0
    assert steps[-2].text == "1 processes didn't end in time and were killed"
    assert family.members(home) == []


@dg.job
def any_job() -> None:
    """Does nothing."""


def test_the_runs_of_a_dagster_that_is_gone_are_ended_before_the_next_one(home: Path) -> None:
    Clearing(home).finish(lambda _: pytest.fail("a new home has no runs"))
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        run_id = instance.create_run_for_job(any_job).run_id
        steps: list[Step] = []
        Clearing(home).finish(steps.append)
        assert [step.text for step in steps] == ["1 run that nobody works on any more ended as failed"]
        run = instance.get_run_by_id(run_id)
        assert run is not None
        assert run.status is dg.DagsterRunStatus.FAILURE
