"""What the processes of the crash tests do: the product's own parts, with a handler of the tests.

Each runs until it is told to end: in order by SIGUSR1 (this is the tests' own), by SIGTERM and SIGINT as in production.
"""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from issuetracker_dagster import pipeline
from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.defs.fence import interrupts
from issuetracker_dagster.errors import AlreadyRunning, IssueTrackerError
from issuetracker_dagster.flow import direct, drain, frontier_feed, intake, publish, redrive
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.flow.shift import Mode, Shift, mode_of_queue
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.pipeline import PIPELINE
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring import crews, parts, upkeep
from issuetracker_dagster.wiring.crews import open_crew
from issuetracker_dagster.wiring.parts import Wiring
from tests.crash.arrows import Arrow, Blow, Scene
from tests.crash.handlers import FetchingHandler, ParsingHandler
from tests.crash.mortal import Fate
from tests.crash.process import interruptible, write_to

logger = logging.getLogger("tests.crash")

PARENT = "crash"
BATCH = 8
LOCK_MS = 1_500
"""Locks of ticks and drains here: long enough for one step, short enough to wait for after a kill."""
TICK_MS = 400
STAGE = Stage.PARSER


class Order(msgspec.Struct, frozen=True):
    """What a process is to do. Without an arrow it is a successor: it does all that is left of the scene."""

    scene: Scene
    environment: Mapping[str, str]
    log: Path
    struck: Path
    ended: Path
    """Made when the process ends in order: the fork server now and then forgets an exit code."""
    ready: Path
    """Made once signals end the process in order."""
    opened: Path
    """Made once hosts may be asked, in the fetch scene."""
    arrow: Arrow | None = None
    blow: Blow = Blow.KILL


def main(order: Order) -> None:
    """The life of one process."""
    write_to(order.log)
    os.environ.update(order.environment)
    _shorten_waits()
    fate = Fate(order.arrow, order.blow, order.struck) if order.arrow else None
    _readers_of(order.environment["KAFKA_TOPIC_PREFIX"], fate)
    wiring = Wiring(Settings(env_file=None))
    wiring.ready()
    logger.info("ready after %.1f s of CPU time", time.process_time())
    if fate is not None:
        _expose(wiring, fate)
    ended = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: ended.set())
    try:
        Role(order, wiring, fate, ended).run()
    finally:
        wiring.close()
    logger.info("ended, %.1f s of CPU time", time.process_time())
    # Threads that wait for a server must not keep an ended process: as after a run, it is over.
    order.ended.touch()
    os._exit(0)


class Role:
    """One process at work."""

    def __init__(self, order: Order, wiring: Wiring, fate: Fate | None, ended: threading.Event) -> None:
        self._order = order
        self._wiring = wiring
        self._fate = fate
        self._ended = ended
        self._interrupted: Callable[[], str | None] = lambda: None

    def run(self) -> None:
        scene = self._order.scene
        if self._order.arrow is None:
            self._succeed(scene)
        elif scene is Scene.PUBLISH:
            with interruptible():
                publish_all(self._wiring)
        elif scene is Scene.INTAKE:
            with interruptible():
                self._repeat(self._take_in)
        elif scene is Scene.RELAY:
            with interruptible():
                self._repeat(self._relay)
        else:
            with interrupts() as self._interrupted:
                self._work(scene)

    def _succeed(self, scene: Scene) -> None:
        with interrupts() as self._interrupted, ExitStack() as stack:
            self._order.ready.touch()
            if scene is Scene.PUBLISH:
                # Whoever asked asks again, as a page that is delivered again does.
                publish_all(self._wiring)
            if scene in (Scene.PUBLISH, Scene.DRAIN, Scene.REDRIVE):
                self._work(scene)
                return
            for tick in (
                (self._relay, self._take_in) if scene in (Scene.INTAKE, Scene.SHIFT, Scene.RELAY) else (self._relay,)
            ):
                thread = threading.Thread(target=self._repeat, args=(tick,))
                thread.start()
                stack.callback(thread.join)
            self._shift()
            self._ended.set()

    def _work(self, scene: Scene) -> None:
        if scene is Scene.REDRIVE:
            self._redrive()
        elif scene in (Scene.PUBLISH, Scene.DRAIN):
            self._drain()
        else:
            self._shift()

    def _control(self) -> str | None:
        return "told to end" if self._ended.is_set() else self._interrupted()

    def _repeat(self, tick: Callable[[], object]) -> None:
        while not self._ended.is_set():
            try:
                tick()
            except IssueTrackerError as error:
                logger.info("skipped: %s", error)
            self._ended.wait(0.05)

    def _take_in(self) -> None:
        report = self._wiring.intake(STAGE).tick(TICK_MS)
        logger.info("%s", report)

    def _relay(self) -> None:
        upkeep.relay(self._wiring, TICK_MS)

    def _drain(self) -> None:
        while not self._control():
            summary = self._wiring.drainer().run(accepts=lambda: True, control=self._control, duration_ms=60_000)
            if summary.reason != drain.BUSY:
                logger.info("%s", summary)
            self._ended.wait(0.05)

    def _redrive(self) -> None:
        while not self._control():
            with contextlib.suppress(AlreadyRunning):
                report = self._wiring.redriver.run(LetterFilter(), redrive.RedriveOptions(), control=self._control)
                if report.redriven:
                    logger.info("%s", report)
            self._ended.wait(0.05)

    def _shift(self) -> None:
        wiring, scene = self._wiring, self._order.scene
        stage = Stage.FETCH if scene is Scene.FETCH else STAGE
        handler: Any = (
            FetchingHandler(wiring.stores, self._order.opened)
            if stage is Stage.FETCH
            else ParsingHandler(wiring.stores)
        )
        if self._fate is not None and self._fate.awaits("handler"):
            handler = self._fate.wrap(handler)
        by_queue = mode_of_queue(STAGE, wiring.queue(STAGE), wiring.locks, lambda: scene is not Scene.DIRECT)
        shift = Shift(
            stage,
            wanted_mode=by_queue if stage is STAGE else lambda: Mode.DIRECT,
            open_crew=lambda mode: open_crew(wiring, PIPELINE[stage], handler, mode),
            clock=wiring.clock,
            duration_ms=600_000,
            drain_timeout_ms=wiring.settings.shift.shift_drain_timeout,
            control=self._control,
        )
        logger.info("%s", shift.run())


