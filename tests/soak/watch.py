"""Looks at a soak while it runs: the processes of the demo, runs and their signs of life, memory and handles."""

import threading
import time
from contextlib import suppress

import psutil

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.local.children import Identity
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.buffering import DRAINER
from tests.soak.dagster_watch import RunsWatch, unfinished
from tests.soak.mortal_demo import CODE_SERVER, DAEMON, WEBSERVER, MortalDemo
from tests.soak.servers import Servers
from tests.soak.vitals import Series

LOOK_EVERY_S = 5.0
MEASURE_EVERY = 3
"""Looks from one measurement of memory to the next."""
HEALED_WITHIN_S = 240.0
BEAT_MS = 30_000
_UI_IS_AWAY = (OSError, KeyError, TypeError, AssertionError)


class Watch:
    """Looks every few seconds, in a thread of its own."""

    def __init__(self, demo: MortalDemo, servers: Servers) -> None:
        self._demo = demo
        self._servers = servers
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.series = Series()
        self.runs = RunsWatch()

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """No more looks."""
        self._ending.set()
        self._thread.join(60)

    def not_at_work(self) -> tuple[str, ...]:
        """Runs that haven't ended and don't work either, and stages without a shift, when some time to heal has
        passed."""
        deadline = time.monotonic() + HEALED_WITHIN_S
        while True:
            amiss = self._not_at_work()
            if not amiss or time.monotonic() > deadline:
                return amiss
            self._ending.wait(LOOK_EVERY_S)

    def _not_at_work(self) -> tuple[str, ...]:
        try:
            beats = beating(self._servers)
            runs = unfinished(self._demo.ui)
        except (*_UI_IS_AWAY, IssueTrackerError) as error:
            return (f"nobody could be asked: {error}",)
        stuck = [f"{run.place} {run.status} {run.run_id}" for run in runs if run.run_id not in beats]
        missing = [f"{stage.value} has no shift" for stage in Stage if stage.value not in beats.values()]
        return (*stuck, *missing)

    def _run(self) -> None:
        began, looks = time.monotonic(), 0
        while not self._ending.wait(LOOK_EVERY_S):
            looks += 1
            with suppress(*_UI_IS_AWAY):
                self._look_at_runs()
            if looks % MEASURE_EVERY == 0:
                self.series.look(processes(self._demo, self._servers), time.monotonic() - began)

    def _look_at_runs(self) -> None:
        runs = unfinished(self._demo.ui)
        try:
            beats, redis_is_up = beating(self._servers), True
        except IssueTrackerError:
            beats, redis_is_up = {}, False
        self.runs.look(runs, list(beats), time.monotonic(), redis_is_up=redis_is_up)


def processes(demo: MortalDemo, servers: Servers) -> dict[str, list[Identity]]:
    """Every process that is to stay flat, by its role."""
    found = {role: members for role, members in demo.processes().items() if role in (CODE_SERVER, DAEMON, WEBSERVER)}
    for name, server in (("Valkey", servers.valkey), ("Kafka", servers.kafka)):
        with suppress(psutil.Error):
            found[name] = [Identity.of(server.pid)]
    for name in (*(stage.value for stage in Stage), DRAINER):
        with suppress(IssueTrackerError):
            for beat in servers.past.heartbeats.alive(name):
                with suppress(psutil.Error, KeyError, ValueError):
                    found.setdefault(f"{name} run", []).append(Identity.of(int(beat.info["pid"])))
    return found


def beating(servers: Servers) -> dict[str, str]:
    """What each run does that has shown itself lately, by its id. Raises `Unavailable`."""
    heartbeats = servers.past.heartbeats
    now_ms = heartbeats.now_ms()
    return {
        beat.run_id: name
        for name in (*(stage.value for stage in Stage), DRAINER)
        for beat in heartbeats.alive(name)
        if now_ms - beat.at_ms <= BEAT_MS
    }
