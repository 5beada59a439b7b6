"""Header names that aren't UTF-8: whoever reads the topic gets the record, and everything behind it."""

from collections.abc import Iterator
from typing import Literal

import pytest
from kafka import KafkaProducer

from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.topics import GroupReader, IntakeReader
from tests.contracts.topic_worlds import KafkaWorld
from tests.waiting import eventually

pytestmark = pytest.mark.services


class RawName(str):
    """A name that goes out as the bytes of its characters."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode("latin-1")


@pytest.fixture
def world(kafka_bootstrap: str) -> Iterator[KafkaWorld]:
    made = KafkaWorld(kafka_bootstrap)
    made.make({Topic.FETCHED: 1, Topic.DLQ: 1})
    yield made
    made.close()


def ten_of(reader: GroupReader | IntakeReader) -> list[Record]:
    """What a reader finds, until it is ten."""
    found: list[Record] = []

    def more() -> bool:
        found.extend(reader.poll(100, 200))
        return len(found) == 10

    eventually(more, timeout_s=30)
    reader.close()
    return found


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_header_name_of_any_bytes_is_read_and_can_be_sent_on(
    world: KafkaWorld, compression: Literal["gzip"] | None
) -> None:
    client = KafkaProducer(bootstrap_servers=world.connection.bootstrap, compression_type=compression, linger_ms=50)
    name = world.connection.topic_name(Topic.FETCHED.value)
    odd = [(RawName("\xff\xfe"), b"\xff"), ("root_id", b"a"), (RawName("ok\xe9"), b"")]
    for number in range(5):
        client.send(name, value=b"before %d" % number, headers=[("root_id", b"good")])
        client.send(name, value=b"odd %d" % number, headers=odd)
    client.flush()
    client.close()
    read = ten_of(world.member([Topic.FETCHED.value], "group"))
    assert read[1].headers == (("\\xff\\xfe", b"\xff"), ("root_id", b"a"), ("ok\\xe9", b""))
    assert [record.value for record in read[::2]] == [b"before %d" % number for number in range(5)]
    stored = ten_of(world.intake(Topic.FETCHED.value, "intake"))
    assert [record.headers for record in stored] == [record.headers for record in read]
