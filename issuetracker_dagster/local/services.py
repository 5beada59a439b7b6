"""Starts, joins, stops and lists the services of a home: those that aren't configured from outside."""

import contextlib
import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import broker, children, kafka, state, valkey
from issuetracker_dagster.local.endpoints import Condition, Endpoints, ServiceStatus, without_password
from issuetracker_dagster.local.jars import default_cache
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from issuetracker_dagster.local.report import Report, Step, silent
from issuetracker_dagster.model.trace import action

logger = logging.getLogger(__name__)

_JOIN_TIMEOUT_S = 30.0
_STOP_ORDER = ("valkey", "kafka")


class LocalServices:
    """The services of one home folder.

    A non-empty `kafka_bootstrap`, `redis_url` or `database_url` is a server configured from outside: it is passed on
    and never touched. `cache` holds downloads, `repository` has Kafka's jars, `java_path` replaces the PATH.
    """

    def __init__(
        self,
        home: Path,
        *,
        kafka_bootstrap: str = "",
        redis_url: str = "",
        database_url: str = "",
        cache: Path | None = None,
        repository: str | None = None,
        java_path: str | None = None,
    ) -> None:
        self.home = home.resolve()
        self.kafka_bootstrap = kafka_bootstrap
        self.redis_url = redis_url
        self.database_url = database_url
        self._source = broker.Source(cache or default_cache(), repository, java_path)

    def start(self, report: Report = silent, *, keep: bool = False) -> Endpoints:
        """Start what isn't there, join what runs already, and return when all of it answers.

        With `keep` the services outlive `release` until `stop`. When one can't be started, those that this call
        started are stopped again. Raises ConfigError or StartFailed with a text for the user.
        """
        started: list[str] = []
        joined: list[str] = []
        warnings: list[str] = []

        def note(step: Step) -> None:
            if step.phase == "warning":
                warnings.append(step.text)
            report(step)

        with state.changing(self.home):
            try:
                for name in self._own():
                    was_there = self._ensure(name, note, keep=keep)
                    (joined if was_there else started).append(name)
            except BaseException:
                for name in reversed(started):
                    self._stop(name, report)
                raise
        return self._endpoints(tuple(started), tuple(joined), tuple(warnings))

    def stop(self, report: Report = silent) -> tuple[str, ...]:
        """Stop every service of this home and return the names of those that ran. The data stays."""
        with state.changing(self.home):
            return tuple(name for name in _STOP_ORDER if self._stop(name, report))

    def release(self, report: Report = silent) -> tuple[str, ...]:
        """Stop the services that nobody asked to keep: what `dev` leaves behind after itself."""
        with state.changing(self.home):
            known = state.read(self.home).services
            unkept = [name for name in _STOP_ORDER if name in known and not known[name].kept]
            return tuple(name for name in unkept if self._stop(name, report))

    def status(self) -> list[ServiceStatus]:
        """The present condition of every service; changes nothing."""
        known = state.read(self.home)
        lines: list[ServiceStatus] = []
        for name, outside in (("kafka", self.kafka_bootstrap), ("valkey", self.redis_url)):
            entry = known.services.get(name)
            if outside:
                lines.append(ServiceStatus(name, "configured", "external", without_password(outside)))
            elif entry is None:
                lines.append(ServiceStatus(name, "", "stopped", ""))
            else:
                lines.append(_status_of(entry))
        if self.database_url:
            lines.append(ServiceStatus("database", "configured", "external", without_password(self.database_url)))
        else:
            lines.append(ServiceStatus("database", "sqlite", "file", self._sqlite_url()))
        return lines

    def _own(self) -> tuple[str, ...]:
        wanted = []
        if not self.redis_url:
            wanted.append("valkey")
        if not self.kafka_bootstrap:
            wanted.append("kafka")
        return tuple(wanted)

    def _ensure(self, name: str, report: Report, *, keep: bool) -> bool:
        """Whether the service ran already."""
        known = state.read(self.home)
        entry = known.services.get(name)
        if entry is not None and children.is_alive(entry.identity):
            log = Path(entry.log)
            children.wait_ready(entry.identity, lambda: _answers(entry), name=name, log=log, timeout_s=_JOIN_TIMEOUT_S)
            if keep and not entry.kept:
                state.write(self.home, known.having(replace(entry, kept=True)))
            if entry.kind == broker.NOIDA:
                report(Step(name, "warning", broker.STANDS_IN))
            report(Step(name, "joined", f"already runs on {LOOPBACK}:{entry.port} (pid {entry.identity.pid})"))
            return True
        if entry is not None:
            report(
                Step(name, "working", f"the one that ran before (pid {entry.identity.pid}) is gone; resuming its data")
            )
            state.write(self.home, known.without(name))
        with self._folder_of(name, report) as hold:
            try:
                self._launch(name, report, hold, keep=keep)
            except BaseException:
                # An interrupt may fall between the fork and the record; whoever holds the lock is then found by it.
                self._stop(name, report)
                raise
        return False

    def _launch(self, name: str, report: Report, hold: int, *, keep: bool) -> None:
        began = time.monotonic()
        known = state.read(self.home)
        log = self.home / "logs" / f"{name}.log"
        ports = choose_ports(2 if name == "kafka" else 1, known.ports.get(name, ()))
        report(Step(name, "working", "starting"))
        if name == "valkey":
            kind = "valkey"
            identity = valkey.start(self.home / "valkey", ports[0], log=log, hold=hold)
        else:
            kind, identity = broker.start(
                self.home,
                ports,
                self._source,
                log=log,
                hold=hold,
                report=lambda phase, text: report(Step(name, phase, text)),
            )
        state.write(self.home, known.having(state.Service(name, kind, identity, ports, str(log), keep)))
        logger.info(
            "%s runs on port %d.", kind, ports[0], extra=action("service.started", service=name, pid=identity.pid)
        )
        took = time.monotonic() - began
        report(Step(name, "ready", f"{kind} on {LOOPBACK}:{ports[0]} (pid {identity.pid}, {took:.1f} s)"))

    @contextlib.contextmanager
    def _folder_of(self, name: str, report: Report) -> Iterator[int]:
        """The lock on this service's data; a server that a killed command left behind unrecorded is ended first."""
        left_over = self._running(name, state.State())
        if left_over is not None:
            report(Step(name, "working", f"ending one that a killed start left behind (pid {left_over.pid})"))
            children.stop(left_over, grace_s=kafka.STOP_GRACE_S)
        with state.locked(self.home, name) as handle:
            if handle is None:
                raise ConfigError(
                    f"The data of {name} in {self.home} is in use by a process that can't be seen from here. Stop it, "
                    "or choose another folder with ISSUETRACKER_HOME."
                )
            yield handle.fileno()

    def _stop(self, name: str, report: Report) -> bool:
        known = state.read(self.home)
        found = self._running(name, known)
        if found is not None:
            report(Step(name, "working", "stopping"))
            by_itself = children.stop(found, grace_s=kafka.STOP_GRACE_S)
            logger.info("%s stopped.", name, extra=action("service.stopped", service=name, by_itself=by_itself))
            text = "stopped" if by_itself else f"didn't stop within {kafka.STOP_GRACE_S:.0f} s and was killed"
            report(Step(name, "stopped" if by_itself else "warning", text))
        if name in known.services:
            state.write(self.home, known.without(name))
        return found is not None

    def _running(self, name: str, known: state.State) -> children.Identity | None:
        entry = known.services.get(name)
        if entry is not None and children.is_alive(entry.identity):
            return entry.identity
        # Not recorded, or not recognised since the clock was set: whoever holds the data is ours all the same.
        with state.locked(self.home, name) as handle:
            return state.holder(self.home, name) if handle is None else None

    def _endpoints(self, started: tuple[str, ...], joined: tuple[str, ...], warnings: tuple[str, ...]) -> Endpoints:
        running = state.read(self.home).services
        return Endpoints(
            kafka_bootstrap=self.kafka_bootstrap or f"{LOOPBACK}:{running['kafka'].port}",
            redis_url=self.redis_url or f"redis://{LOOPBACK}:{running['valkey'].port}/0",
            database_url=self.database_url or self._sqlite_url(),
            started=started,
            joined=joined,
            warnings=warnings,
        )

    def _sqlite_url(self) -> str:
        return f"sqlite:///{self.home / 'issuetracker.db'}"


def _answers(entry: state.Service) -> bool:
    return valkey.answers(entry.port) if entry.name == "valkey" else kafka.answers(entry.port)


def _status_of(entry: state.Service) -> ServiceStatus:
    condition: Condition = "stale"
    if children.is_alive(entry.identity):
        condition = "running" if _answers(entry) else "starting"
    scheme = "redis://" if entry.name == "valkey" else ""
    endpoint = f"{scheme}{LOOPBACK}:{entry.port}"
    return ServiceStatus(entry.name, entry.kind, condition, endpoint, entry.identity.pid, Path(entry.log))
