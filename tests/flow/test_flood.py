"""A stage that gives up nearly everything pauses, and goes on by itself when a probe comes through."""

import threading

import pytest

from issuetracker_dagster.adapters.clock import FakeClock, SystemClock
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.flow.flood import FIRST_PAUSE_S, JUDGED, LONGEST_PAUSE_S, PROBE_S, FloodGuard
from issuetracker_dagster.flow.flood_gate import GatedSource, NotedWork
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.settle import Done, Later, Settlement
from issuetracker_dagster.flow.shift import Mode, Shift
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import QueueSource
from issuetracker_dagster.flow.supplied import SuppliedCrew
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, RawContentRef
from issuetracker_dagster.model.queue import queue_entry
from issuetracker_dagster.model.stage import Stage, Topic
from tests.flow.world import World, message
from tests.waiting import eventually, stays

DEAD = Done(succeeded=False, kind="dead_lettered")
GOOD = Done(succeeded=True, kind="forwarded")
RETRIED = Done(succeeded=False, kind="retried")


class Guarded:
    """A guard and its clock."""

    def __init__(self, share: float = 0.9) -> None:
        self.clock = FakeClock()
        self.guard = FloodGuard(Stage.PARSER, self.clock, share=share)

    def ends(self, settlement: Settlement, times: int = 1) -> None:
        for _ in range(times):
            self.guard.note(settlement)

    def floods(self) -> None:
        self.ends(DEAD, JUDGED)

    def passes(self, seconds: float) -> None:
        self.clock.advance(seconds * 1000)


def test_nothing_is_claimed_while_nearly_all_of_the_latest_messages_died() -> None:
    flooded = Guarded()
    flooded.ends(DEAD, JUDGED - 1)
    assert flooded.guard.allows(7) == 7
    flooded.ends(DEAD)
    assert flooded.guard.allows(7) == 0


@pytest.mark.parametrize(("good", "limit"), [(20, 7), (19, 0)])
def test_the_share_is_of_what_the_stage_handled(good: int, limit: int) -> None:
    flooded = Guarded()
    flooded.ends(GOOD, good)
    flooded.ends(DEAD, JUDGED - good)
    assert flooded.guard.allows(7) == limit


def test_a_long_healthy_past_does_not_delay_the_pause() -> None:
    flooded = Guarded()
    flooded.ends(GOOD, 100_000)
    flooded.floods()
    assert flooded.guard.allows(7) == 0


def test_retries_and_returns_say_nothing() -> None:
    flooded = Guarded()
    flooded.ends(DEAD, JUDGED - 1)
    flooded.ends(RETRIED, 500)
    flooded.ends(Later(5_000), 500)
    assert flooded.guard.allows(7) == 7


def test_after_the_pause_one_message_is_tried_and_the_pause_grows_while_it_dies() -> None:
    flooded = Guarded()
    flooded.floods()
    pause_s = FIRST_PAUSE_S
    for _ in range(8):
        flooded.passes(pause_s - 0.1)
        assert flooded.guard.allows(7) == 0
        flooded.passes(0.2)
        assert [flooded.guard.allows(7) for _ in range(3)] == [1, 0, 0]
        flooded.ends(DEAD)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    assert pause_s == LONGEST_PAUSE_S


def test_a_probe_that_comes_through_lets_the_stage_go_on() -> None:
    flooded = Guarded()
    flooded.floods()
    flooded.passes(FIRST_PAUSE_S)
    assert flooded.guard.allows(7) == 1
    flooded.ends(GOOD)
    assert flooded.guard.allows(7) == 7
    flooded.ends(DEAD, JUDGED - 1)
    assert flooded.guard.allows(7) == 7


def test_a_probe_without_a_verdict_is_followed_by_another() -> None:
    flooded = Guarded()
    flooded.floods()
    flooded.passes(FIRST_PAUSE_S)
    assert flooded.guard.allows(7) == 1
    flooded.ends(RETRIED)
    flooded.passes(PROBE_S)
    assert flooded.guard.allows(7) == 1


