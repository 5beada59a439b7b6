"""What only a real Kafka can show of its adapters: topics made explicitly, refusals of the broker, and outages."""

import signal
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ConfigResource, MemberToRemove

from issuetracker_dagster.adapters.kafka.connection import (
    DLQ_MAX_MESSAGE_BYTES,
    MAX_MESSAGE_BYTES,
    KafkaConnection,
)
from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.adapters.kafka.lag import KafkaLag
from issuetracker_dagster.adapters.kafka.producer import KafkaTopicProducer
from issuetracker_dagster.adapters.kafka.topics import TopicState, ensure_topics
from issuetracker_dagster.errors import LagUnknown, PublishFailed, RecordsRefused, TransientError, Unavailable
from issuetracker_dagster.local import children, jars, java, kafka
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.topics import OffsetGap, Position
from tests.contracts.topic_worlds import KafkaWorld, with_admin
from tests.waiting import eventually

HOUR_MS = 3_600_000


@pytest.fixture
def connection(kafka_bootstrap: str) -> KafkaConnection:
    return KafkaConnection(kafka_bootstrap, f"t{uuid.uuid4().hex[:10]}.")


def configs_of(connection: KafkaConnection, topic: str) -> dict[str, Any]:
    name = connection.topic_name(topic)
    found = with_admin(
        connection, lambda admin: admin.describe_configs([ConfigResource("TOPIC", name)], config_filter="all")
    )
    return {key: value["value"] for key, value in found["topic"][name].items()}


def outgoing(number: int, value: bytes = b"{}") -> Outgoing:
    return Outgoing("fetched", b"k", value, [("root_id", b"%d" % number)])


def numbers(records: list[Record]) -> list[int]:
    return [int(dict(record.headers)["root_id"]) for record in records]


# -- topics ----------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_topics_are_made_once_with_their_partitions_retention_and_sizes(connection: KafkaConnection) -> None:
    wanted = {Topic.FETCHED: 3, Topic.DLQ: 2}
    assert ensure_topics(connection, wanted, retention_ms=HOUR_MS) == [
        TopicState(Topic.FETCHED, 3, 3, True),
        TopicState(Topic.DLQ, 2, 2, True),
    ]
    assert ensure_topics(connection, wanted, retention_ms=2 * HOUR_MS) == [
        TopicState(Topic.FETCHED, 3, 3, False),
        TopicState(Topic.DLQ, 2, 2, False),
    ]
    fetched, dlq = configs_of(connection, "fetched"), configs_of(connection, "dlq")
    assert fetched["retention.ms"] == dlq["retention.ms"] == str(2 * HOUR_MS)
    assert fetched["max.message.bytes"] == str(MAX_MESSAGE_BYTES)
    assert dlq["max.message.bytes"] == str(DLQ_MAX_MESSAGE_BYTES)


@pytest.mark.services
def test_fewer_partitions_than_set_are_reported_and_none_are_added(
    connection: KafkaConnection, caplog: pytest.LogCaptureFixture
) -> None:
    ensure_topics(connection, {Topic.FETCHED: 2}, retention_ms=HOUR_MS)
    assert ensure_topics(connection, {Topic.FETCHED: 5}, retention_ms=HOUR_MS) == [
        TopicState(Topic.FETCHED, 2, 5, False)
    ]
    assert "fetched has 2 partitions, 5 are set" in caplog.text


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_record_that_the_broker_refuses_costs_neither_its_batch_nor_the_producer(
    connection: KafkaConnection,
) -> None:
    ensure_topics(connection, {Topic.FETCHED: 3}, retention_ms=HOUR_MS)
    name = connection.topic_name("fetched")
    # Smaller than what the producer knows of: only the broker can tell.
    with_admin(
        connection, lambda admin: admin.alter_configs([ConfigResource("TOPIC", name, {"max.message.bytes": "20000"})])
    )
    producer = KafkaTopicProducer(connection)
    reader = KafkaIntakeReader(connection, "fetched", connection.topic_prefix + "parsers")
    batch = [Outgoing("fetched", b"%d" % number, b"x" * 2_000, [("root_id", b"%d" % number)]) for number in range(30)]
    batch[7] = outgoing(7, b"x" * 50_000)
    with pytest.raises(RecordsRefused) as caught:
        producer.publish(batch)
    assert caught.value.code == "too_large"
    assert [number for number, record in enumerate(batch) if caught.value.includes(record)] == [7]
    producer.publish([outgoing(30)])
    records: list[Record] = []

    def read_to_the_last() -> bool:
        records.extend(reader.poll(100, 200))
        return 30 in numbers(records)

    eventually(read_to_the_last)
    copies = Counter(numbers(records))
    assert sorted(copies) == [number for number in range(31) if number != 7]
    # At least once: what was in flight beside the refused record may have been stored before the client gave it up, and
    # is sent once more, alone. What is published afterwards comes once.
    assert max(copies.values()) <= 2
    assert copies[30] == 1
    producer.close()
    reader.close()


