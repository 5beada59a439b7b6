import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import children, family, state
from issuetracker_dagster.local.alone import alone, other
from issuetracker_dagster.local.foreground import choose_ui_port, down
from issuetracker_dagster.local.ports import choose_ports, is_listening
from issuetracker_dagster.local.services import LocalServices
from tests.waiting import eventually

REPOSITORY = Path(__file__).resolve().parents[2]

# A code location with one sensor that launches one run, which writes its pid and then works for ever.
DEFINITIONS = """
import os, time
from pathlib import Path
import dagster as dg

@dg.op
def works(context):
    Path(os.environ["PID_FILE"]).write_text(str(os.getpid()))
    while True:
        time.sleep(0.2)

@dg.job(executor_def=dg.in_process_executor)
def endless():
    works()

@dg.sensor(job=endless, minimum_interval_seconds=1, default_status=dg.DefaultSensorStatus.RUNNING)
def launches_once():
    return dg.RunRequest(run_key="once")

defs = dg.Definitions(jobs=[endless], sensors=[launches_once])
"""

DEV = """
import sys
from pathlib import Path
from issuetracker_dagster.local.foreground import dev
from issuetracker_dagster.local.services import LocalServices
services = LocalServices(Path(sys.argv[1]), kafka_bootstrap="broker.example:9092")
sys.exit(dev(services, port=int(sys.argv[2])))
"""

UP = """
import sys
from pathlib import Path
from issuetracker_dagster.local.foreground import up
from issuetracker_dagster.local.services import LocalServices
up(LocalServices(Path(sys.argv[1])), lambda step: print(step.service, step.phase, flush=True))
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    yield folder
    family.end(folder, grace_s=1)
    LocalServices(folder).stop()


@contextmanager
def running_dev(tmp_path: Path, home: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """`dev` with a run at work; yields it, the port of its UI and the pid of the run."""
    pid_file = tmp_path / "run.pid"
    pid_file.unlink(missing_ok=True)
    (tmp_path / "endless.py").write_text(DEFINITIONS)
    (tmp_path / "workspace.yaml").write_text(f"load_from:\n  - python_file: {tmp_path / 'endless.py'}\n")
    (port,) = choose_ports(1)
    with (tmp_path / "dev.log").open("ab") as log:
        started = subprocess.Popen(
            [sys.executable, "-c", DEV, str(home), str(port)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PID_FILE": str(pid_file)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(lambda: pid_file.exists() and pid_file.read_text(), timeout_s=300)
        eventually(lambda: is_listening(port), timeout_s=300)
        yield started, port, int(pid_file.read_text())
    except AssertionError as error:
        raise AssertionError(f"{error}\n{children.tail(tmp_path / 'dev.log', 60)}") from error
    finally:
        started.kill()
        started.wait()


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.timeout(700)
def test_ending_dev_ends_runs_servers_and_dagster_and_frees_their_ports(tmp_path: Path, home: Path) -> None:
    with running_dev(tmp_path, home) as (started, port, run_pid):
        valkey = state.read(home).services["valkey"]
        with pytest.raises(ConfigError, match=rf"issuetracker dev`, pid {started.pid}.*kill {started.pid}"):
            down(LocalServices(home))

        started.send_signal(signal.SIGTERM)
        assert started.wait(timeout=60) == 0
    assert family.members(home) == []
    assert not psutil.pid_exists(run_pid)
    assert not children.is_alive(valkey.identity)
    assert not is_listening(port)
    assert not is_listening(valkey.port)
    assert state.read(home).services == {}


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.timeout(700)
def test_what_a_killed_dev_left_running_is_ended_by_the_next_command(tmp_path: Path, home: Path) -> None:
    with running_dev(tmp_path, home) as (started, port, run_pid):
        started.kill()
        started.wait()
        assert psutil.pid_exists(run_pid)
        assert down(LocalServices(home)) == ("valkey",)
    assert family.members(home) == []
    assert not is_listening(port)


@pytest.mark.services
@pytest.mark.slow
def test_a_start_that_is_interrupted_leaves_nothing_half_started(home: Path) -> None:
    starting = subprocess.Popen(
        [sys.executable, "-c", UP, str(home)], cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert starting.stdout is not None
    assert b"kafka working\n" in iter(starting.stdout.readline, b"")
    # Its data folder is formatted, so the server itself is on its way up.
    eventually(lambda: (home / "kafka" / "data" / "meta.properties").exists(), timeout_s=60)
    eventually(lambda: state.holder(home, "kafka"), timeout_s=20)
    starting.terminate()
    starting.communicate(timeout=60)
    assert starting.returncode != 0
    assert state.holder(home, "kafka") is None
    assert state.holder(home, "valkey") is None
    assert state.read(home).services == {}


def test_beside_a_demo_every_command_is_told_its_name_its_pid_and_how_it_ends(tmp_path: Path) -> None:
    waits = "import sys; from issuetracker_dagster.local.alone import alone; from pathlib import Path\n"
    waits += "with alone(Path(sys.argv[1]), command='demo'): print('in', flush=True); sys.stdin.read()"
    demo = subprocess.Popen(
        [sys.executable, "-c", waits, str(tmp_path)], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    told = rf"`issuetracker demo`, pid {demo.pid}\).*Ctrl-C in its terminal or run `kill {demo.pid}`"
    try:
        assert demo.stdout is not None
        assert demo.stdout.readline() == b"in\n"
        with pytest.raises(ConfigError, match=rf"already runs on .*{told}"), alone(tmp_path):
            pytest.fail("two at once")
        with pytest.raises(ConfigError, match=rf"in use .*{told}"):
            down(LocalServices(tmp_path))
        running = other(tmp_path)
        assert running is not None
        assert running.who == f"`issuetracker demo`, pid {demo.pid}"
    finally:
        demo.communicate()
    assert other(tmp_path) is None
    with alone(tmp_path):
        pass


def test_a_taken_ui_port_is_refused_when_asked_for_and_replaced_when_not(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        with pytest.raises(ConfigError, match=f"Port {taken} is taken"):
            choose_ui_port(tmp_path, taken)
        state.write(tmp_path, state.State().remembering("ui", taken))
        chosen = choose_ui_port(tmp_path, None)
    assert chosen != taken
    assert choose_ui_port(tmp_path, None) == chosen
