"""A soak from its first server to its report."""

import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from kafka.errors import KafkaError

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.model.stage import Topic
from tests.soak.dagster_watch import figures
from tests.soak.faults import Faults
from tests.soak.ledger import Ledger
from tests.soak.leftovers import database_of, leftovers, told
from tests.soak.load import Load
from tests.soak.mortal_demo import MortalDemo, asked, insist
from tests.soak.observer import Observer
from tests.soak.result import Options, Result
from tests.soak.servers import Servers, running_servers
from tests.soak.site import Site
from tests.soak.thrower import Thrower
from tests.soak.watch import Watch

WORKING_WITHIN_S = 600.0
LOOK_EVERY_S = 5.0
TELL_EVERY_S = 15.0
EMPTY_LOOKS = 3
"""Looks in a row at which nothing may wait: between two of them a message can be in no place that is counted."""
WAITING_AT_MOST = 250
"""Messages of all sorts that may wait before the load is held back."""
Say = Callable[[str], None]


class Soak:
    """One soak in `folder`. Interrupted once it throws no more faults and judges; interrupted twice it ends."""

    def __init__(self, folder: Path, options: Options, say: Say) -> None:
        self._folder = folder
        self._options = options
        self._say = say
        self._interrupted = threading.Event()
        self._finished = threading.Event()
        self._ledger = Ledger()
        self._broken: list[str] = []
        self._began = time.monotonic()

    def run(self) -> Result:
        """Raises AssertionError when the pipeline never began to work, KeyboardInterrupt at a second interrupt."""
        with self._interruptible(), noting(self._broken), running_servers(self._folder) as servers, Site() as site:
            demo = MortalDemo(self._folder / "home", servers.through)
            observer = Observer(servers.past.kafka, self._ledger)
            try:
                return self._soaked(demo, servers, site, observer)
            finally:
                self._finished.set()
                demo.finish()
                observer.end()

    def _soaked(self, demo: MortalDemo, servers: Servers, site: Site, observer: Observer) -> Result:
        self._say("the demo starts")
        demo.start_again()
        demo.keep()
        observer.start()
        load = Load(servers.publisher, site, self._options.a_second)
        load.start()
        threading.Thread(target=self._hold_back, args=(servers, load), name="holding back", daemon=True).start()
        self._until(lambda: self._ledger.counts()[Topic.ENRICHED] > 0, WORKING_WITHIN_S, "no content was finished")
        self._say("contents arrive; faults begin")
        self._began = time.monotonic()
        watch = Watch(demo, servers)
        watch.start()
        thrower = Thrower(Faults(demo, servers))
        telling = threading.Thread(target=self._tell, args=(demo, servers, load, thrower), name="tell", daemon=True)
        telling.start()
        self._throw(thrower)
        minutes = (time.monotonic() - self._began) / 60
        self._say("no more faults, no more jobs; everything drains")
        load.stop()
        thrower.ending.set()
        if not thrower.join(300.0):
            self._say("some faults didn't end")
        insist(lambda: demo.ui.switch("seed_scheduler", on=False))
        drained_s, left = self._drained(servers, observer)
        stuck = watch.not_at_work()
        found = asked(lambda: figures(demo.ui))
        self._finished.set()
        watch.end()
        telling.join(60)
        judgement = self._ledger.judge(load.published(), database_of(servers.past, demo.home / "issuetracker.db"))
        return Result(
            minutes=minutes,
            planned=len(self._options.faults),
            thrown=tuple(
                (
                    thrown.fault.kind.value,
                    str(thrown.fault),
                    thrown.target,
                    self._recovery_s(thrown.ended_ms),
                    thrown.error,
                )
                for thrown in thrower.thrown
            ),
            judgement=judgement,
            published=len(load.published()),
            looks=watch.runs.looks,
            refused=dict(load.refused),
            left=left,
            drained_s=drained_s,
            doubles=watch.runs.doubles.longest,
            silent=watch.runs.silent.longest,
            stuck_runs=stuck,
            lives=tuple(watch.series.lives()),
            dagster=found,
            restarts=demo.restarts,
            bugs=tuple(bugs_in(demo.log())),
            broken=tuple(self._broken),
        )

    def _throw(self, thrower: Thrower) -> None:
        for fault in self._options.faults:
            if self._interrupted.wait(max(0.0, fault.at_s - (time.monotonic() - self._began))):
                return
            thrower.throw(fault)
        self._interrupted.wait(max(0.0, self._options.minutes * 60 - (time.monotonic() - self._began)))

    def _recovery_s(self, ended_ms: int) -> float | None:
        first_ms = self._ledger.enriched_after(ended_ms) if ended_ms else None
        return None if first_ms is None else (first_ms - ended_ms) / 1000

    def _drained(self, servers: Servers, observer: Observer) -> tuple[float, dict[str, int]]:
        """Wait until nothing waits anywhere; how long that took, and what still waits."""
        began = time.monotonic()
        empty, left = 0, {"unknown": 1}
        while empty < EMPTY_LOOKS and time.monotonic() - began < self._options.drain_s:
            try:
                left = leftovers(servers.past)
                if not left and not observer.is_level():
                    left = {"unread by the observer": 1}
            except (IssueTrackerError, KafkaError) as error:
                left = {f"unknown: {error}": 1}
            empty = 0 if left else empty + 1
            self._finished.wait(LOOK_EVERY_S)
        return time.monotonic() - began, left

    def _hold_back(self, servers: Servers, load: Load) -> None:
        while not self._finished.wait(LOOK_EVERY_S):
            with suppress(IssueTrackerError, KafkaError):
                load.is_held_back = sum(leftovers(servers.past).values()) > WAITING_AT_MOST

    def _tell(self, demo: MortalDemo, servers: Servers, load: Load, thrower: Thrower) -> None:
        while not self._finished.wait(TELL_EVERY_S):
            counts = self._ledger.counts()
            try:
                waiting = told(leftovers(servers.past))
            except (IssueTrackerError, KafkaError) as error:
                waiting = f"unknown ({type(error).__name__})"
            at_s = int(time.monotonic() - self._began)
            lasting = [one.fault.kind.value for one in thrower.thrown if not one.ended_ms]
            self._say(
                f"{at_s // 60}:{at_s % 60:02} faults {len(thrower.thrown)}/{len(self._options.faults)}"
                f"{' (' + ', '.join(lasting) + ')' if lasting else ''}; published {len(load.published())}, fetched "
                f"{counts[Topic.FETCHED]}, enriched {counts[Topic.ENRICHED]}, dead {counts[Topic.DLQ]}; "
                f"waiting: {waiting}"
                f"{'' if demo.is_running() else '; the demo is down'}"
            )

    def _until(self, condition: Callable[[], bool], timeout_s: float, otherwise: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline or self._interrupted.is_set():
                raise AssertionError(f"{otherwise} within {timeout_s:.0f} s; {self._folder} has the logs")
            self._interrupted.wait(1.0)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        def note(signum: int, frame: FrameType | None) -> None:
            if self._interrupted.is_set():
                raise KeyboardInterrupt
            self._say("interrupted: the ledger follows; once more ends without it")
            self._interrupted.set()

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def noting(broken: list[str]) -> Iterator[None]:
    """Within the block each thread that ends by an error is noted: it sees nothing any more, and so proves nothing."""
    before = threading.excepthook

    def note(ended: threading.ExceptHookArgs) -> None:
        broken.append(f"{ended.thread.name if ended.thread else 'a thread'}: {ended.exc_value!r}")
        before(ended)

    threading.excepthook = note
    try:
        yield
    finally:
        threading.excepthook = before


def bugs_in(log: Path) -> Iterator[str]:
    """Lines of the demo's log in which the product names a bug of its own."""
    with log.open(errors="replace") as lines:
        for line in lines:
            if " handler.bug " in line:
                yield line.strip()[:300]


def forget(folder: Path) -> None:
    """Remove what a soak left behind when nothing has to be looked into."""
    shutil.rmtree(folder, ignore_errors=True)
