"""Which mode a stage should be in, as its shifts find out."""

import pytest

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.intake import intake_lock
from issuetracker_dagster.flow.shift import Mode, mode_of_queue
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


def test_a_queue_that_cannot_be_reached_says_nothing_about_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    def out() -> str:
        raise Unavailable("Redis is out")

    world = World()
    queue = world.queue()
    monkeypatch.setattr(queue, "open", out)
    assert mode_of_queue(Stage.PARSER, queue, world.locks, lambda: True)() is None
