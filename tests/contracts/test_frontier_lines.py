"""The contract of `Frontier` for jobs that line up behind others of their host."""

from collections.abc import Sequence

import pytest

from issuetracker_dagster.adapters.memory.frontier import MemoryFrontier
from issuetracker_dagster.adapters.redis import frontier as frontier_in_redis
from issuetracker_dagster.adapters.redis.frontier import RedisFrontier
from issuetracker_dagster.errors import QueueFull
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, QueueLimits
from issuetracker_dagster.ports.hosts import Frontier
from tests.contracts.redis_worlds import CLUSTER, WORLDS, World, open_world

HOST = "news.example.com"
LEASE_MS = 60_000


@pytest.fixture(params=[*WORLDS, CLUSTER])
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


def opened(world: World, limits: QueueLimits) -> Frontier:
    return MemoryFrontier(limits, world.clock) if world.client is None else RedisFrontier(world.client, limits)


@pytest.fixture
def frontier(world: World) -> Frontier:
    return opened(world, QueueLimits())


def jobs(names: str, priority: Priority = Priority.LOW) -> Sequence[QueueEntry]:
    return [QueueEntry(f"{name}:0", priority, 1_750_000_000_000, name.encode()) for name in names]


def taken(frontier: Frontier, claim_id: str) -> str:
    return "".join(lease.envelope.decode() for _, lease in frontier.take(claim_id, 10, LEASE_MS))


def test_jobs_line_up_in_their_order_behind_those_that_wait(frontier: Frontier, world: World) -> None:
    frontier.defer(HOST, jobs("a")[0], world.now_ms())
    frontier.line_up(HOST, jobs("bcd"))
    frontier.line_up(HOST, jobs("h", Priority.HIGH))
    assert frontier.size() == 5
    order = ""
    for number in range(5):
        order += taken(frontier, f"c{number}")
        world.passes(120)
    assert order == "habcd"


@pytest.fixture
def short_hold_ms(monkeypatch: pytest.MonkeyPatch) -> int:
    """How long a host is hidden from others at most when its taker dies."""
    monkeypatch.setattr(frontier_in_redis, "HOLD_MS", 50)
    return 50


@pytest.mark.parametrize("lined_up", ["b", "ab"])
def test_those_who_line_up_do_not_bring_the_host_forward(
    frontier: Frontier, world: World, short_hold_ms: int, lined_up: str
) -> None:
    frontier.defer(HOST, jobs("a")[0], world.now_ms() + 20 * short_hold_ms)
    frontier.line_up(HOST, jobs(lined_up, Priority.HIGH))
    frontier.line_up(HOST, jobs(lined_up, Priority.HIGH))
    world.passes(2 * short_hold_ms)
    assert taken(frontier, "c1") == ""
    world.passes(20 * short_hold_ms)
    assert taken(frontier, "c2") == lined_up[0]


def test_those_who_would_not_fit_do_not_bring_the_host_forward_either(world: World, short_hold_ms: int) -> None:
    frontier = opened(world, QueueLimits(max_size=2))
    frontier.defer(HOST, jobs("a")[0], world.now_ms() + 20 * short_hold_ms)
    frontier.line_up(HOST, jobs("bcd"))
    world.passes(2 * short_hold_ms)
    assert taken(frontier, "c1") == ""
    world.passes(20 * short_hold_ms)
    assert taken(frontier, "c2") == "c"


def test_a_host_where_nobody_waits_any_more_is_looked_at_at_once(frontier: Frontier, world: World) -> None:
    frontier.line_up(HOST, jobs("a"))
    assert taken(frontier, "c1") == "a"
    frontier.line_up(HOST, jobs("bc"))  # the only other one is in hand, for a minute perhaps
    assert taken(frontier, "c2") == "b"


def test_a_job_lined_up_again_is_still_one_job(frontier: Frontier, world: World) -> None:
    frontier.line_up(HOST, jobs("ab"))
    frontier.line_up(HOST, jobs("ab"))
    assert frontier.size() == 2


def test_a_full_frontier_refuses_who_lines_up(world: World) -> None:
    frontier = opened(world, QueueLimits(max_size=2, backpressure=True))
    frontier.line_up(HOST, jobs("a"))
    with pytest.raises(QueueFull):
        frontier.line_up(HOST, jobs("bcd"))
    assert taken(frontier, "c1") == "a"
