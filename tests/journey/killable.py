"""Servers and a drainer that a test may kill: each is a real process, and comes back on the same data and port."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from issuetracker_dagster.local import children, jars, java, kafka, valkey
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]


class Killable:
    """A server that `start` brings up, the first time and after each `kill`."""

    def __init__(self, start: Callable[[], children.Identity], address: str, grace_s: float) -> None:
        self._start = start
        self._grace_s = grace_s
        self._identity: children.Identity | None = None
        self.address = address

    def start(self) -> None:
        self._identity = self._start()

    @property
    def pid(self) -> int:
        """Its present process; 0 before the first start."""
        return self._identity.pid if self._identity else 0

    def kill(self) -> None:
        """kill -9; nothing of it is left when this returns."""
        assert self._identity is not None
        children.stop(self._identity, grace_s=10.0, first=signal.SIGKILL)

    def freeze(self) -> None:
        """It hangs: connections stay open and nothing is answered, from when this returns."""
        self._signal(signal.SIGSTOP)
        # Until one of its threads has taken the signal the others go on: on a busy machine for an answer or two.
        eventually(lambda: set(_thread_states(self.pid)) <= {"T", "Z", "X"})

    def thaw(self) -> None:
        """It goes on with what it had been sent."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._identity is not None
        assert children.is_alive(self._identity)
        os.kill(self._identity.pid, number)

    def stop(self) -> None:
        """End it in order."""
        if self._identity is not None:
            children.stop(self._identity, grace_s=self._grace_s)


def _thread_states(pid: int) -> Iterator[str]:
    """The state of each of its threads, as Linux names it: T is stopped, Z and X are gone."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            yield stat.read_text().rpartition(")")[2].split()[0]


@contextmanager
def killable_valkey(folder: Path) -> Iterator[Killable]:
    """An append-only Valkey; its address is a URL."""
    (port,) = choose_ports(1)
    server = Killable(
        lambda: valkey.start(folder, port, log=folder / "server.log"), f"redis://{LOOPBACK}:{port}/0", grace_s=5.0
    )
    with _running(server):
        yield server


@contextmanager
def killable_kafka(folder: Path) -> Iterator[Killable]:
    """An Apache Kafka of one node; its address is its bootstrap server."""
    port, controller = choose_ports(2)
    java_program, kafka_jars = java.find_java(), jars.kafka_jars(jars.default_cache())

    def start() -> children.Identity:
        return kafka.start(
            folder, port, controller, log=folder / "server.log", java=java_program, jars=kafka_jars, heap_mb=512
        )

    with _running(Killable(start, f"{LOOPBACK}:{port}", kafka.STOP_GRACE_S)) as server:
        yield server


@contextmanager
def _running(server: Killable) -> Iterator[Killable]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


class DrainerProcess:
    """`tests.journey.drainer` in a process of its own; what it logs goes to `log`."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._environment = {**os.environ, **environment}
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.journey.drainer"],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        assert self._process.poll() is None, f"the drainer ended by itself:\n{children.tail(self._log)}"
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9."""
        self.signal(signal.SIGKILL)
        self._wait(10)

    def end(self, timeout_s: float = 40.0) -> int:
        """End it in order; its exit code."""
        assert self._process is not None
        if self._process.stdin is not None:
            self._process.stdin.close()
        return self._wait(timeout_s)

    def leave_nothing(self) -> None:
        """No process is left, whatever went wrong before."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._wait(10)

    def _wait(self, timeout_s: float) -> int:
        assert self._process is not None
        code = self._process.wait(timeout_s)
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        return code


@contextmanager
def draining_process(environment: Mapping[str, str], log: Path) -> Iterator[DrainerProcess]:
    """A drainer that is gone with the block."""
    process = DrainerProcess(environment, log)
    process.start()
    try:
        yield process
    finally:
        process.leave_nothing()
