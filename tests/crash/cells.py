"""One cell of the matrix: a process is stopped at an arrow, another goes on, and the ledger is read."""

import multiprocessing
import os
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

import msgspec
import psutil

from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.errors import LagUnknown
from issuetracker_dagster.local import children
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.crash import roles
from tests.crash.arrows import Arrow, Blow, Scene
from tests.crash.ledger import Ledger
from tests.crash.results import Result, Servers
from tests.crash.scenes import COUNT, WORKERS, prepare
from tests.waiting import eventually

STRUCK_S = 30.0
ENDS_S = 15.0
"""A process that is told to end in order has done so by then."""
DONE_S = 90.0
"""On a machine that has nothing else to do it is a second or two; a slow one may take its time."""

_forking: ForkServerContext = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.crash.roles"])


class Bench:
    """Runs cells on shared servers. Thread-safe; each thread names a Redis database that only it uses."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._template = servers.folder / "template.db"
        upgrade(f"sqlite:///{self._template}")

    def run(self, arrow: Arrow, blow: Blow, database: int) -> Result:
        """The whole cell; what goes wrong in it is told in `problem`, so that the other cells go on."""
        began = time.monotonic()
        try:
            result = self._run(arrow, blow, database)
        except Exception as error:  # noqa: BLE001 - whatever it is
            result = Result(arrow, blow, (), (), (), 0, self._servers.folder, f"never begun: {error!r}")
        return msgspec.structs.replace(result, seconds=time.monotonic() - began)

    def _run(self, arrow: Arrow, blow: Blow, database: int) -> Result:
        name = uuid.uuid4().hex[:8]
        folder = self._servers.folder / name
        folder.mkdir()
        environment = self._environment(name, folder, database)
        file = folder / "settings.env"
        file.write_text("".join(f"{key}={value}\n" for key, value in environment.items()))
        shutil.copy(self._template, folder / "cell.db")
        wiring = Wiring(Settings(env_file=file))
        with ExitStack() as stack:
            stack.callback(wiring.close)
            command(wiring.redis, "FLUSHDB")
            wiring.ready()
            expected = prepare(arrow.scene, wiring)
            ledger = Ledger(wiring, expected)
            stack.callback(ledger.close)
            problem = ""
            try:
                _Cell(arrow, blow, environment, folder, wiring, ledger, stack).run()
            except Exception as error:  # noqa: BLE001 - what became of the messages is told beside it
                problem = str(error) or repr(error)
            ledger.read_on()
            return Result(
                arrow=arrow,
                blow=blow,
                lost=tuple(ledger.missing()),
                strangers=tuple(ledger.strangers()),
                amiss=tuple(ledger.rows_amiss()),
                repeated=ledger.repeated(),
                folder=folder,
                problem=problem,
            )

    def _environment(self, name: str, folder: Path, database: int) -> dict[str, str]:
        return {
            "ISSUETRACKER_HOME": str(folder / "home"),
            "KAFKA_BOOTSTRAP_SERVERS": self._servers.kafka,
            "KAFKA_TOPIC_PREFIX": f"{name}.",
            "REDIS_URL": f"{self._servers.redis.rpartition('/')[0]}/{database}",
            "DATABASE_URL": f"sqlite:///{folder / 'cell.db'}",
            "INTAKE_BATCH": str(roles.BATCH),
            "PARSER_WORKER_COUNT": str(WORKERS),
            "PARSER_ZSET_LEASE": "2s",
            "PARSER_ZSET_POP_TIMEOUT": "200ms",
            "RETRY_BASE": "200ms",
            "SHIFT_DRAIN_TIMEOUT": "5s",
            "PUBLISHER_REDIS_BUFFER_DRAIN_BATCH": str(roles.BATCH),
            "LOG_LEVEL": "info",
        } | {f"KAFKA_PARTITIONS_{topic}": "1" for topic in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ")}


class _Cell:
    def __init__(
        self,
        arrow: Arrow,
        blow: Blow,
        environment: Mapping[str, str],
        folder: Path,
        wiring: Wiring,
        ledger: Ledger,
        stack: ExitStack,
    ) -> None:
        self._arrow = arrow
        self._blow = blow
        self._folder = folder
        self._wiring = wiring
        self._ledger = ledger
        self._stack = stack
        self._order = roles.Order(
            scene=arrow.scene,
            environment=environment,
            log=folder / "successor.log",
            struck=folder / "struck",
            ended=folder / "successor.ended",
            ready=folder / "ready",
            opened=folder / "opened",
        )

    def run(self) -> None:
        victim = self._start(
            msgspec.structs.replace(
                self._order,
                log=self._folder / "victim.log",
                ended=self._folder / "victim.ended",
                arrow=self._arrow,
                blow=self._blow,
            )
        )
        self._await_blow(victim)
        successor = self._start(self._order)
        self._await_done(successor)
        if self._blow is Blow.STOP:
            # What it still holds it takes for its own; it does all that it would do before it is told to end.
            _signal(victim, signal.SIGCONT)
            _signal(victim, signal.SIGUSR1)
            self._ended(victim, in_order=True)
            self._await_done(successor)
        eventually(self._order.ready.exists, STRUCK_S)
        _signal(successor, signal.SIGTERM)
        self._ended(successor, in_order=True)

    def _start(self, order: roles.Order) -> ForkServerProcess:
        name = "victim" if order.arrow else "successor"
        process = _forking.Process(target=roles.main, args=(order,), name=name)
        with _starting:
            process.start()
        self._stack.callback(_leave_nothing, process)
        return process

    def _await_blow(self, victim: ForkServerProcess) -> None:
        eventually(lambda: self._order.struck.exists() or not _is_alive(victim) or self._opens(), STRUCK_S)
        self._order.opened.touch()
        assert self._order.struck.exists(), f"never at the arrow:\n{self._tail('victim')}"
        if self._blow is Blow.STOP:
            eventually(lambda: psutil.Process(_pid(victim)).status() == psutil.STATUS_STOPPED)
        else:
            self._ended(victim, in_order=self._blow is not Blow.KILL)

    def _opens(self) -> bool:
        """Let hosts be asked once all jobs of the fetch scene wait for them; never true."""
        if self._arrow.scene is Scene.FETCH and self._wiring.frontier.size() == COUNT:
            self._order.opened.touch()
        return False

    def _await_done(self, successor: ForkServerProcess) -> None:
        def done() -> bool:
            assert _is_alive(successor), f"the successor ended by itself:\n{self._tail('successor')}"
            self._ledger.read_on()
            return not self._ledger.missing() and not self._left()

        try:
            eventually(done, DONE_S)
        except AssertionError as error:
            raise AssertionError(
                f"{error}; missing {self._ledger.missing()}, left {self._left()}:\n{self._tail('successor')}"
            ) from None

    def _left(self) -> dict[str, int]:
        """What still waits anywhere."""
        wiring = self._wiring
        depth = wiring.queue(roles.STAGE).depth()
        waiting = {
            "queue": depth.total + depth.outbox,
            "retries": wiring.retry_set.size(),
            "frontier": wiring.frontier.size(),
            "buffer": sum(buffer.state().backlog for buffer in wiring.buffers.values()),
            "letters": wiring.stores.dead_letters.count(LetterFilter()) if self._arrow.scene is Scene.REDRIVE else 0,
            "uncommitted": self._uncommitted(),
        }
        return {name: count for name, count in waiting.items() if count}

    def _uncommitted(self) -> int:
        """What the scene's group would read again, or hasn't read yet."""
        if self._arrow.scene in (Scene.PUBLISH, Scene.DRAIN, Scene.REDRIVE):
            return 0  # nobody reads Kafka
        facts = FACTS[Stage.FETCH if self._arrow.scene is Scene.FETCH else roles.STAGE]
        group = f"{self._order.environment['KAFKA_TOPIC_PREFIX']}{facts.group}"
        try:
            return sum(self._wiring.lag.lag(group, [topic.value for topic in facts.inputs]).values())
        except LagUnknown:
            return 1

    def _ended(self, process: ForkServerProcess, *, in_order: bool) -> None:
        process.join(ENDS_S)
        assert not _is_alive(process), f"the {process.name} doesn't end:\n{self._tail(process.name)}"
        assert (self._folder / f"{process.name}.ended").exists() is in_order, (
            f"the {process.name} ended with {process.exitcode}:\n{self._tail(process.name)}"
        )

    def _tail(self, which: str) -> str:
        return children.tail(self._folder / f"{which}.log", 30)


_starting = threading.Lock()


def _pid(process: ForkServerProcess) -> int:
    assert process.pid is not None
    return process.pid


def _is_alive(process: ForkServerProcess) -> bool:
    return process.exitcode is None


def _signal(process: ForkServerProcess, number: signal.Signals) -> None:
    assert _is_alive(process)
    os.kill(_pid(process), number)


def _leave_nothing(process: ForkServerProcess) -> None:
    if _is_alive(process):
        process.kill()
    process.join(10)
