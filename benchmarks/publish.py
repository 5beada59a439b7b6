"""Publishing and draining against bare clients.

On a Kafka and an append-only Valkey (fsync every second) of its own. Each figure takes turns with its limit: a
kafka-python producer that sends the same bytes, keys and headers with the same acknowledgements and waits for them at
the end of a turn, and pipelined LPUSH of the same bytes.
"""

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

from benchmarks.figures import Result, Say, against
from benchmarks.stopwatch import Stopwatch
from benchmarks.timed import HOSTS, Capture, TimedProducer, TimedPublisher
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.flow.buffer import BufferingProducer
from issuetracker_dagster.flow.publish import BATCH
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.burst import wiring_of
from tests.journey.killable import killable_kafka, killable_valkey

TURN, TURNS, ROUNDS = 5 * BATCH, 4, 5
DIRECT_TARGET, BUFFERED_TARGET, DRAIN_TARGET = 0.7, 0.35, 0.6
DRAIN_BATCH = 100
NEVER_FULL = 1_000_000_000
KEY = "bench:lpush"


def measure(say: Say) -> Result:
    """Publishing with buffering off and on, and draining what was buffered."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with killable_valkey(folder / "valkey") as redis, killable_kafka(folder / "kafka") as kafka:
            environment = {
                "ISSUETRACKER_HOME": str(folder / "home"),
                "KAFKA_BOOTSTRAP_SERVERS": kafka.address,
                "REDIS_URL": redis.address,
                "DATABASE_URL": f"sqlite:///{folder / 'bench.db'}",
                "PUBLISHER_REDIS_BUFFER_MAX_LEN": "0",
                "PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG": str(NEVER_FULL),
                "PUBLISHER_REDIS_BUFFER_DRAIN_BATCH": str(DRAIN_BATCH),
            }
            upgrade(environment["DATABASE_URL"])
            with wiring_of(environment, folder) as wiring:
                return Bench(wiring).run(say)


class Bench:
    """All figures on one pair of servers."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._bare = KafkaProducer(
            **{**wiring.kafka.client_options(), "acks": "all", "enable_idempotence": True, "metrics_enabled": False}
        )
        self._topic = wiring.kafka.topic_name(Topic.CRAWL_NORMAL)
        self._numbers = iter(range(0, 1_000_000_000, TURN))
        self._shares: dict[str, list[dict[str, float]]] = {"direct": [], "buffered": []}

    def run(self, say: Say) -> Result:
        """Measure all of them, after one round for connections, scripts and caches."""
        say("a round to warm up")
        self._round()
        for shares in self._shares.values():
            shares.clear()
        rounds = []
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}: {TURN * TURNS:,} jobs by {BATCH}, turns of {TURN:,}")
            rounds.append(self._round())
        bare, direct, whole, lpush, buffered, whole_buffered, bare_again, drained = zip(*rounds, strict=True)
        return Result(
            figures=(
                against("producer, buffering off, of a bare producer", "jobs/s", direct, bare, DIRECT_TARGET),
                against("whole publisher, buffering off", "jobs/s", whole, bare),
                against("producer, buffering on, of LPUSH", "jobs/s", buffered, lpush, BUFFERED_TARGET),
                against("whole publisher, buffering on", "jobs/s", whole_buffered, lpush),
                against(
                    f"drain by {DRAIN_BATCH}, acknowledged, of a bare producer",
                    "jobs/s",
                    drained,
                    bare_again,
                    DRAIN_TARGET,
                ),
            ),
            notes=tuple(self._where_time_goes(name, shares) for name, shares in self._shares.items()),
        )

    @staticmethod
    def _where_time_goes(name: str, shares: Sequence[dict[str, float]]) -> str:
        parts = {part: statistics.median(one[part] for one in shares) for part in shares[0]}
        return f"whole publisher, {name}: {', '.join(f'{part} {us:.0f}' for part, us in parts.items())} us a job"

    def _round(self) -> tuple[float, ...]:
        """Jobs a second of each figure, in the order in which they are unpacked."""
        watches = bare, direct, whole, lpush, buffered, whole_buffered = [Stopwatch() for _ in range(6)]
        off, on = self._producer(is_on=False), self._producer(is_on=True)
        publishers = {"direct": TimedPublisher(self._wiring, off), "buffered": TimedPublisher(self._wiring, on)}
        for _ in range(TURNS):
            records = self._records(self._requests())
            entries = [encode_buffered(BufferedJob(1_750_000_000_000, record)) for record in records]
            fresh, others = self._requests(), self._requests()
            with bare:
                self._send(records)
            with direct:
                for first in range(0, TURN, BATCH):
                    off.publish(records[first : first + BATCH])
            with whole:
                assert len(publishers["direct"].publisher.publish(fresh).published) == TURN
            with lpush:
                for first in range(0, TURN, BATCH):
                    self._lpush(entries[first : first + BATCH])
            with buffered:
                for first in range(0, TURN, BATCH):
                    on.publish(records[first : first + BATCH])
            with whole_buffered:
                assert len(publishers["buffered"].publisher.publish(others).published) == TURN
        for name, watch in (("direct", whole), ("buffered", whole_buffered)):
            self._shares[name].append(publishers[name].shares_us(watch.seconds, TURN * TURNS))
        speeds = [TURN * TURNS / watch.seconds for watch in watches]
        return (*speeds, *self._drain(records))

    def _drain(self, records: Sequence[Outgoing]) -> tuple[float, float]:
        """What a bare producer sends and what the drainer moves a second, each all that the last turns buffered."""
        waiting = self._wiring.buffers[Topic.CRAWL_NORMAL].state().backlog
        self._wiring.telemetry.flush()  # what publishing left to be told isn't the drain's
        bare = Stopwatch()
        with bare:
            for _ in range(waiting // TURN):
                self._send(records)
        raw = TimedProducer(self._wiring.batch_producer)
        drainer = self._wiring.drainer(producer=raw)
        clock = self._wiring.clock
        began = clock.monotonic()
        drainer.run(
            accepts=lambda: False,
            control=lambda: "empty" if drainer.summary().published.get("normal") == waiting else None,
            duration_ms=120_000,
        )
        assert drainer.summary().published == {"normal": waiting}
        return waiting / bare.seconds, waiting / (raw.last - began)

    def _send(self, records: Sequence[Outgoing]) -> None:
        """The bare loop: send each, then wait for all."""
        sent = [
            self._bare.send(self._topic, value=one.value, key=one.key, headers=list(one.headers)) for one in records
        ]
        self._bare.flush()
        assert all(future.succeeded() for future in sent)

    def _lpush(self, entries: Sequence[bytes]) -> None:
        """One LPUSH a job, in one pipeline of redis-py."""
        pipeline: Any = self._wiring.redis.pipeline(transaction=False)
        for entry in entries:
            pipeline.lpush(KEY, entry)
        pipeline.execute()

    def _producer(self, *, is_on: bool) -> BufferingProducer:
        return BufferingProducer(
            raw=self._wiring.producer,
            buffers={topic.value: buffer for topic, buffer in self._wiring.buffers.items()},
            is_on=lambda: is_on,
            clock=self._wiring.clock,
            buffered=self._wiring.telemetry.steps.buffered,
        )

    def _requests(self) -> list[Request]:
        """Jobs that nobody has published before."""
        first = next(self._numbers)
        return [
            Request(
                job=CrawlJob(
                    url=f"https://site{number % HOSTS}.example.com/2025/06/15/a-story-of-the-day-{number}",
                    source="bench",
                ),
                parent="bench",
            )
            for number in range(first, first + TURN)
        ]

    def _records(self, requests: Sequence[Request]) -> list[Outgoing]:
        """Those jobs as a publisher makes them."""
        capture = Capture()
        TimedPublisher(self._wiring, capture).publisher.publish(requests)
        return capture.records
