"""A machine whose wall clock jumps by a day, either way, while it works: nothing is late, lost or done twice."""

import threading
import time
from collections.abc import Callable

import pytest

from issuetracker_dagster.errors import NotDue, TransientError
from issuetracker_dagster.flow.shift import Mode, Shift
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import Payload
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage
from issuetracker_dagster.pipeline import PIPELINE
from issuetracker_dagster.wiring.crews import open_crew
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay
from tests.flow.world import crawl_message
from tests.journey.stage_work import RecordingHandler, running_intake, running_shift, send
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

COUNT = 30
Jump = Callable[[], None]


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    return journey_environment | {"VALIDATE_ZSET_LEASE": "1s", "RETRY_BASE": "300ms"}


@pytest.fixture(params=[86_400.0, -86_400.0], ids=["forward", "back"])
def jump(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Moves this process's wall clock by a day when called."""
    real, real_ns = time.time, time.time_ns

    def move() -> None:
        monkeypatch.setattr(time, "time", lambda: real() + request.param)
        monkeypatch.setattr(time, "time_ns", lambda: real_ns() + int(request.param * 1e9))

    return move


class Relaying:
    """The retry relay, as its sensor would run it."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            relay(self._wiring, 500)


def test_retries_come_in_their_time_and_leases_hold(wiring: Wiring, jump: Jump) -> None:
    tries: dict[str, int] = {}
    lock = threading.Lock()

    def fails_twice(root_id: str) -> None:
        with lock:
            tries[root_id] = tries.get(root_id, 0) + 1
            if sum(tries.values()) == COUNT // 2:
                jump()
        time.sleep(0.05)  # this is the work, not a wait
        if tries[root_id] < 3:
            raise TransientError("not yet")

    handler = RecordingHandler(Stage.VALIDATE, fails_twice)
    send(wiring, Stage.VALIDATE, *[Headers(root_id=f"m{number}") for number in range(COUNT)])
    with (
        Relaying(wiring),
        running_intake(wiring, Stage.VALIDATE),
        running_shift(wiring, Stage.VALIDATE, handler) as shift,
    ):
        eventually(lambda: shift.counts().get("forwarded", 0) == COUNT, timeout_s=60)
        assert wiring.retry_set.size() == 0
        assert shift.counts()["retried"] == 2 * COUNT
        assert "leases_lost" not in shift.counts()
    assert set(tries.values()) == {3}


class Polite:
    """Asks the real host gate before each page, as fetch does."""

    def __init__(self, wiring: Wiring, jump: Jump) -> None:
        self._wiring = wiring
        self._jump = jump
        self.fetched: list[str] = []

    def handle(self, payload: Payload, context: HandlerContext) -> Outcome:
        rule = FetcherRule(host_pattern="*", requests_per_hour=36_000)
        self._wiring.host_gate.enter("news.example.com", rule, context.root_id)
        self._wiring.host_gate.leave("news.example.com", context.root_id)
        self.fetched.append(context.root_id)
        if len(self.fetched) == 3:
            self._jump()
            raise NotDue("news.example.com", self._wiring.clock.now_ms() + 500, "a pause by this process's clock")
        return Outcome(note="done")

    def close(self) -> None:
        pass


def test_jobs_that_wait_for_their_host_are_fetched_in_their_time(wiring: Wiring, jump: Jump) -> None:
    sent = [crawl_message(f"https://news.example.com/{number}", f"m{number}") for number in range(COUNT)]
    topic = CRAWL_TOPICS[sent[0].headers.priority]
    wiring.producer.publish([Outgoing.of(topic, one) for one in sent])
    handler = Polite(wiring, jump)
    shift = Shift(
        Stage.FETCH,
        wanted_mode=lambda: Mode.DIRECT,
        open_crew=lambda mode: open_crew(wiring, PIPELINE[Stage.FETCH], handler, mode),
        clock=wiring.clock,
        duration_ms=600_000,
    )
    thread = threading.Thread(target=shift.run)
    thread.start()
    try:
        eventually(lambda: len(set(handler.fetched)) == COUNT and wiring.frontier.size() == 0, timeout_s=60)
    finally:
        shift.stop("the test is over")
        thread.join(30)
    assert len(handler.fetched) == COUNT + 1