@pytest.mark.services
def test_an_expelled_member_rejoins_reads_on_and_commits(kafka_bootstrap: str) -> None:
    world = KafkaWorld(kafka_bootstrap)
    world.make({Topic.FETCHED: 2})
    group = world.connection.topic_prefix + "parsers"
    member = world.member(["fetched"], "parsers")
    producer, lag = world.producer(), world.lag()
    producer.publish([outgoing(0)])
    eventually(lambda: member.poll(10, 200))

    def expel(admin: Any) -> None:
        (found,) = admin.describe_groups([group])[group]["members"]
        admin.remove_group_members(group, [MemberToRemove(member_id=found["member_id"])])

    with_admin(world.connection, expel)
    producer.publish([outgoing(1)])
    records: list[Record] = []

    def read_on() -> bool:
        records.extend(member.poll(10, 200))
        return 1 in numbers(records)

    eventually(read_on, timeout_s=20)
    reader = world.intake("fetched", "parsers")
    partition = records[-1].origin.partition
    # The first record is still in its hands, so that nothing may be committed.
    member.settled([record for record in records if record.origin.offset == 1])
    member.commit()
    assert reader.committed().get(("fetched", partition), Position(0)) == Position(0)
    member.close()
    assert sum(lag.lag("parsers", ["fetched"]).values()) == 2
    world.close()


@pytest.mark.services
def test_retention_that_overtakes_a_reader_between_two_polls_is_reported(kafka_bootstrap: str) -> None:
    world = KafkaWorld(kafka_bootstrap)
    world.make({Topic.FETCHED: 1})
    world.producer().publish([outgoing(number, b"x" * 1_000_000) for number in range(6)])
    reader = world.intake("fetched", "parsers")
    # One fetch brings about two of them, and the next is sent only once these were handed out.
    records = list(eventually(lambda: reader.poll(1, 200)))
    world.trim("fetched", 0, 5)

    def read_to_the_end() -> bool:
        records.extend(reader.poll(1, 200))
        return records[-1].origin.offset == 5

    eventually(read_to_the_end)
    offsets = [record.origin.offset for record in records]
    assert offsets == [*range(len(offsets) - 1), 5]
    assert reader.gaps() == [OffsetGap("fetched", 0, len(offsets) - 1, 5)]
    world.close()


# -- out of reach ----------------------------------------------------------------------------------------------------


def test_a_connection_never_shows_its_passwords() -> None:
    assert "hunter2" not in repr(KafkaConnection("h:1", options={"sasl_plain_password": "hunter2"}))


