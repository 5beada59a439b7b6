"""A crew: claims, handles, settles; and what it leaves behind when it is told to stop."""

import threading
from collections.abc import Callable, Iterator

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.urls import MemoryProcessingLock
from issuetracker_dagster.errors import PermanentError, TransientError, Unavailable
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import QueueSource
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, RawContentRef
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, queue_entry
from issuetracker_dagster.model.stage import Stage, Topic
from tests.flow.world import World, dlq_notes, message
from tests.waiting import eventually, stays

Handle = Callable[[RawContentRef, HandlerContext], Outcome]


class Handling:
    """A handler made of a function, noting in which order it was asked."""

    def __init__(self, handle: Handle) -> None:
        self.asked: list[str] = []
        self._handle = handle

    def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:
        self.asked.append(context.root_id)
        return self._handle(payload, context)

    def close(self) -> None:
        pass


def forward(payload: RawContentRef, context: HandlerContext) -> Outcome:
    return Outcome(forward=ContentRef(content_id=1, url=payload.url))


class Works:
    """A world with one parser queue and crews on it; every crew is finished at the end."""

    def __init__(self) -> None:
        self.world = World(SystemClock())
        self.queue = self.world.queue()
        self.processing = MemoryProcessingLock(self.world.clock)
        self._running: list[Crew] = []

    def push(self, *root_ids: str, priority: Priority = Priority.NORMAL) -> None:
        self.queue.push([queue_entry(message(root_id, priority)) for root_id in root_ids])

    def crew(self, handler: Handling, slots: int = 1, lease_ms: int = 60_000) -> Crew:
        source = QueueSource(
            Stage.PARSER,
            self.queue,
            self.world.producer,
            self.world.clock,
            alone=self.world.alone_counts(),
            lease_ms=lease_ms,
            pop_timeout_ms=50,
        )
        urls = HeldUrls(self.processing, Stage.PARSER, lease_ms)
        work: StageWork[RawContentRef] = StageWork(
            stage=Stage.PARSER,
            payload_type=RawContentRef,
            handler=handler,
            settler=self.world.settler(Stage.PARSER),
            urls=urls,
        )
        crew = Crew(work, [Pool(source, slots, "parser")], self.world.clock, lease_ms=lease_ms, urls=urls)
        self._running.append(crew)
        return crew

    def close(self) -> None:
        for crew in self._running:
            crew.finish(2)


@pytest.fixture
def works() -> Iterator[Works]:
    made = Works()
    yield made
    made.close()


def is_empty(queue: MemoryStageQueue) -> bool:
    return queue.depth().total == 0


def test_every_message_is_handled_forwarded_and_acknowledged(works: Works) -> None:
    works.push(*[f"m{n}" for n in range(50)])
    works.crew(Handling(forward), slots=4).start()
    eventually(lambda: is_empty(works.queue))
    assert len(works.world.records(Topic.NORMALIZED)) == 50


def test_high_comes_before_what_waited_longer(works: Works) -> None:
    works.push("low", priority=Priority.LOW)
    works.push("normal")
    works.push("high", priority=Priority.HIGH)
    handler = Handling(forward)
    works.crew(handler).start()
    eventually(lambda: is_empty(works.queue))
    assert handler.asked == ["high", "normal", "low"]


def test_a_slow_handler_is_given_one_message_at_a_time(works: Works) -> None:
    """So that a message of high priority waits for the one in hand and no other."""
    gate = threading.Event()

    def slow(payload: RawContentRef, context: HandlerContext) -> Outcome:
        if context.root_id == "m0":
            works.push("high", priority=Priority.HIGH)
        gate.wait(0.02)
        return forward(payload, context)

    works.push(*[f"m{n}" for n in range(5)])
    handler = Handling(slow)
    works.crew(handler).start()
    eventually(lambda: is_empty(works.queue))
    assert handler.asked[:2] == ["m0", "high"]


