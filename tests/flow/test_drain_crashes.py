"""A drainer killed at any call: every job arrives, in its host's order, and at most a batch arrives twice."""

from collections import Counter

import pytest

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.drain import LOCK_TTL_MS
from issuetracker_dagster.ports.topics import Producer
from tests.flow.drain_world import Death, DrainWorld, Killed, Refusing

BATCH = 4
NAMES = [f"{host}-{number}" for number in range(5) for host in ("a", "b", "c")]


def first_arrivals(world: DrainWorld, host: str) -> list[str]:
    return list(dict.fromkeys(name for name in world.arrived() if name.startswith(host)))


def drain_and_die(world: DrainWorld, death: Death, producer: Producer) -> bool:
    """Whether the drainer was killed before its time was over."""
    try:
        world.drain(
            buffers={topic: death.mortal(buffer) for topic, buffer in world.buffers.items()},
            producer=death.mortal(producer),
            retries=death.mortal(world.retry_set),
            locks=death.mortal(world.locks),
            control=world.relaying(),
            duration_ms=12_000,
            batch=BATCH,
        )
    except Killed:
        return True
    return False


def crash_at_every_call(after: bool, refusals: int, prefix: int, most_repeats: int) -> int:
    """Kill at the first call, the second, and so on until the run survives; how many calls that were."""
    for at in range(1, 2_000):
        world = DrainWorld()
        world.fill(NAMES)
        producer = Refusing(world.producer, times=refusals, prefix=prefix)
        killed = drain_and_die(world, Death(at, after=after), producer)
        world.fake_clock.advance(LOCK_TTL_MS + 1)
        world.drain(control=world.relaying(), duration_ms=30_000, batch=BATCH)
        assert Counter(set(world.arrived())) == Counter(NAMES), f"killed at call {at}"
        assert len(world.arrived()) - len(NAMES) <= most_repeats, f"killed at call {at}"
        for host in "abc":
            expected = [name for name in NAMES if name.startswith(host)]
            assert first_arrivals(world, host) == expected, f"killed at call {at}"
        assert world.normal.state().backlog == 0
        assert world.retry_set.size() == 0
        assert not world.normal.paused()
        if not killed:
            return at
    raise IssueTrackerError("the run never ended")


@pytest.mark.parametrize("after", [False, True], ids=["before the effect", "after the effect"])
def test_finding_11_killed_at_any_call_nothing_is_lost_and_at_most_a_batch_comes_twice(after: bool) -> None:
    assert crash_at_every_call(after, refusals=0, prefix=0, most_repeats=BATCH) > 20


@pytest.mark.parametrize("after", [False, True], ids=["before the effect", "after the effect"])
def test_finding_13_killed_at_any_call_around_a_refused_batch_order_survives(after: bool) -> None:
    calls = crash_at_every_call(after, refusals=1, prefix=2, most_repeats=BATCH + 2)
    assert calls > 25
