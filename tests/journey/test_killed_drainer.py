"""A drainer killed or stopped at an exact point of its work, on real servers."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.scripts import script as script_named
from issuetracker_dagster.flow.drain import TAKEN_OVER
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.message import message_of
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.drainer import LOCK_TTL_VARIABLE
from tests.journey.killable import draining_process
from tests.journey.ledger import everything, first_arrivals
from tests.journey.trap import Side, Trap
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

BATCH = 10
JOBS = 35
HOSTS = 3
TAKE = "buffer_take"
"""The script that takes a batch, and from its second call on removes the one before, which the broker has by then."""


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    return journey_environment | {"PUBLISHER_REDIS_BUFFER_DRAIN_BATCH": str(BATCH), LOCK_TTL_VARIABLE: "2000"}


@pytest.mark.parametrize(
    ("call", "side", "most_repeated"),
    [
        pytest.param(1, "request", 0, id="before it takes"),
        pytest.param(1, "reply", 0, id="between take and publish"),
        pytest.param(2, "request", BATCH, id="between publish and removal"),
        pytest.param(2, "reply", 0, id="after removal"),
    ],
)
def test_finding_11_killed_between_any_two_steps_nothing_is_lost_and_only_the_batch_in_hand_is_repeated(
    call: int, side: Side, most_repeated: int, wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path
) -> None:
    published = buffered(wiring, JOBS)
    with Trap(journey_environment["REDIS_URL"]) as trap:
        load(wiring, TAKE)
        trap.set(TAKE, side, call)
        with draining_process(journey_environment | {"REDIS_URL": trap.url}, tmp_path / "killed.log") as killed:
            assert trap.caught.wait(30)
            killed.kill()
    with draining_process(journey_environment, tmp_path / "successor.log"):
        eventually(lambda: len(ids(wiring)) == JOBS, timeout_s=60, interval_s=0.2)
        eventually(lambda: not wiring.buffers[Topic.CRAWL_NORMAL].state().backlog)
    # At most: what was held at the proxy may still reach the server while the process dies.
    assert ids(wiring).total() <= JOBS + most_repeated
    assert first_arrivals(everything(wiring, Topic.CRAWL_NORMAL)) == published


@pytest.mark.parametrize(
    ("call", "side"),
    [
        pytest.param(1, "reply", id="with a batch that it has yet to publish"),
        pytest.param(2, "request", id="with a batch that it has published"),
    ],
)
def test_finding_16_a_drainer_stopped_past_its_lock_is_replaced_and_once_resumed_repeats_at_most_a_batch(
    call: int, side: Side, wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path
) -> None:
    published = buffered(wiring, JOBS)
    log = tmp_path / "stopped.log"
    with Trap(journey_environment["REDIS_URL"]) as trap:
        load(wiring, TAKE)
        trap.set(TAKE, side, call)
        with draining_process(journey_environment | {"REDIS_URL": trap.url}, log) as stopped:
            assert trap.caught.wait(30)
            stopped.signal(signal.SIGSTOP)
            with draining_process(journey_environment, tmp_path / "successor.log") as successor:
                eventually(lambda: len(ids(wiring)) == JOBS, timeout_s=60, interval_s=0.2)
                trap.free()
                stopped.signal(signal.SIGCONT)
                eventually(lambda: TAKEN_OVER in log.read_text(), timeout_s=60)
                assert ids(wiring).total() <= JOBS + BATCH
                successor.kill()
            # Fenced, not broken: it is the next one in line.
            later = buffered(wiring, BATCH, first=JOBS)
            eventually(lambda: len(ids(wiring)) == JOBS + BATCH, timeout_s=60, interval_s=0.2)
            assert stopped.end() == 0
    assert ids(wiring).total() <= JOBS + BATCH + BATCH
    whole = {host: order + later.get(host, []) for host, order in published.items()}
    assert first_arrivals(everything(wiring, Topic.CRAWL_NORMAL)) == whole


def load(wiring: Wiring, name: str) -> None:
    """Let the server know the script, so that its first call isn't refused and sent again in full."""
    command(wiring.redis, "SCRIPT", "LOAD", script_named(name).text)


def buffered(wiring: Wiring, count: int, first: int = 0) -> dict[str, list[str]]:
    """Put jobs of some hosts into the buffer; the root ids of each host in order."""
    wiring.buffer_switch.turn(on=True)
    requests = [
        Request(job=CrawlJob(url=f"https://site{number % HOSTS}.example.com/{number}"), parent="test")
        for number in range(first, first + count)
    ]
    before = wiring.buffers[Topic.CRAWL_NORMAL].state().backlog
    by_host: dict[str, list[str]] = {}
    for message in wiring.publisher.publish(requests).published:
        by_host.setdefault((message.key or b"").decode(), []).append(message.headers.root_id)
    # A drainer may have taken some of them by now, but none may have gone past the buffer before there was one.
    assert first or wiring.buffers[Topic.CRAWL_NORMAL].state().backlog == before + count
    return by_host


def ids(wiring: Wiring) -> Counter[str]:
    """How often each root id is in the topic."""
    return Counter(message_of(record).headers.root_id for record in everything(wiring, Topic.CRAWL_NORMAL))
