"""How each kind of fault is done, and to whom."""

import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, suppress

import psutil

from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.local.children import Identity, StartFailed
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.wiring.buffering import DRAINER
from tests.contracts.redis_worlds import full
from tests.faults.proxy import FaultProxy
from tests.soak.mortal_demo import CODE_SERVER, DAEMON, MortalDemo, asked, insist, send
from tests.soak.plan import Fault, Kind
from tests.soak.servers import Servers

REPLACED_WITHIN_S = 300.0
"""When `issuetracker demo` must have brought back a part of Dagster that was killed, on a machine as slow as any."""
AGAIN_EVERY_S = 0.3
SLOW_S = 0.25
DRAIN_SCHEDULE = "drain_backlog"


class NoTarget(Exception):
    """Nobody of that kind lives at the moment."""


class Faults:
    """Hits a demo and its servers. `ending` being set ends what lasts."""

    def __init__(self, demo: MortalDemo, servers: Servers) -> None:
        self._demo = demo
        self._servers = servers
        self.ending = threading.Event()
        self._how: dict[Kind, Callable[[Fault], str]] = {
            Kind.SHIFT_KILLED: lambda fault: self._signal_shift(fault, signal.SIGKILL),
            Kind.SHIFT_TERMINATED: lambda fault: self._signal_shift(fault, signal.SIGTERM),
            Kind.SHIFT_FROZEN: self._freeze_shift,
            Kind.DRAINER_KILLED: self._kill_drainer,
            Kind.EXTRACTOR_KILLED: self._kill_extractor,
            Kind.CODE_SERVER_KILLED: lambda _: self._kill_and_see_replaced(CODE_SERVER),
            Kind.DAEMON_KILLED: lambda _: self._kill_and_see_replaced(DAEMON),
            Kind.REBOOT: lambda _: self._after(demo.reboot, "everything"),
            Kind.RUN_CANCELED: self._cancel_run,
            Kind.INTAKE_TOGGLED: self._toggle_intake,
            Kind.DRAIN_TOGGLED: self._toggle_drain,
            Kind.RELOADED: lambda _: self._after(lambda: insist(demo.reload), "code location"),
            Kind.VALKEY_KILLED: lambda fault: self._kill_server(fault, "Valkey"),
            Kind.KAFKA_KILLED: lambda fault: self._kill_server(fault, "Kafka"),
            Kind.REDIS_CUT_OFF: lambda fault: self._while(fault, _cut_off(servers.to_redis, fault), "Redis"),
            Kind.KAFKA_CUT_OFF: lambda fault: self._while(fault, _cut_off(servers.to_kafka, fault), "Kafka"),
            Kind.REDIS_SLOW: lambda fault: self._while(fault, servers.to_redis.slow(SLOW_S), "Redis"),
            Kind.KAFKA_SLOW: lambda fault: self._while(fault, servers.to_kafka.slow(SLOW_S), "Kafka"),
            Kind.REDIS_REPLIES_LOST: lambda fault: self._again_and_again(fault, servers.to_redis.lose),
            Kind.KAFKA_REPLIES_LOST: lambda fault: self._again_and_again(fault, servers.to_kafka.lose),
            Kind.REDIS_CUT_IN_REPLIES: lambda fault: self._again_and_again(fault, servers.to_redis.cut_in_mid_reply),
            Kind.KAFKA_CUT_IN_REPLIES: lambda fault: self._again_and_again(fault, servers.to_kafka.cut_in_mid_reply),
            Kind.SCRIPTS_FLUSHED: lambda _: self._tell_redis("SCRIPT", "FLUSH"),
            Kind.CLIENTS_KILLED: lambda _: self._tell_redis("CLIENT", "KILL", "TYPE", "normal"),
            Kind.REDIS_FULL: lambda fault: self._while(fault, full(servers.redis), "Redis"),
            Kind.SQL_LOCKED: self._lock_database,
        }

    def hit(self, fault: Fault) -> str:
        """Let it happen, and return when it is over: whom it met. Raises `NoTarget`, psutil.Error and what the UI, a
        server or the database raised."""
        return self._how[fault.kind](fault)

    def _signal_shift(self, fault: Fault, number: signal.Signals) -> str:
        name, identity = self._shift(fault)
        if not send(identity, number):
            raise NoTarget(name)
        return f"{name} {identity.pid}"

    def _freeze_shift(self, fault: Fault) -> str:
        name, identity = self._shift(fault)
        if not send(identity, signal.SIGSTOP):
            raise NoTarget(name)
        try:
            self.ending.wait(fault.lasts_s)
        finally:
            send(identity, signal.SIGCONT)
        return f"{name} {identity.pid}"

    def _kill_drainer(self, fault: Fault) -> str:
        (_, identity) = self._choose(fault, self._at_work([DRAINER]))
        if not send(identity, signal.SIGKILL):
            raise NoTarget(DRAINER)
        return f"{DRAINER} {identity.pid}"

    def _kill_extractor(self, fault: Fault) -> str:
        (_, shift) = self._choose(fault, self._at_work([Stage.PARSER.value]))
        children = [
            child
            for child in psutil.Process(shift.pid).children(recursive=True)
            if any("multiprocessing" in word for word in child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE
        ]
        workers = [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]
        if not workers:
            raise NoTarget("no extraction process")
        chosen = workers[fault.pick(len(workers))]
        chosen.kill()
        return f"extractor {chosen.pid}"

    def _kill_and_see_replaced(self, role: str) -> str:
        killed = self._process(role)
        send(killed, signal.SIGKILL)

        def is_replaced() -> bool:
            living = self._demo.processes().get(role, [])
            return any(one.created_s > killed.created_s for one in living) and self._demo.ui.is_up()

        if not self._until(is_replaced, REPLACED_WITHIN_S) and not self.ending.is_set():
            raise AssertionError(f"the {role} wasn't replaced within {REPLACED_WITHIN_S:.0f} s")
        return f"{role} {killed.pid}"

    def _cancel_run(self, fault: Fault) -> str:
        # An operator tries again, too, when the UI has no code server at the moment.
        return asked(lambda: self._cancel(fault))

    def _cancel(self, fault: Fault) -> str:
        beats = [beat for stage in Stage for beat in self._servers.past.heartbeats.alive(stage.value)]
        at_work = self._demo.ui.runs_at_work()
        living = [beat for beat in beats if beat.run_id in at_work]
        if not living:
            raise NoTarget("no run")
        beat = living[fault.pick(len(living))]
        self._demo.ui.terminate(beat.run_id)
        return f"{beat.stage} run {beat.run_id[:8]}"

    def _toggle_intake(self, fault: Fault) -> str:
        sensor = f"{QUEUED_STAGES[fault.pick(len(QUEUED_STAGES))].value}_intake"
        self._off_for_a_while(fault, lambda on: self._demo.ui.switch(sensor, on=on))
        return sensor

    def _toggle_drain(self, fault: Fault) -> str:
        self._off_for_a_while(fault, lambda on: self._demo.ui.switch_schedule(DRAIN_SCHEDULE, on=on))
        return DRAIN_SCHEDULE

    def _off_for_a_while(self, fault: Fault, switch: Callable[[bool], None]) -> None:
        insist(lambda: switch(False))
        try:
            self.ending.wait(fault.lasts_s)
        finally:
            insist(lambda: switch(True))

    def _kill_server(self, fault: Fault, name: str) -> str:
        server = self._servers.valkey if name == "Valkey" else self._servers.kafka
        server.kill()
        try:
            self.ending.wait(fault.lasts_s)
        finally:
            try:
                server.start()
            except StartFailed:
                server.start()
        return name

    def _while(self, fault: Fault, block: AbstractContextManager[None], name: str) -> str:
        with block:
            self.ending.wait(fault.lasts_s)
        return name

    def _again_and_again(self, fault: Fault, once: Callable[[int], None]) -> str:
        deadline = time.monotonic() + fault.lasts_s
        count = 0
        while time.monotonic() < deadline and not self.ending.wait(AGAIN_EVERY_S):
            once(1)
            count += 1
        return f"{count} replies"

    def _tell_redis(self, *words: str) -> str:
        with suppress(ConnectionError):  # it kills our connection, too
            command(self._servers.redis, *words)
        return " ".join(words)

    def _lock_database(self, fault: Fault) -> str:
        file = self._demo.home / "issuetracker.db"
        with closing(sqlite3.connect(file, timeout=30.0, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                self.ending.wait(fault.lasts_s)
            finally:
                database.execute("ROLLBACK")
        return file.name

    def _shift(self, fault: Fault) -> tuple[str, Identity]:
        return self._choose(fault, self._at_work([stage.value for stage in Stage]))

    def _at_work(self, names: Sequence[str]) -> list[tuple[str, Identity]]:
        """Runs that beat, with their process."""
        found = []
        for name in names:
            for beat in self._servers.past.heartbeats.alive(name):
                with suppress(psutil.Error, KeyError, ValueError):
                    identity = Identity.of(int(beat.info["pid"]))
                    if psutil.Process(identity.pid).environ().get("ISSUETRACKER_HOME") == str(self._demo.home):
                        found.append((name, identity))
        return found

    def _choose(self, fault: Fault, living: Sequence[tuple[str, Identity]]) -> tuple[str, Identity]:
        if not living:
            raise NoTarget("nobody is at work")
        return living[fault.pick(len(living))]

    def _process(self, role: str) -> Identity:
        found = self._demo.processes().get(role)
        if not found:
            raise NoTarget(role)
        return max(found, key=lambda one: one.created_s)

    def _until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not self.ending.wait(1.0):
            if condition():
                return True
        return False

    def _after(self, done: Callable[[], object], target: str) -> str:
        done()
        return target


def _cut_off(proxy: FaultProxy, fault: Fault) -> AbstractContextManager[None]:
    """Half of the time connections are accepted and cut, half of the time nobody listens."""
    return proxy.down() if fault.choice < 0.5 else proxy.refusing()
