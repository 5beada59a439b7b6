"""Kafka to the stage queue, validation included, against a bare kafka-python poll loop that decodes nothing.

On a Kafka and an append-only Valkey of its own. Both read the same topic from its beginning, by turns, with the same
consumer options and at most as many records a poll. The intake judges each record's headers, stores it under its
priority, waits until the disk has it, and commits.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition

from benchmarks.entries import messages
from benchmarks.figures import Result, Say, against
from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.flow.intake import ZSetIntake
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.ports.topics import Position, TopicPartition
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.burst import wiring_of
from tests.journey.killable import killable_kafka, killable_valkey

RECORDS, ROUNDS, PUBLISH = 20_000, 5, 1_000
TARGET = 0.45
BUDGET_MS, DEADLINE_S = 1_000, 60.0
STAGE = Stage.PARSER
TOPIC = FACTS[STAGE].inputs[0]


def measure(say: Say) -> Result:
    """Records a second of both, and what the parts of the intake take."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with killable_valkey(folder / "valkey") as redis, killable_kafka(folder / "kafka") as kafka:
            environment = {
                "ISSUETRACKER_HOME": str(folder / "home"),
                "KAFKA_BOOTSTRAP_SERVERS": kafka.address,
                "REDIS_URL": redis.address,
                "DATABASE_URL": f"sqlite:///{folder / 'bench.db'}",
            }
            upgrade(environment["DATABASE_URL"])
            with wiring_of(environment, folder) as wiring:
                say(f"publishing {RECORDS:,} records")
                _publish(wiring)
                _round(wiring, "bench-warm")
                rounds = []
                for number in range(ROUNDS):
                    say(f"round {number + 1} of {ROUNDS}: {RECORDS:,} records, bare and through the intake")
                    rounds.append(_round(wiring, f"bench-{number}"))
    bare, stored = zip(*rounds, strict=True)
    return Result(figures=(against("intake, of a bare poll loop", "msg/s", stored, bare, TARGET),))


def _publish(wiring: Wiring) -> None:
    made = messages(RECORDS)
    for first in range(0, RECORDS, PUBLISH):
        wiring.producer.publish([Outgoing.of(TOPIC, message) for message in made[first : first + PUBLISH]])


def _round(wiring: Wiring, group: str) -> tuple[float, float]:
    return _bare(wiring), _through_the_intake(wiring, group)


def _bare(wiring: Wiring) -> float:
    """Records a second of a loop that only polls."""
    connection = wiring.kafka
    consumer = KafkaConsumer(**connection.consumer_options(), max_poll_records=wiring.settings.shift.intake_batch)
    name = connection.topic_name(TOPIC.value)
    try:
        partitions = [KafkaPartition(name, number) for number in consumer.partitions_for_topic(name)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        for partition in partitions:
            consumer.position(partition)  # the seek is done when it is asked for, not in the time that is measured
        began, read = time.perf_counter(), 0
        while read < RECORDS:
            read += sum(map(len, consumer.poll(timeout_ms=1_000).values()))
        return read / (time.perf_counter() - began)
    finally:
        consumer.close()


def _through_the_intake(wiring: Wiring, group: str) -> float:
    """Records a second that ticks of an intake store and commit, from the topic's beginning into an empty queue."""
    command(wiring.redis, "FLUSHALL")
    reader = _TimedReader(wiring.kafka, TOPIC.value, group)
    intake = ZSetIntake(
        STAGE,
        reader=reader,
        queue=wiring.watched_queue(STAGE),
        retries=wiring.retry_set,
        producer=wiring.producer,
        locks=wiring.locks,
        clock=wiring.clock,
        batch=wiring.settings.shift.intake_batch,
    )
    try:
        reader.commit(dict.fromkeys(reader.positions(), Position(0)))  # connects, as the bare loop has by then
        began, stored = time.perf_counter(), 0
        while stored < RECORDS:
            stored += intake.tick(BUDGET_MS).stored
            assert time.perf_counter() - began < DEADLINE_S, f"{stored} of {RECORDS} after {DEADLINE_S:.0f} s"
        assert wiring.queue(STAGE).depth().ready == RECORDS
        return stored / (reader.committed_at - began)
    finally:
        reader.close()


class _TimedReader(KafkaIntakeReader):
    """Notes when it committed last: a tick goes on for its whole budget, whether anything is left or not."""

    committed_at = 0.0

    def positions(self) -> list[tuple[str, int]]:
        """Every partition of the topic."""
        return [(self._topic, partition.partition) for partition in self._ready().assignment()]

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        super().commit(positions)
        self.committed_at = time.perf_counter()
