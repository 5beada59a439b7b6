"""Which mode a stage should be in, as its shifts find out."""

import pytest

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow import shift as shift_module
from issuetracker_dagster.flow.intake import intake_lock
from issuetracker_dagster.flow.shift import Mode, Shift, mode_of_queue
from issuetracker_dagster.model.queue import queue_entry
from issuetracker_dagster.model.stage import Stage
from tests.flow.world import World, message

LOCK = intake_lock(Stage.PARSER)


def test_a_stage_whose_flag_went_off_leaves_its_queue_once_that_is_empty() -> None:
    world = World()
    queue = world.queue()
    queue.push([queue_entry(message("a"))])
    mode = mode_of_queue(Stage.PARSER, queue, world.locks, lambda: False)
    assert mode() is Mode.QUEUE
    claim = queue.claim("c", 1, 60_000)
    assert mode() is Mode.QUEUE
    queue.ack(claim.leases)
    assert mode() is Mode.DIRECT


def test_an_intake_at_work_keeps_the_stage_on_its_queue() -> None:
    world = World()
    mode = mode_of_queue(Stage.PARSER, world.queue(), world.locks, lambda: False)
    world.locks.acquire(LOCK, 60_000)
    assert mode() is Mode.QUEUE


def test_two_shifts_that_look_at_the_same_moment_both_stay_with_kafka() -> None:
    world = World()
    mode = mode_of_queue(Stage.PARSER, world.queue(), world.locks, lambda: False)
    assert mode() is Mode.DIRECT
    world.locks.acquire(LOCK, 60_000)  # the other one is looking
    assert mode() is Mode.DIRECT


def test_entries_that_appear_after_the_switch_bring_the_stage_back_to_its_queue() -> None:
    world = World()
    queue = world.queue()
    mode = mode_of_queue(Stage.PARSER, queue, world.locks, lambda: False)
    assert mode() is Mode.DIRECT
    queue.push([queue_entry(message("late"))])
    assert mode() is Mode.QUEUE


def test_a_shift_that_begins_without_redis_reads_kafka_until_it_knows_better(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shift_module, "MODE_EVERY_S", 0.0)
    answers: list[Mode | None] = [None, None, Mode.DIRECT]
    opened: list[Mode] = []

    class Idle:
        is_paused = False

        def start(self) -> None: ...
        def check(self) -> None: ...

        def counts(self) -> dict[str, int]:
            return {}

        def finish(self, timeout_s: float) -> dict[str, int]:
            return {}

    def open_crew(mode: Mode) -> Idle:
        opened.append(mode)
        if mode is Mode.DIRECT:
            shift.stop("the test is over")
        return Idle()

    shift = Shift(
        Stage.PARSER,
        wanted_mode=lambda: answers.pop(0) if len(answers) > 1 else answers[0],
        open_crew=open_crew,
        clock=World().clock,
        duration_ms=600_000,
    )
    assert shift.run().modes == ("without redis", "direct")
    assert opened == [Mode.WITHOUT_REDIS, Mode.DIRECT]


def test_a_queue_that_cannot_be_reached_says_nothing_about_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    def out() -> str:
        raise Unavailable("Redis is out")

    world = World()
    queue = world.queue()
    monkeypatch.setattr(queue, "open", out)
    assert mode_of_queue(Stage.PARSER, queue, world.locks, lambda: True)() is None
