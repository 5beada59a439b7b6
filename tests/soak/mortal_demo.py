"""The demo as a machine runs it: killed whole or in parts, and started again whenever it is gone, as a service is."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import psutil

from issuetracker_dagster.local import family
from issuetracker_dagster.local.children import Identity, is_alive
from tests.journey.demo.session import Demo
from tests.waiting import eventually

T = TypeVar("T")

CODE_SERVER, DAEMON, WEBSERVER, SITE = "code server", "daemon", "webserver", "site"
_MARKS = {
    CODE_SERVER: "dagster api grpc",
    DAEMON: "dagster._daemon",
    WEBSERVER: "dagster_webserver",
    SITE: "issuetracker_dagster.local.site",
}


class MortalDemo(Demo):
    """A demo that somebody keeps alive. `restarts` counts how often it had ended by itself."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        super().__init__(home, environment)
        self._turn = threading.RLock()
        self._ending = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)
        self.restarts = 0

    def keep(self) -> None:
        """From now on start it again when it has ended."""
        self._keeper.start()

    def reboot(self) -> None:
        """kill -9 of everything that belongs to it, then start; returns when the UI is there again."""
        with self._turn:
            self.kill_all()
            self.start_again()

    def kill_all(self) -> None:
        """No process of it is left, as after a power cut."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
        while left := family.members(self.home):
            for one in left:
                send(one, signal.SIGKILL)
            time.sleep(0.05)

    def start_again(self) -> None:
        """Start, whatever the last one left behind; a start that fails is tried once more."""
        with self._turn:
            try:
                self.start()
            except AssertionError:
                self.kill_all()
                self.start()

    def reload(self) -> None:
        """Reload the code location; a busy machine goes on with it when nobody waits for the answer any more."""
        with contextlib.suppress(TimeoutError):
            self.ui.reload()

    def finish(self) -> None:
        """End it in order, and nobody starts it again."""
        self._ending.set()
        with self._turn:
            try:
                self.end()
            except subprocess.TimeoutExpired:
                self.kill_all()  # half an hour's verdict isn't given up for a machine that is slow to end
        if self._keeper.is_alive():
            self._keeper.join(10)

    def processes(self) -> dict[str, list[Identity]]:
        """Its processes by what they are; `run` are those that no other role has."""
        found: dict[str, list[Identity]] = {}
        for one in family.members(self.home):
            with contextlib.suppress(psutil.Error):
                words = " ".join(psutil.Process(one.pid).cmdline())
                role = next((role for role, mark in _MARKS.items() if mark in words), "")
                if role:
                    found.setdefault(role, []).append(one)
        return found

    def log(self) -> Path:
        """What it wrote."""
        return self.home.parent / "demo.log"

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _keep(self) -> None:
        while not self._ending.wait(1.0):
            if self._turn.acquire(blocking=False):
                try:
                    if not self._ending.is_set() and not self.is_running():
                        self.restarts += 1
                        self.start_again()
                finally:
                    self._turn.release()


def send(identity: Identity, number: signal.Signals) -> bool:
    """Signal exactly this process; whether it was there."""
    with contextlib.suppress(ProcessLookupError):
        if is_alive(identity):
            os.kill(identity.pid, number)
            return True
    return False


def insist(attempt: Callable[[], object], for_s: float = 240.0) -> None:
    """Do it until it works: the UI may be away for a while. Raises AssertionError with what the last try raised."""
    asked(attempt, for_s)


def asked(question: Callable[[], T], for_s: float = 240.0) -> T:
    """The answer, asked for until there is one. Raises AssertionError with what the last try raised."""
    answers: list[T] = []
    said: list[Exception] = []

    def answered() -> bool:
        try:
            answers.append(question())
        except (OSError, KeyError, TypeError, AssertionError) as error:
            said.append(error)
        return bool(answers)

    try:
        eventually(answered, timeout_s=for_s, interval_s=2.0)
    except AssertionError:
        raise AssertionError(f"not within {for_s:.0f} s: {said[-1]!r}") from said[-1]
    return answers[0]