def test_a_bug_in_a_handler_costs_its_message_a_try_and_nothing_else(
    works: Works, caplog: pytest.LogCaptureFixture
) -> None:
    def buggy(payload: RawContentRef, context: HandlerContext) -> Outcome:
        if context.root_id == "bad":
            raise KeyError("nobody expected this")
        return forward(payload, context)

    works.push("bad", "good")
    crew = works.crew(Handling(buggy))
    crew.start()
    eventually(lambda: is_empty(works.queue))
    (entry,) = works.world.retry_set.due(10**15)
    assert entry.message.headers.root_id == "bad"
    assert len(works.world.records(Topic.NORMALIZED)) == 1
    assert crew.counts()["bug_retried"] == 1
    assert "nobody expected this" in caplog.text
    assert "Traceback" in caplog.text


def test_a_handler_that_returns_something_else_is_a_bug(works: Works) -> None:
    def forgetful(payload: RawContentRef, context: HandlerContext) -> Outcome:
        return None  # type: ignore[return-value]

    works.push("a")
    works.crew(Handling(forgetful)).start()
    eventually(lambda: works.world.retry_set.size() == 1)


def test_a_payload_that_does_not_decode_is_dead_lettered(works: Works) -> None:
    good = queue_entry(message("a"))
    broken = message("broken")
    works.queue.push([queue_entry(type(broken)(broken.headers, broken.key, b"{not json", broken.origin)), good])
    works.crew(Handling(forward)).start()
    eventually(lambda: is_empty(works.queue))
    (dead,) = works.world.records(Topic.DLQ)
    assert dead.value == b"{not json"
    assert dlq_notes(dead)["reason"] == "malformed"
    assert len(works.world.records(Topic.NORMALIZED)) == 1


@pytest.mark.parametrize("envelope", [b"\xc1junk", b"\x81\xa1x" * 10_000], ids=["junk", "nested without end"])
def test_an_envelope_that_does_not_decode_is_dead_lettered_with_its_bytes(works: Works, envelope: bytes) -> None:
    works.queue.push([QueueEntry("x:0", Priority.NORMAL, 0, envelope)])
    works.crew(Handling(forward)).start()
    eventually(lambda: is_empty(works.queue))
    assert works.world.records(Topic.DLQ)[0].value == envelope


def test_a_long_handler_keeps_its_lease(works: Works) -> None:
    release = threading.Event()

    def long(payload: RawContentRef, context: HandlerContext) -> Outcome:
        release.wait(10)
        return forward(payload, context)

    works.push("slow")
    handler = Handling(long)
    crew = works.crew(handler, slots=2, lease_ms=150)
    crew.start()
    began = works.world.clock.monotonic()
    eventually(lambda: works.world.clock.monotonic() - began > 0.6)  # four leases long
    works.queue.reap()
    release.set()
    eventually(lambda: is_empty(works.queue))
    assert handler.asked == ["slow"]
    assert crew.counts().get("leases_lost", 0) == 0


def test_the_url_of_a_long_handler_stays_locked_for_as_long_as_its_message_is_in_hand(works: Works) -> None:
    inside, release = threading.Event(), threading.Event()
    url = "https://news.example.com/slow"

    def long(payload: RawContentRef, context: HandlerContext) -> Outcome:
        inside.set()
        release.wait(10)
        return forward(payload, context)

    works.push("slow")
    works.crew(Handling(long), lease_ms=300).start()
    assert inside.wait(5)
    assert stays(lambda: not works.processing.acquire("parser", url, "another root", 1), 1.0)  # three leases long
    release.set()
    eventually(lambda: works.processing.acquire("parser", url, "another root", 60_000))


def test_the_url_of_a_handler_that_was_given_up_is_free_after_a_lease(works: Works) -> None:
    inside, release = threading.Event(), threading.Event()

    def stuck(payload: RawContentRef, context: HandlerContext) -> Outcome:
        inside.set()
        release.wait(30)
        return forward(payload, context)

    works.push("stuck")
    crew = works.crew(Handling(stuck), lease_ms=300)
    crew.start()
    assert inside.wait(5)
    crew.finish(0.1)
    eventually(lambda: works.processing.acquire("parser", "https://news.example.com/stuck", "another root", 60_000))
    release.set()