@pytest.mark.parametrize("ended", [DEAD, GOOD])
@pytest.mark.parametrize("after_s", [0, FIRST_PAUSE_S - PROBE_S, FIRST_PAUSE_S - 0.1])
def test_what_was_in_hand_when_the_pause_began_neither_lengthens_nor_ends_it(ended: Settlement, after_s: float) -> None:
    flooded = Guarded()
    flooded.floods()
    flooded.passes(after_s)
    flooded.ends(ended, 50)
    assert flooded.guard.allows(7) == 0
    flooded.passes(FIRST_PAUSE_S - after_s)
    assert flooded.guard.allows(7) == 1


@pytest.mark.parametrize("crews", [1, 2, 4, 8])
def test_however_many_shifts_a_stage_has_they_lose_two_hundred_letters_together(crews: int) -> None:
    guards = [FloodGuard(Stage.PARSER, FakeClock(), share=0.9, crews=crews) for _ in range(crews)]
    letters = 0
    while any(guard.allows(1) for guard in guards):
        for guard in guards:
            if guard.allows(1):
                guard.note(DEAD)
                letters += 1
    assert letters == JUDGED


def test_a_shift_that_lacks_something_on_its_machine_holds_up_no_other() -> None:
    broken, healthy = (FloodGuard(Stage.PARSER, FakeClock(), share=0.9, crews=2) for _ in range(2))
    for _ in range(JUDGED):
        broken.note(DEAD)
        healthy.note(GOOD)
    assert (broken.allows(1), healthy.allows(1)) == (0, 1)


def test_a_crew_whose_handler_is_broken_keeps_its_messages_and_handles_them_when_it_is_mended() -> None:
    """Its shift says so in its signs of life, from the pause to the probe that comes through."""
    world, hands = World(SystemClock()), FakeClock()  # the guard's clock stands still until the test moves it
    queue = world.queue()
    queue.push([queue_entry(message(f"m{n}")) for n in range(3 * JUDGED)])
    broken = threading.Event()
    broken.set()

    class Handler:
        def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:
            if broken.is_set():
                raise PermanentError("a library is missing", code="broken")
            return Outcome(forward=ContentRef(content_id=1, url=payload.url))

        def close(self) -> None: ...

    work: StageWork[RawContentRef] = StageWork(
        stage=Stage.PARSER,
        payload_type=RawContentRef,
        handler=Handler(),
        settler=world.settler(Stage.PARSER),
        urls=None,
    )
    source = QueueSource(Stage.PARSER, queue, world.producer, world.clock, alone=world.alone_counts(), pop_timeout_ms=0)
    guard = FloodGuard(Stage.PARSER, hands, share=0.9)
    gate = GatedSource(source, guard, world.clock)
    crew = Crew(NotedWork(work, guard), [Pool(gate, 1, "parser")], world.clock, max_batch=10)
    shift = Shift(
        Stage.PARSER,
        wanted_mode=lambda: Mode.QUEUE,
        open_crew=lambda _: SuppliedCrew(crew, [gate], [], guard),
        clock=world.clock,
        duration_ms=60_000,
    )
    thread = threading.Thread(target=shift.run)
    thread.start()
    eventually(lambda: len(world.records(Topic.DLQ)) >= JUDGED)
    assert stays(lambda: len(world.records(Topic.DLQ)) < JUDGED + 10, for_s=0.5)
    assert shift.mode == "paused"
    broken.clear()
    hands.advance(FIRST_PAUSE_S * 1000)
    eventually(lambda: queue.depth().total == 0)
    assert shift.mode == "queue"
    shift.stop("the test is over")
    thread.join(10)
    assert len(world.records(Topic.NORMALIZED)) + len(world.records(Topic.DLQ)) == 3 * JUDGED
    assert len(world.records(Topic.NORMALIZED)) > 2 * JUDGED - 10
