"""Draining begins for a group that has committed nothing, and ends when buffering goes off under load."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.flow.drain import EMPTIED, BufferDrainer
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.drain import DrainSummary
from issuetracker_dagster.model.message import message_of
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.burst_load import SlowCrawler, in_thread
from tests.journey.ledger import everything
from tests.waiting import eventually, stays

pytestmark = [pytest.mark.services, pytest.mark.slow]

TARGET = 20
BATCH = 7
JOBS = 90


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    return journey_environment | {
        "PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG": str(TARGET),
        "PUBLISHER_REDIS_BUFFER_DRAIN_BATCH": str(BATCH),
        "PUBLISHER_REDIS_BUFFER_DRAIN_INTERVAL": "500ms",
    }


@pytest.mark.parametrize("joined", [False, True], ids=["nobody has ever joined", "a member that commits nothing"])
def test_finding_15_a_fresh_group_that_has_committed_nothing_is_drained_up_to_the_target(
    joined: bool, wiring: Wiring, journey_environment: dict[str, str]
) -> None:
    group = f"{journey_environment['KAFKA_TOPIC_PREFIX']}crawlers"
    reader = KafkaGroupReader(wiring.kafka, [Topic.CRAWL_NORMAL.value], group)
    with ExitStack() as stack:
        if joined:
            stack.callback(reader.close)
            reader.poll(1, 100)
        wiring.buffer_switch.turn(on=True)
        publish(wiring, 0, JOBS)
        stack.enter_context(draining(wiring.drainer(group=group), threading.Event()))
        eventually(lambda: arrived(wiring) >= TARGET, timeout_s=30, interval_s=0.2)
        assert stays(lambda: arrived(wiring) == TARGET, for_s=3)
        assert wiring.buffers[Topic.CRAWL_NORMAL].state().backlog == JOBS - TARGET
        # What the group takes is what it is given anew.
        if not joined:
            stack.callback(reader.close)
        taken = 0
        while taken < BATCH:
            records = reader.poll(BATCH - taken, 200)
            reader.settled(records)
            reader.commit()
            taken += len(records)
        eventually(lambda: arrived(wiring) >= TARGET + BATCH, timeout_s=30, interval_s=0.2)
        assert stays(lambda: arrived(wiring) == TARGET + BATCH, for_s=3)


def test_switched_off_under_load_the_buffer_empties_every_id_arrives_and_nothing_is_put_aside_any_more(
    wiring: Wiring,
) -> None:
    off = threading.Event()
    published: list[str] = []

    def load(ended: threading.Event) -> None:
        # A burst until the flag goes off, then less than the crawler reads: emptying, too, heeds the target.
        number = 0
        while not ended.wait(0.02):
            count = 3 if off.is_set() else 50
            published.extend(publish(wiring, number, count))
            number += count

    buffer = wiring.buffers[Topic.CRAWL_NORMAL]
    crawler = SlowCrawler(wiring, rate=400)
    with in_thread(crawler.run), draining(wiring.drainer(), off) as summaries:
        eventually(wiring.buffer_switch.is_on, timeout_s=20)
        with in_thread(load):
            eventually(lambda: buffer.state().backlog > 300, timeout_s=60)
            off.set()
            eventually(lambda: summaries, timeout_s=120)
            assert buffer.state().backlog == 0
            at_the_end = len(published)
            eventually(lambda: len(published) > at_the_end + 200, timeout_s=30)
            assert stays(lambda: buffer.state().backlog == 0, for_s=2)
    assert [summary.reason for summary in summaries] == [EMPTIED]
    found = [message_of(record).headers.root_id for record in everything(wiring, Topic.CRAWL_NORMAL)]
    assert sorted(found) == sorted(published)
    assert 300 < summaries[0].published["normal"] < len(published) - 200


@contextmanager
def draining(drainer: BufferDrainer, off: threading.Event) -> Iterator[list[DrainSummary]]:
    """A drain run in a thread; gives its summary once it has ended. `off` is the toggle."""
    summaries: list[DrainSummary] = []

    def run(ended: threading.Event) -> None:
        def control() -> str | None:
            return "the test is over" if ended.is_set() else None

        summaries.append(drainer.run(accepts=lambda: not off.is_set(), control=control, duration_ms=300_000))

    with in_thread(run):
        yield summaries


def publish(wiring: Wiring, first: int, count: int) -> list[str]:
    """Publish normal jobs; their root ids."""
    requests = [
        Request(job=CrawlJob(url=f"https://site{number % 5}.example.com/{number}"), parent="test")
        for number in range(first, first + count)
    ]
    return [message.headers.root_id for message in wiring.publisher.publish(requests).published]


def arrived(wiring: Wiring) -> int:
    """How many messages crawl.normal holds, by the lag of a group that doesn't exist."""
    return sum(wiring.lag.lag("nobody", [Topic.CRAWL_NORMAL]).values())