def test_stopping_lets_the_message_in_hand_finish_and_gives_the_rest_back(works: Works) -> None:
    inside, release = threading.Event(), threading.Event()

    def held(payload: RawContentRef, context: HandlerContext) -> Outcome:
        inside.set()
        release.wait(10)
        return forward(payload, context)

    works.push("in hand", "waiting")
    crew = works.crew(Handling(held))
    crew.start()
    assert inside.wait(5)
    crew.stop()
    release.set()
    counts = crew.finish(5)
    assert counts["forwarded"] == 1
    depth = works.queue.depth()
    assert (depth.ready, depth.leased) == (1, 0)


def test_a_handler_that_never_ends_does_not_hold_up_the_stop_and_its_message_comes_back(works: Works) -> None:
    release = threading.Event()

    def stuck(payload: RawContentRef, context: HandlerContext) -> Outcome:
        release.wait(30)
        return forward(payload, context)

    works.push("stuck")
    crew = works.crew(Handling(stuck))
    crew.start()
    eventually(lambda: works.queue.depth().leased == 1)
    began = works.world.clock.monotonic()
    crew.finish(0.2)
    assert works.world.clock.monotonic() - began < 5
    depth = works.queue.depth()
    release.set()
    assert (depth.ready, depth.leased) == (1, 0)


def test_a_url_at_work_elsewhere_comes_back_with_its_attempt_unchanged(works: Works) -> None:
    works.processing.acquire("parser", "https://news.example.com/a", "another root", 60_000)
    works.push("a")
    handler = Handling(forward)
    works.crew(handler).start()
    eventually(lambda: works.queue.depth().delayed == 1)
    assert handler.asked == []
    assert works.world.retry_set.size() == 0


def test_the_lock_of_a_url_is_free_again_whatever_the_handler_did(works: Works) -> None:
    def failing(payload: RawContentRef, context: HandlerContext) -> Outcome:
        raise PermanentError("no", code="no")

    works.push("a")
    works.crew(Handling(failing)).start()
    eventually(lambda: is_empty(works.queue))
    assert works.processing.acquire("parser", "https://news.example.com/a", "another root", 60_000)


def test_an_outage_of_the_queue_pauses_the_slots_and_loses_nothing(
    works: Works, caplog: pytest.LogCaptureFixture
) -> None:
    claim = works.queue.claim
    outages = iter([True, True])

    def flaky(*args: object, **kwargs: object) -> object:
        if next(outages, False):
            raise Unavailable("Redis is out")
        return claim(*args, **kwargs)  # type: ignore[arg-type]

    works.queue.claim = flaky  # type: ignore[method-assign, assignment]
    works.push("a")
    crew = works.crew(Handling(forward))
    crew.start()
    eventually(lambda: is_empty(works.queue))
    assert crew.counts()["paused"] == 2
    assert caplog.text.count("Redis is out") == 1  # told once, however often it is asked


def test_a_failing_message_does_not_stop_its_neighbours(works: Works) -> None:
    def picky(payload: RawContentRef, context: HandlerContext) -> Outcome:
        if context.root_id.startswith("t"):
            raise TransientError("later")
        return forward(payload, context)

    works.push("t1", "a", "t2", "b")
    works.crew(Handling(picky), slots=2).start()
    eventually(lambda: is_empty(works.queue))
    assert works.world.retry_set.size() == 2
    assert len(works.world.records(Topic.NORMALIZED)) == 2


def test_a_page_is_not_handled_again_because_its_lock_could_not_be_given_back(works: Works) -> None:
    def out(*args: object) -> None:
        raise Unavailable("Redis is out")

    works.processing.release = out  # type: ignore[method-assign, assignment]
    works.push("a")
    handler = Handling(forward)
    works.crew(handler).start()
    eventually(lambda: is_empty(works.queue))
    assert len(works.world.records(Topic.NORMALIZED)) == 1
