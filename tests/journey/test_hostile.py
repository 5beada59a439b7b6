"""Malformed and hostile messages to every topic: each ends in the DLQ with its bytes, and the good ones between them
are handled, by real processes that none of it ends.

`HOSTILE_MESSAGES` says how many of them go to each topic; `HOSTILE_SEED` which.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kafka import KafkaProducer

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.defs.dlq_checks import dlq_health
from issuetracker_dagster.flow.redrive import RedriveOptions
from issuetracker_dagster.model.letters import Letter, LetterFilter
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.hostile import Sent, messages
from tests.journey.stage_work import running_intake
from tests.journey.test_poison import Ledger, working
from tests.waiting import eventually

COUNT = int(os.environ.get("HOSTILE_MESSAGES", "300"))
SEED = int(os.environ.get("HOSTILE_SEED", "4"))
pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(300 + COUNT // 5)]

ON_QUEUE = (Stage.PARSER, Stage.ENRICH)
"""The others read Kafka themselves."""


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    return journey_environment | {f"{stage.value.upper()}_WORKER_COUNT": "8" for stage in QUEUED_STAGES}


class DeadLetters:
    """What has come into the DLQ, by the key that each message was sent with."""

    def __init__(self, wiring: Wiring) -> None:
        self._reader = KafkaGroupReader(wiring.kafka, [Topic.DLQ.value], "test-dlq")
        self.by_key: dict[str, Record] = {}
        self.repeated = 0

    def read(self) -> int:
        for record in self._reader.poll(2_000, 50):
            name = (record.key or b"").decode()
            self.repeated += name in self.by_key
            self.by_key[name] = record
        return len(self.by_key)

    def close(self) -> None:
        self._reader.close()


@pytest.fixture
def dead(wiring: Wiring) -> Iterator[DeadLetters]:
    made = DeadLetters(wiring)
    yield made
    made.close()


def test_each_malformed_message_ends_in_the_dlq_with_its_bytes_and_no_good_one_is_harmed(
    wiring: Wiring,
    journey_environment: dict[str, str],
    tmp_path: Path,
    dead: DeadLetters,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sent = {topic: list(messages(stage, topic, COUNT, SEED)) for stage in Stage for topic in FACTS[stage].inputs}
    publish(wiring, sent)
    bad = {one.name: one for each in sent.values() for one in each if not one.is_good}
    good = {one.name for each in sent.values() for one in each if one.is_good}
    ledger = Ledger(tmp_path / "ledger")
    began = time.monotonic()
    with ExitStack() as running:
        workers = [
            running.enter_context(
                working(journey_environment, stage, "queue" if stage in ON_QUEUE else "direct", ledger)
            )
            for stage in Stage
        ]
        for stage in ON_QUEUE:
            running.enter_context(running_intake(wiring, stage))

        def is_over() -> bool:
            for worker in workers:
                worker.look()
            return dead.read() >= len(bad) and ledger.count("ended") >= len(good)

        eventually(is_over, timeout_s=120 + COUNT / 10, interval_s=0.2)
        took_s = time.monotonic() - began
    assert [worker.deaths for worker in workers] == [0] * len(workers)
    assert Counter(ledger.ids("ended")).keys() == good
    assert dead.by_key.keys() == bad.keys()
    for name, record in dead.by_key.items():
        assert record.value == (bad[name].value or b""), name
        reason = dict(record.headers)["dlq_reason"]
        assert reason == b"malformed", (name, reason)
    with capsys.disabled():
        print(
            f"\n{sum(map(len, sent.values()))} messages, {len(bad)} of them bad, in {took_s:.0f} s; "
            f"{dead.repeated} letters came twice, {ledger.count('ended') - len(good)} good ones were handled twice"
        )


def test_whatever_lies_in_the_dlq_is_indexed_and_can_be_looked_through(
    wiring: Wiring, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nobody of ours reads `enriched`, so that what lies there can only be counted."""
    wiring.ready()
    sent = {topic: list(messages(Stage.PARSER, topic, COUNT, SEED)) for topic in (Topic.DLQ, Topic.ENRICHED)}
    publish(wiring, sent)
    began = time.monotonic()

    def is_indexed() -> bool:
        wiring.dead_letter_indexer.tick(5_000)
        return dlq_health(wiring).unindexed == 0

    eventually(is_indexed, timeout_s=120 + COUNT / 10)
    took_s = time.monotonic() - began
    index = wiring.stores.dead_letters
    assert index.count(LetterFilter(states=())) == COUNT
    named = {one.name for one in sent[Topic.DLQ]}
    found: list[Letter] = []
    while more := index.after(LetterFilter(), found[-1].letter_id if found else 0, 1_000):
        kept = index.kept([letter.letter_id for letter in more])
        assert all(
            (record := kept.get(letter.letter_id) or wiring.letter_reader.read(letter)) is not None
            and (record.key or b"").decode() in named
            for letter in more
        )
        found += more
    assert len(found) == COUNT
    report = wiring.redriver.run(LetterFilter(), RedriveOptions(dry_run=True))
    assert report.looked_at == COUNT
    with capsys.disabled():
        print(f"\n{COUNT} hostile letters indexed in {took_s:.0f} s; a redrive would take up {report.redriven}")


def publish(wiring: Wiring, sent: dict[Topic, list[Sent]]) -> None:
    """As anybody might who isn't this package."""
    client = KafkaProducer(bootstrap_servers=wiring.kafka.bootstrap, max_request_size=2_000_000, linger_ms=20)
    for topic, each in sent.items():
        name = wiring.kafka.topic_name(topic)
        for one in each:
            client.send(name, value=one.value, key=one.name.encode(), headers=list(one.headers))
        client.flush()
    client.close()
