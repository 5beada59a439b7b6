"""Dead letters on a real Kafka and SQLite: killed at every call, the index equals the topic and redrives lose none."""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.flow.redrive import BATCH, RedriveOptions
from issuetracker_dagster.model.letters import LetterFilter, LetterState
from issuetracker_dagster.model.message import Outgoing, Record, message_of
from issuetracker_dagster.model.payload import encode_payload
from issuetracker_dagster.model.redrive import Left, lives
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.dead_letters import written
from tests.journey.dlq_worker import once_free
from tests.journey.stage_work import RecordingHandler, payload_for, running_intake, running_shift
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
ALL = LetterFilter(states=())
OPEN = LetterFilter()


def records(wiring: Wiring, topic: Topic) -> list[Record]:
    """Everything that lies in a topic."""
    reader = KafkaIntakeReader(wiring.kafka, topic.value, f"looking-{time.monotonic_ns()}")
    found: list[Record] = []
    while more := reader.poll(1_000, 1_000):
        found += more
    reader.close()
    return found


def killed(environment: dict[str, str], *words: str) -> None:
    """Run the worker until it has killed itself."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.journey.dlq_worker", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert ended.returncode == -9, ended.stderr


def indexed(wiring: Wiring) -> None:
    wiring.dead_letter_indexer.tick(30_000)


def bury(wiring: Wiring, count: int, name: str = "root") -> None:
    at_ms = wiring.clock.now_ms()
    wiring.producer.publish(
        [written(f"{name}{n}", b'{"url": "https://h%d.com/"}' % (n % 7), at_ms=at_ms) for n in range(count)]
    )


def test_the_index_equals_the_topic_after_kills_before_and_after_store_and_commit(
    wiring: Wiring, journey_environment: dict[str, str]
) -> None:
    bury(wiring, 300)
    junk = [Outgoing(Topic.DLQ, None, os.urandom(90), [("root_id", b"\xff"), ("x", b"\x00")]) for _ in range(30)]
    large = [written("large", b"x" * 900_000), written("small", b"y")]
    wiring.producer.publish([*junk, *large])
    deaths = [("record", 1, "before"), ("record", 2, "after"), ("commit", 1, "before"), ("commit", 2, "after")]
    for method, nth, when in deaths:
        killed(journey_environment, "index", method, str(nth), when)
    assert 0 < wiring.stores.dead_letters.count() < 332
    indexed(wiring)
    lying = records(wiring, Topic.DLQ)
    found = wiring.stores.dead_letters.after(ALL, 0, 1_000)
    places = {(record.origin.partition, record.origin.offset) for record in lying}
    assert len(found) == len(lying) == 332
    assert {(letter.dlq_partition, letter.dlq_offset) for letter in found} == places
    by_place = {(record.origin.partition, record.origin.offset): record for record in lying}
    kept = wiring.stores.dead_letters.kept([letter.letter_id for letter in found])
    for letter in found:
        record = by_place[letter.dlq_partition, letter.dlq_offset]
        again = kept.get(letter.letter_id) or wiring.letter_reader.read(letter)
        assert again == record
    indexed(wiring)
    assert wiring.stores.dead_letters.count() == 332


@pytest.mark.parametrize("death", [("publish", "after"), ("mark", "before"), ("mark", "after")])
def test_a_redrive_that_is_killed_loses_none_and_repeats_at_most_a_batch(
    wiring: Wiring, journey_environment: dict[str, str], death: tuple[str, str]
) -> None:
    bury(wiring, 5 * BATCH)
    indexed(wiring)
    method, when = death
    for _ in range(2):
        killed(journey_environment, "redrive", method, "2", when)
    report = once_free(lambda: wiring.redriver.run(OPEN, RedriveOptions(rate=10_000)))
    assert report.redriven > 0
    assert wiring.stores.dead_letters.count(OPEN) == 0
    counts = Counter(message_of(record).identity for record in records(wiring, Topic.FETCHED))
    assert set(counts) == {f"root{n}:1" for n in range(5 * BATCH)}
    repeated = sum(counts.values()) - 5 * BATCH
    assert repeated <= (0 if death == ("mark", "after") else 2 * BATCH)


def test_a_redriven_letter_goes_through_its_stage_and_comes_back_with_its_history_and_count(wiring: Wiring) -> None:
    good, spoilt = (encode_payload(payload_for(Stage.PARSER, root)) for root in ("good", "bad"))
    wiring.producer.publish(
        [written("good", good), written("bad", spoilt, error="the first time"), written("huge", b"x" * 900_000)]
    )
    indexed(wiring)

    def work(root_id: str) -> None:
        if root_id == "bad":
            raise PermanentError("and the second", code="http_410")

    assert wiring.redriver.run(OPEN, RedriveOptions()).redriven == 3
    handler = RecordingHandler(Stage.PARSER, work)
    with running_intake(wiring, Stage.PARSER), running_shift(wiring, Stage.PARSER, handler):
        eventually(lambda: len(records(wiring, Topic.DLQ)) == 5, timeout_s=60, interval_s=0.5)
    indexed(wiring)
    (bad,) = wiring.stores.dead_letters.newest(LetterFilter(named="bad"), 9)
    assert (bad.identity, bad.reason, bad.redrive_count, bad.state) == ("bad:1", "http_410", 1, LetterState.OPEN)
    (life,) = lives(wiring.stores.dead_letters.kept([bad.letter_id])[bad.letter_id].headers)
    assert (life.reason, life.error, life.generation) == ("http_404", "the first time", 0)
    assert handler.counts() == {"good": 1, "bad": 1}
    left = wiring.redriver.run(LetterFilter(named="bad"), RedriveOptions(dry_run=True))
    assert (left.redriven, left.left) == (1, dict[Left, int]())
