"""Shifts with handlers of a test's own, on the real sources and settlers of a stage."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.shift import Mode, Shift, mode_of_queue
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, Payload, RawContentRef, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.pipeline import PIPELINE
from issuetracker_dagster.ports.handler import Handler
from issuetracker_dagster.wiring.crews import open_crew
from issuetracker_dagster.wiring.parts import Wiring


class RecordingHandler:
    """Passes every payload on, as its stage would, and notes who came in which order."""

    def __init__(self, stage: Stage, work: Callable[[str], None] = lambda _: None) -> None:
        self.seen: list[Headers] = []
        self._stage = stage
        self._work = work
        self._lock = threading.Lock()

    def handle(self, payload: Payload, context: HandlerContext) -> Outcome:
        with self._lock:
            self.seen.append(context.headers)
        self._work(context.root_id)
        return Outcome(forward=ContentRef(content_id=1, url=payload.url))

    def close(self) -> None:
        pass

    def counts(self) -> Counter[str]:
        """How often each root id was handled."""
        with self._lock:
            return Counter(headers.root_id for headers in self.seen)


def payload_for(stage: Stage, root_id: str) -> Payload:
    """A payload as `stage` reads it, of a URL of its own."""
    url = f"https://news.example.com/{root_id}"
    if stage is Stage.PARSER:
        return RawContentRef(raw_id=1, url=url, requested_url=url, target_type=TargetType.CATEGORY, fetched_ms=1)
    return ContentRef(content_id=1, url=url)


def send(wiring: Wiring, stage: Stage, *headers: Headers) -> None:
    """Publish messages to the topic that `stage` reads."""
    topic = FACTS[stage].inputs[0]
    wiring.producer.publish(
        [
            Outgoing.of(topic, Message(one, one.root_id.encode(), encode_payload(payload_for(stage, one.root_id))))
            for one in headers
        ]
    )


def low(count: int, prefix: str = "low") -> list[Headers]:
    """Headers of low priority."""
    return [Headers(root_id=f"{prefix}{number}", priority=Priority.LOW) for number in range(count)]


@contextmanager
def running_shift(
    wiring: Wiring, stage: Stage, handler: Handler[Any], flag_is_on: Callable[[], bool] = lambda: True
) -> Iterator[Shift]:
    """A shift of `stage` in a thread of its own, ended with the block."""
    wanted = mode_of_queue(stage, wiring.queue(stage), wiring.locks, flag_is_on)

    def opened(mode: Mode) -> object:
        return open_crew(wiring, PIPELINE[stage], handler, mode)

    shift = Shift(
        stage,
        wanted_mode=wanted,
        open_crew=opened,  # type: ignore[arg-type]
        clock=wiring.clock,
        duration_ms=600_000,
        drain_timeout_ms=5_000,
    )
    thread = threading.Thread(target=shift.run)
    thread.start()
    try:
        yield shift
    finally:
        shift.stop("the test is over")
        thread.join(30)


@contextmanager
def running_intake(wiring: Wiring, stage: Stage, is_on: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """The intake of `stage`, ticking as its sensor would, while `is_on`."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.1):
            if is_on():
                with suppress(TransientError):  # a sensor skips its tick
                    wiring.intake(stage).tick(1_000)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
