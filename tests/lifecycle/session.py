"""`issuetracker dev` in a process of its own: real Dagster, real Kafka of its own, and a real Valkey behind a proxy."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dagster as dg
import psutil

from issuetracker_dagster.defs.supervisor import slot_of
from issuetracker_dagster.local import children, family, state, valkey
from issuetracker_dagster.local.ports import choose_ports
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.buffering import DRAINER
from issuetracker_dagster.wiring.parts import Wiring
from tests.faults.proxy import FaultProxy
from tests.journey.dagster_ui import DagsterUi
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
STAGES = (Stage.PARSER, Stage.VALIDATE)
AT_WORK = {*(f"{stage.value}_shift" for stage in STAGES), DRAINER}
"""The runs of a session at full strength: two stages and the drain run, since each more costs a core a second."""
DEAD_AFTER_S = 10
SETTINGS = {
    "PARSER_PRIORITY_QUEUE_ENABLED": "true",
    "VALIDATE_PRIORITY_QUEUE_ENABLED": "true",
    "PUBLISHER_REDIS_BUFFER_ENABLED": "true",
    "STAGES_FETCH_ENABLED": "false",
    "STAGES_ENRICH_ENABLED": "false",
    "STAGES_SCHEDULER_ENABLED": "false",
    "WORKER_HEARTBEAT": "2s",
    "WORKER_DEAD_AFTER": f"{DEAD_AFTER_S}s",
    **{f"KAFKA_PARTITIONS_{name}": "2" for name in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ")},
}
LIVE = (*(dg.DagsterRunStatus(name) for name in ("NOT_STARTED", "QUEUED", "STARTING", "STARTED", "CANCELING")),)
PATIENCE_S = 400.0
"""For what has to come about at all: a process takes a second to import on an idle core, and half a minute on a busy
machine."""


class Session:
    """One home with its servers. `past` are the parts of a process that goes past the proxy: who sends and judges."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.log = folder / "dev.log"
        (self.port, self._valkey_port) = choose_ports(2)
        self.ui = DagsterUi(self.port)
        self._folder = folder
        self._valkey: children.Identity | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.start_valkey()
        self.proxy = FaultProxy(self._valkey_port)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start_valkey(self) -> None:
        self._valkey = valkey.start(self._folder / "valkey", self._valkey_port, log=self._folder / "valkey.log")

    def start(self) -> None:
        """Returns when the UI answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "issuetracker_dagster.cli.main", "dev", "--port", str(self.port)],
                cwd=ROOT,
                env={**os.environ, **SETTINGS, **self._place(self.proxy.port)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        eventually(lambda: self.ui.is_up() or self._must_live(), timeout_s=PATIENCE_S, interval_s=0.5)

    def ends(self, within_s: float) -> int:
        """The exit code of the command."""
        assert self._process is not None
        return self._process.wait(within_s)

    def kill_everything(self) -> None:
        """What a power cut does: no process of this home gets another word out."""
        kafka = state.read(self.home).services["kafka"].identity
        assert self._process is not None
        assert self._valkey is not None
        self._process.kill()
        # Twice: one that was forked between the look and the kill.
        for _ in range(2):
            for one in (*family.members(self.home), kafka, self._valkey):
                if children.is_alive(one):
                    os.kill(one.pid, signal.SIGKILL)
        self._process.wait(10)
        eventually(lambda: not family.members(self.home) and not children.is_alive(kafka), timeout_s=10)

    def end(self) -> None:
        """Leave nothing behind, whatever a test did and however slow the machine is."""
        try:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGINT)
                self._process.wait(PATIENCE_S)
        finally:
            if self._process is not None:
                self._process.kill()
            family.end(self.home, grace_s=1)
            for service in state.read(self.home).services.values():
                children.stop(service.identity, grace_s=5)
            self.proxy.__exit__(None, None, None)
            if self._valkey is not None:
                children.stop(self._valkey, grace_s=5)

    def parts(self) -> Wiring:
        """The parts of a process that reaches Redis past the proxy."""
        file = self._folder / "past.env"
        file.write_text("".join(f"{name}={value}\n" for name, value in self._environment().items()))
        return Wiring(Settings(env_file=file))

    def process(self, *words: str) -> psutil.Process:
        """The youngest process of Dagster with these words in a row in its command line."""
        found = [psutil.Process(one.pid) for one in family.members(self.home)]
        named = [one for one in found if " ".join(words) in " ".join(one.cmdline())]
        return max(named, key=lambda one: one.create_time())

    def said(self, text: str) -> bool:
        return text in self.log.read_text()

    def _environment(self) -> dict[str, str]:
        return {**SETTINGS, **self._place(self._valkey_port)}

    def _place(self, redis_port: int) -> dict[str, str]:
        return {
            "ISSUETRACKER_HOME": str(self.home),
            "REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
            "KAFKA_BOOTSTRAP_SERVERS": "",
            "DATABASE_URL": "",
        }

    def _must_live(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()[-5_000:]
        return False


class Runs:
    """What Dagster's own records say of the runs, read past its processes."""

    def __init__(self, home: Path) -> None:
        self.instance = dg.DagsterInstance.from_config(str(home / "dagster"))

    def begun(self) -> list[dg.DagsterRun]:
        """Every run so far, the youngest first."""
        return list(self.instance.get_runs())

    def live(self) -> list[dg.DagsterRun]:
        return list(self.instance.get_runs(dg.RunsFilter(statuses=list(LIVE))))

    def at_work(self) -> dict[str, str]:
        """Job name to run id of the started runs of slots."""
        started = self.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
        return {run.job_name: run.run_id for run in started if run.job_name in AT_WORK}

    def status(self, run_id: str) -> dg.DagsterRunStatus:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    def log(self, run_id: str) -> str:
        """Everything that a run's page says."""
        entries = self.instance.all_logs(run_id)
        return "\n".join(
            f"{entry.user_message} {entry.dagster_event and entry.dagster_event.message}" for entry in entries
        )

    def doubled(self) -> list[tuple[str, int]]:
        """Slots on which more than one run is at work."""
        on_slots = Counter(
            (run.job_name, slot_of(run))
            for run in self.live()
            if run.job_name in AT_WORK and run.status in (dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING)
        )
        return [slot for slot, count in on_slots.items() if count > 1]


def slowness() -> float:
    """How many processes want a core of this machine, for each that it has: promised times are those of an idle one."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
