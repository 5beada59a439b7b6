"""A stage under load while its servers fail: publisher, intake, relay and a shift, and the ledger of what went through.

Everything runs in this process, with the product's own parts and loops; the servers are real.
"""

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.errors import PublishFailed, TransientError
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import message_of
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, RawContentRef
from issuetracker_dagster.model.records import Content
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay
from tests.journey.stage_work import RecordingHandler, running_shift, send
from tests.waiting import eventually

STAGE = Stage.PARSER
TICK_MS = 2_000
BACK_WITHIN_S = 10.0
"""How soon after a server is back work has to go on, on a machine that has a core for whatever wants to run.

On one that has three at once for each core everything takes three times as long, and so does this.
"""
WHOLE_WITHIN_S = 60.0
"""For waits that ask whether something comes about at all, and not how soon: a slow machine may take its time."""


class SavingHandler(RecordingHandler):
    """Writes a content a page, and passes it on, as long as its `gate` is open."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(STAGE)
        self._contents = wiring.stores.contents
        self.gate = threading.Event()
        self.gate.set()

    def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:  # type: ignore[override]
        self.gate.wait()
        super().handle(payload, context)
        content = Content(url=payload.url, root_id=context.root_id, title="A title", body=f"All of {context.root_id}.")
        return Outcome(forward=ContentRef(content_id=self._contents.save(content), url=payload.url))


class Words(logging.Handler):
    """What the product said at WARNING and above, by action; `texts` are the lines."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        self.bugs: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())
        if record.exc_info and getattr(record, "action", "") == "handler.bug":
            self.bugs.append(record.getMessage())

    def __contains__(self, text: str) -> bool:
        return any(text in line for line in self.texts)


class Pipeline:
    """A running stage. `sent` are the ids so far."""

    def __init__(self, wiring: Wiring, direct: Wiring, words: Words) -> None:
        self.wiring = wiring
        self.words = words
        self.handler = SavingHandler(wiring)
        self.sent: list[str] = []
        self._direct = direct
        self._ending = threading.Event()
        self._outgoing = threading.Event()

    def load(self) -> None:
        """Publish a few messages every moment until the pipeline ends or is told to `calm` down.

        What the broker hasn't confirmed is published again, as all publishers do.
        """
        number = 0
        while not self._ending.is_set() and not self._outgoing.wait(0.05):
            batch = [Headers(root_id=f"m{number + place}") for place in range(3)]
            while not self._ending.is_set():
                try:
                    send(self._direct, STAGE, *batch)
                    break
                except PublishFailed as error:
                    self.words.texts.append(str(error))
                    self._ending.wait(0.2)
            self.sent += [headers.root_id for headers in batch]
            number += len(batch)

    def burst(self, count: int, each_bytes: int) -> None:
        """Publish many messages at once, so large by a header that they carry with them."""
        padding = (("padding", b"x" * each_bytes),)
        batch = [Headers(root_id=f"burst{number}", other=padding) for number in range(count)]
        send(self._direct, STAGE, *batch)
        self.sent += [headers.root_id for headers in batch]

    def calm(self) -> None:
        """No more messages."""
        self._outgoing.set()

    def tick(self, once: Callable[[], object]) -> None:
        """A sensor: a server that is out is a reason to skip."""
        while not self._ending.wait(0.1):
            try:
                once()
            except TransientError as error:
                self.words.texts.append(str(error))  # as the tick's page shows it

    def take_in(self) -> None:
        self.wiring.intake(STAGE).tick(TICK_MS)

    def relay(self) -> None:
        relay(self.wiring, TICK_MS)

    def end(self) -> None:
        self.handler.gate.set()
        self._ending.set()

    def done(self) -> int:
        """How many messages were handled so far."""
        return len(self.handler.counts())

    def goes_on(self) -> None:
        """Work goes on within the promised time after now, when a fault has just ended."""
        self._handles_more(min(BACK_WITHIN_S * max(1.0, _waiting_per_core()), WHOLE_WITHIN_S))

    def comes_through(self) -> None:
        """Work goes on at all, in or after a fault for which no time is promised."""
        self._handles_more(WHOLE_WITHIN_S)

    def must_be_whole(self) -> None:
        """Every message arrives, nothing stays anywhere, none was blamed for the server."""
        self.calm()
        eventually(lambda: not set(self.sent) - set(self.handler.counts()), timeout_s=WHOLE_WITHIN_S)
        eventually(lambda: self._is_empty(), timeout_s=WHOLE_WITHIN_S)
        arrived = self.ids(Topic.NORMALIZED)
        assert set(arrived) == set(self.sent)
        assert not self.ids(Topic.DLQ)
        assert {headers.attempt for headers in self.handler.seen} == {1}
        assert not self.words.bugs

    def ids(self, topic: Topic) -> Counter[str]:
        """How often each id is in a topic."""
        reader = KafkaIntakeReader(self._direct.kafka, topic.value, "ledger")
        found: Counter[str] = Counter()
        try:
            while batch := reader.poll(2_000, 1_000):
                found.update(message_of(record).headers.root_id for record in batch)
        finally:
            reader.close()
        return found

    def _handles_more(self, within_s: float) -> None:
        before = self.done()
        eventually(lambda: self.done() > before + 5, timeout_s=within_s)

    def _is_empty(self) -> bool:
        return self.wiring.queue(STAGE).depth().total == 0 and self.wiring.retry_set.size() == 0


