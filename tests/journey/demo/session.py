"""A demo in a process of its own, and the commands that people type beside it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from issuetracker_dagster.local import family
from issuetracker_dagster.local.ports import choose_ports
from issuetracker_dagster.local.site.remembered import Remembered
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.locks import Heartbeat
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.dagster_ui import DagsterUi
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
POINTERS = ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "DATABASE_URL", "ISSUETRACKER_HOME")
"""Variables that would lead a demo to somebody else's servers."""
SETTINGS = {"PRIORITY_RULES_REFRESH_INTERVAL": "1m", "FETCH_RENDER_PAGES": "0"}
"""The schedule looks once a minute at most; by default it would take five. Nothing is rendered, so that each crawl
of the live tickers brings an upgrade about."""


class Demo:
    """A demo on a home folder of its own. Its commands and `wiring` find it by the environment of this process.

    `environment` are further settings of its own, such as servers that it is to use.
    """

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None) -> None:
        self.home = home
        self._settings = {**SETTINGS, **(environment or {})}
        (self.port,) = choose_ports(1, ())
        self.ui = DagsterUi(self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.home.parent / "demo.log").open("ab") as log:
            self._process = subprocess.Popen(
                _command("demo", "--port", str(self.port)),
                cwd=ROOT,
                env=self._environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        eventually(lambda: self.ui.is_up() or self._must_live(), timeout_s=180, interval_s=0.5)

    def stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(90)

    def end(self) -> None:
        """Leave nothing behind, whatever a test did."""
        if self._process is not None and self._process.poll() is None:
            self.stop()
        family.end(self.home, grace_s=5)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What `issuetracker` says to these words, typed in a second terminal."""
        return subprocess.run(
            _command(*words), cwd=ROOT, env=self._environment(), capture_output=True, text=True, timeout=60, check=False
        )

    def said(self, *words: str) -> str:
        """The output of a command that must work."""
        done = self.command(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def url(self, host: str, path: str) -> str:
        """A URL of the demo's site."""
        found = msgspec.json.decode((self.home / "run" / "site.json").read_bytes(), type=Remembered)
        return found.url(host, path)

    def wiring(self) -> Wiring:
        """The parts, looked up anew as any command would."""
        return Wiring(Settings(env_file=None))

    def counts(self) -> Mapping[str, int]:
        return self.wiring().stores.reports.counts()

    def beat(self, stage: Stage) -> Heartbeat | None:
        """The sign of life of the stage's slot 0."""
        return next(iter(self.wiring().heartbeats.alive(stage.value)), None)

    def mode(self, stage: Stage) -> str:
        beat = self.beat(stage)
        return beat.info.get("mode", "") if beat else ""

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in POINTERS}
        return {**inherited, **self._settings, "ISSUETRACKER_HOME": str(self.home)}

    def _must_live(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.home.parent / "demo.log").read_text()[-5_000:]
        return False


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "issuetracker_dagster.cli.main", *words]
