"""The whole pipeline as `issuetracker dev` runs it, on a home, a Kafka and a Valkey of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from issuetracker_dagster.local import children, family, state
from issuetracker_dagster.local.ports import choose_ports
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.dagster_ui import DagsterUi
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[1]
START_S, SHIFTS_S, END_S = 180.0, 120.0, 90.0
QUEUES_ON = {f"{stage.value.upper()}_PRIORITY_QUEUE_ENABLED": "true" for stage in QUEUED_STAGES}
"""Every queued stage works by priority."""


class Pipeline:
    """A running `issuetracker dev`. `wiring` are this process's own parts on the same servers."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes], ui: DagsterUi, wiring: Wiring) -> None:
        self.home = home
        self.ui = ui
        self.wiring = wiring
        self._process = process

    @property
    def pid(self) -> int:
        """Of the command itself."""
        return self._process.pid

    def servers(self) -> list[int]:
        """The processes of its Kafka and Valkey."""
        return [service.identity.pid for service in state.read(self.home).services.values() if service.identity]

    def shifts(self, *stages: Stage, within_s: float = SHIFTS_S) -> None:
        """Wait until a shift of each of these stages is at work from its queue, or for fetch from Kafka."""
        for stage in stages:
            eventually(partial(self._mode, stage), timeout_s=within_s, interval_s=0.5)

    def left(self) -> int:
        """Messages that queued stages have yet to settle: unread in Kafka, in a queue, or waiting for another try."""
        lags = self.wiring.lags()
        unread = sum(lags[topic] for stage in QUEUED_STAGES for topic in FACTS[stage].inputs)
        queued = sum(self.wiring.queue(stage).depth().total for stage in QUEUED_STAGES)
        return unread + queued + self.wiring.retry_set.size()

    def is_done(self) -> bool:
        """Whether nothing is left; looked at twice, since a message may pass from one place to the other meanwhile."""
        return not self.left() and not self.left()

    def _mode(self, stage: Stage) -> str:
        beat = next(iter(self.wiring.heartbeats.alive(stage.value)), None)
        return beat.info.get("mode", "") if beat else ""


@contextmanager
def running(folder: Path, environment: Mapping[str, str], command: str = "dev") -> Iterator[Pipeline]:
    """A pipeline whose UI answers; nothing of it is left afterwards. `environment` are its settings; the command `demo`
    brings pages with it."""
    home = folder / "home"
    (port,) = choose_ports(1, ())
    own = {"ISSUETRACKER_HOME": str(home), "KAFKA_BOOTSTRAP_SERVERS": "", "REDIS_URL": "", "DATABASE_URL": "",
           "METRICS_ADDR": "off", "LOG_LEVEL": "warning", **environment}  # fmt: skip
    log = folder / "dev.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "issuetracker_dagster.cli.main", command, "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    ui = DagsterUi(port)
    try:
        eventually(lambda: ui.is_up() or _must_live(process, log), timeout_s=START_S, interval_s=0.5)
        wiring = _wiring(folder, own)
        try:
            yield Pipeline(home, process, ui, wiring)
        finally:
            wiring.close()
    finally:
        _end(home, process)


def _wiring(folder: Path, environment: Mapping[str, str]) -> Wiring:
    file = folder / "settings.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in environment.items()))
    return Wiring(Settings(env_file=file))


def _must_live(process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, children.tail(log)
    return False


def _end(home: Path, process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    family.end(home, grace_s=1)
    for service in state.read(home).services.values():
        children.stop(service.identity, grace_s=5)