def requests() -> list[Request]:
    """What the publishing scenes ask for: every other job is high and goes straight to Kafka."""
    return [
        Request(
            job=CrawlJob(url=f"https://site{number % 4}.example.com/{number}"),
            parent=PARENT,
            priority=Priority.NORMAL if number % 2 else Priority.HIGH,
        )
        for number in range(24)
    ]


def publish_all(wiring: Wiring, asked: Sequence[Request] = ()) -> None:
    """Publish what is asked for."""
    wiring.publisher.publish(asked or requests())


def _expose(wiring: Wiring, fate: Fate) -> None:
    """Put the arrow into the part that it names, before anything is built upon that."""
    for name in ("producer", "batch_producer", "retry_set", "ingestion", "locks", "frontier"):
        if fate.awaits(name):
            wiring._parts[name] = fate.wrap(getattr(wiring, name))
    if fate.awaits("dead_letters"):
        wiring.stores.dead_letters = fate.wrap(wiring.stores.dead_letters)
    if fate.awaits("buffers"):
        wiring._parts["buffers"] = {topic: fate.wrap(buffer) for topic, buffer in wiring.buffers.items()}
    if fate.awaits(f"queue:{STAGE}"):
        wiring._parts[f"queue:{STAGE}"] = fate.wrap(wiring.queue(STAGE))


def _readers_of(cell: str, fate: Fate | None) -> None:
    """Groups of this cell alone, since members that another cell killed would hold up its intake."""

    def opened(reader: Callable[..., Any]) -> Callable[..., Any]:
        def make(connection: Any, topics: Any, group: str, **options: Any) -> Any:
            made = reader(connection, topics, f"{cell}{group}", **options)
            return fate.wrap(made) if fate is not None and fate.awaits("reader") else made

        return make

    parts.KafkaIntakeReader = opened(KafkaIntakeReader)  # type: ignore[attr-defined, assignment]
    # The shortest that brokers accept.
    crews.KafkaGroupReader = opened(partial(KafkaGroupReader, session_timeout_ms=6_000))  # type: ignore[attr-defined, assignment]


def _shorten_waits() -> None:
    intake.LOCK_MARGIN_MS = upkeep.LOCK_MARGIN_MS = drain.LOCK_TTL_MS = LOCK_MS
    drain.RENEW_S = drain.SURE_S = LOCK_MS / 6_000
    intake.COMMIT_S = 0.0  # each batch, so that more than one that comes twice is seen
    pipeline.FETCH_LEASE_MS = LOCK_MS
    frontier_feed.REAP_EVERY_S = 0.5
    direct.COMMIT_EVERY_S = 0.2
    publish.BATCH = redrive.BATCH = BATCH
    redrive.LOCK_MS = LOCK_MS