@contextmanager
def running_pipeline(
    environment: Mapping[str, str], folder: Path, *, direct: Mapping[str, str] | None = None
) -> Iterator[Pipeline]:
    """A pipeline under load. `direct` are settings of a way past the faults, for those who send and judge."""
    upgrade({**environment, **(direct or {})}["DATABASE_URL"])
    words = Words()
    product = logging.getLogger("issuetracker_dagster")
    with ExitStack() as stack:
        wiring = _wiring(dict(environment), folder / "pipeline.env", stack)
        past = _wiring({**environment, **(direct or {})}, folder / "direct.env", stack)
        past.ready()
        wiring.ready()
        product.addHandler(words)
        stack.callback(product.removeHandler, words)
        pipeline = Pipeline(wiring, past, words)
        threads = [
            threading.Thread(target=target, args=args, name=name)
            for name, target, args in (
                ("load", pipeline.load, ()),
                ("intake", pipeline.tick, (pipeline.take_in,)),
                ("relay", pipeline.tick, (pipeline.relay,)),
            )
        ]
        with running_shift(wiring, STAGE, pipeline.handler) as shift:
            for thread in threads:
                thread.start()
            try:
                eventually(lambda: pipeline.done() > 10, timeout_s=WHOLE_WITHIN_S)
                yield pipeline
                assert shift.summary().modes == ("queue",), "a shift leaves its queue for no outage"
            finally:
                pipeline.end()
                for thread in threads:
                    thread.join(30)


def _wiring(environment: Mapping[str, str], file: Path, stack: ExitStack) -> Wiring:
    file.write_text("".join(f"{name}={value}\n" for name, value in environment.items()))
    wiring = Wiring(Settings(env_file=file))
    stack.callback(wiring.close)
    return wiring


def _waiting_per_core() -> float:
    """How many processes want a core of this machine, for each that it has; of the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def again_and_again(fault: Callable[[int], None], happened: Callable[[], int], times: int, pause_s: float) -> None:
    """Let `fault` happen to one reply after another, each only when the one before has."""
    for _ in range(times):
        before = happened()
        fault(1)
        eventually(lambda before=before: happened() > before, timeout_s=WHOLE_WITHIN_S)  # type: ignore[misc]
        eventually(seconds_of(pause_s))


def seconds_of(seconds: float) -> Callable[[], bool]:
    """True once that much time has passed, for a fault that lasts."""
    until = time.monotonic() + seconds
    return lambda: time.monotonic() > until