def test_without_a_broker_constructing_is_free_and_each_call_fails_soon_and_names_the_setting() -> None:
    (port,) = choose_ports(1)
    options = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    secrets = {"sasl_plain_username": "u", "sasl_plain_password": "hunter2", "bootstrap_timeout_ms": 100}
    connection = KafkaConnection(f"{LOOPBACK}:{port}", options={**options, **secrets})
    started = time.thread_time()
    producer = KafkaTopicProducer(connection)
    intake = KafkaIntakeReader(connection, "fetched", "g")
    group = KafkaGroupReader(connection, ["fetched"], "g")
    lag = KafkaLag(connection)
    assert time.thread_time() - started < 0.2
    calls: list[tuple[type[TransientError], Callable[[], object]]] = [
        (PublishFailed, lambda: producer.publish([outgoing(1)])),
        (Unavailable, lambda: intake.poll(1, 10)),
        (Unavailable, intake.committed),
        (Unavailable, lambda: intake.commit({("fetched", 0): Position(1)})),
        (Unavailable, lambda: group.poll(1, 10)),
        (LagUnknown, lambda: lag.lag("g", ["fetched"])),
        (Unavailable, lambda: ensure_topics(connection, {Topic.FETCHED: 1}, retention_ms=HOUR_MS)),
    ]
    for expected, call in calls:
        started = time.monotonic()
        with pytest.raises(expected) as caught:
            call()
        assert time.monotonic() - started < 3
        assert f"{LOOPBACK}:{port} (KAFKA_BOOTSTRAP_SERVERS)" in str(caught.value)
        assert "hunter2" not in str(caught.value)
    producer.close()
    intake.close()
    group.close()
    lag.close()


class OwnBroker:
    """A broker that a test may kill and bring back on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = choose_ports(2)
        self.bootstrap = f"{LOOPBACK}:{self._ports[0]}"
        self._running: children.Identity | None = None

    def start(self) -> None:
        self._running = kafka.start(
            self._folder,
            *self._ports,
            log=self._folder / "server.log",
            java=java.find_java(),
            jars=jars.kafka_jars(jars.default_cache()),
        )

    def kill(self) -> None:
        if self._running is not None:
            children.stop(self._running, grace_s=10, first=signal.SIGKILL)
            self._running = None


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[OwnBroker]:
    broker = OwnBroker(tmp_path)
    broker.start()
    yield broker
    broker.kill()


@pytest.mark.services
@pytest.mark.slow
def test_an_outage_is_told_within_seconds_and_the_same_readers_and_producer_go_on_after_it(
    own_broker: OwnBroker,
) -> None:
    connection = KafkaConnection(own_broker.bootstrap, "t.")
    ensure_topics(connection, {Topic.FETCHED: 1, Topic.CRAWL_HIGH: 1}, retention_ms=HOUR_MS)
    producer = KafkaTopicProducer(connection, timeout_ms=4_000)
    intake = KafkaIntakeReader(connection, "fetched", "parsers")
    member = KafkaGroupReader(connection, ["crawl.high"], "fetchers", timeout_ms=2_000)
    lag = KafkaLag(connection)
    producer.publish([outgoing(0), Outgoing("crawl.high", b"k", b"{}", [("root_id", b"0")])])
    eventually(lambda: intake.poll(10, 200))
    intake.commit({("fetched", 0): Position(1, "kept")})
    jobs = eventually(lambda: member.poll(10, 200))
    lag.lag("parsers", ["fetched"])

    own_broker.kill()
    member.settled(jobs)
    calls: list[tuple[type[TransientError], Callable[[], object]]] = [
        (PublishFailed, lambda: producer.publish([outgoing(1)])),
        (PublishFailed, lambda: producer.publish([outgoing(1)])),
        (Unavailable, lambda: intake.poll(10, 100)),
        (Unavailable, lambda: intake.commit({("fetched", 0): Position(1)})),
        (Unavailable, member.commit),
        (LagUnknown, lambda: lag.lag("parsers", ["fetched"])),
    ]
    for expected, call in calls:
        started = time.monotonic()
        with pytest.raises(expected, match="KAFKA_BOOTSTRAP_SERVERS"):
            call()
        assert time.monotonic() - started < 9

    own_broker.start()
    producer.publish([outgoing(2)])
    records: list[Record] = []

    def read_again() -> bool:
        try:
            records.extend(intake.poll(10, 200))
        except Unavailable:
            return False
        return 2 in numbers(records)

    eventually(read_again, timeout_s=20)
    assert intake.committed() == {("fetched", 0): Position(1, "kept")}

    def committed() -> bool:
        try:
            member.poll(10, 200)
            return lag.lag("fetchers", ["crawl.high"]) == {("crawl.high", 0): 0}
        except (Unavailable, LagUnknown):
            return False

    eventually(committed, timeout_s=20)
    member.close()
    intake.close()
    producer.close()
    lag.close()
