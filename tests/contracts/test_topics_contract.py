"""What the flow may rely on when it publishes to topics and reads them, whatever the broker."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.errors import CommitRefused, LagUnknown, PublishFailed, RecordsRefused
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.topics import GroupReader, IntakeReader, OffsetGap, Position, TopicPartition
from tests.contracts.topic_worlds import KafkaWorld, MemoryWorld, World
from tests.waiting import eventually

GAPS_OF_NOIDA = {
    "test_publishing_to_a_topic_that_does_not_exist_fails_and_does_not_create_it": "it creates topics by itself",
    "test_a_publish_that_fails_tells_what_arrived_all_the_same": "a topic that doesn't exist doesn't fail there",
    "test_a_rebalance_commits_what_is_settled_and_ignores_what_is_settled_later": (
        "it ends the generation as soon as another member joins, so that the old one loses all its partitions"
    ),
}
"""What the fall-back broker doesn't do: test name -> reason."""


@pytest.fixture(
    params=[
        "memory",
        pytest.param("kafka", marks=pytest.mark.services),
        pytest.param("noida", marks=pytest.mark.services),
    ]
)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made: World
    if request.param == "memory":
        made = MemoryWorld()
    elif request.param == "kafka":
        made = KafkaWorld(request.getfixturevalue("kafka_bootstrap"))
    else:
        gap = GAPS_OF_NOIDA.get(request.node.originalname)
        if gap is not None:
            request.applymarker(pytest.mark.xfail(strict=True, reason=gap))
        made = KafkaWorld(request.getfixturevalue("noida_bootstrap"))
    yield made
    made.close()


def outgoing(topic: str, number: int, *, key: bytes | None = None) -> Outgoing:
    key = b"key-%d" % number if key is None else key
    return Outgoing(topic, key, b'{"n":%d}' % number, [("root_id", b"%d" % number), ("priority", b"1")])


def publish(world: World, topic: str, count: int, *, key: bytes | None = None) -> None:
    world.producer().publish([outgoing(topic, number, key=key) for number in range(count)])


def read(reader: IntakeReader | GroupReader, count: int) -> list[Record]:
    """At least `count` records, in the order of delivery."""
    records: list[Record] = []

    def enough() -> bool:
        records.extend(reader.poll(100, 200))
        return len(records) >= count

    eventually(enough, timeout_s=20)
    return records


def by_partition(records: Sequence[Record]) -> dict[TopicPartition, list[int]]:
    found: dict[TopicPartition, list[int]] = defaultdict(list)
    for record in records:
        found[(record.origin.topic, record.origin.partition)].append(record.origin.offset)
    return dict(found)


# -- publishing ------------------------------------------------------------------------------------------------------


def test_key_value_and_headers_survive_byte_for_byte(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    sent = [
        Outgoing("fetched", b"\x00\xff", bytes(range(256)), [("root_id", b"\xff\x00"), ("x", b""), ("x", b"again")]),
        Outgoing("fetched", None, b"", [("생일", "축하".encode())]),
    ]
    world.producer().publish(sent)
    got = read(world.intake("fetched", "parsers"), 2)
    assert [(record.key, record.value, list(record.headers)) for record in got] == [
        (record.key, record.value, list(record.headers)) for record in sent
    ]


def test_records_of_one_key_stay_in_one_partition_and_in_order(world: World) -> None:
    world.make({Topic.FETCHED: 3})
    producer = world.producer()
    producer.publish([outgoing("fetched", number, key=b"host-%d" % (number % 4)) for number in range(80)])
    got = read(world.intake("fetched", "parsers"), 80)
    for key in {record.key for record in got}:
        mine = [record for record in got if record.key == key]
        assert len({record.origin.partition for record in mine}) == 1
        numbers = [int(dict(record.headers)["root_id"]) for record in mine]
        assert numbers == sorted(numbers)
    assert len(by_partition(got)) > 1


def test_a_too_large_record_is_refused_for_good_and_the_rest_of_its_batch_is_published(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    producer = world.producer()
    batch = [outgoing("fetched", 0), Outgoing("fetched", b"k", b"x" * 1_200_000, []), outgoing("fetched", 2)]
    with pytest.raises(RecordsRefused) as caught:
        producer.publish(batch)
    assert caught.value.code == "too_large"
    assert "fetched" in str(caught.value)
    assert [caught.value.includes(record) for record in batch] == [False, True, False]
    producer.publish([outgoing("fetched", 3)])
    got = read(world.intake("fetched", "parsers"), 3)
    assert [dict(record.headers)["root_id"] for record in got] == [b"0", b"2", b"3"]


def test_the_largest_message_fits_into_the_dlq_with_its_dead_letter_headers(world: World) -> None:
    world.make({Topic.FETCHED: 1, Topic.DLQ: 1})
    producer = world.producer()
    largest = Outgoing("fetched", b"k", b"x" * 1_048_000, [("root_id", b"1")])
    producer.publish([largest])
    dead = Outgoing("dlq", b"k", largest.value, [*largest.headers, ("dlq_error", b"e" * 100_000)])
    producer.publish([dead])
    (got,) = read(world.intake("dlq", "redrive"), 1)
    assert got.value == largest.value


def test_publishing_to_a_topic_that_does_not_exist_fails_and_does_not_create_it(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    with pytest.raises(PublishFailed, match="nowhere"):
        world.producer().publish([outgoing("nowhere", 1)])
    with pytest.raises(LagUnknown):
        world.lag().lag("parsers", ["nowhere"])


def test_a_publish_that_fails_tells_what_arrived_all_the_same(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    batch = [outgoing("fetched", 1), outgoing("nowhere", 2), outgoing("fetched", 3)]
    with pytest.raises(PublishFailed) as caught:
        world.producer().publish(batch)
    stored = [dict(record.headers)["root_id"] for record in read(world.intake("fetched", "parsers"), 1)]
    assert caught.value.arrived == (batch[0],)
    assert stored == [b"1"]


# -- intake ----------------------------------------------------------------------------------------------------------


def test_an_intake_without_commits_starts_at_the_earliest_record(world: World) -> None:
    world.make({Topic.FETCHED: 2})
    publish(world, "fetched", 20)
    reader = world.intake("fetched", "parsers")
    assert reader.committed() == {}
    assert all(offsets[0] == 0 for offsets in by_partition(read(reader, 20)).values())


def test_an_intake_resumes_from_what_was_committed_and_gets_its_metadata_back(world: World) -> None:
    world.make({Topic.FETCHED: 2})
    publish(world, "fetched", 10, key=b"k")
    first = world.intake("fetched", "parsers")
    partition = read(first, 10)[0].origin.partition
    position = Position(4, '{"epoch":"Ünïcode","oldest_ms":12}')
    first.commit({("fetched", partition): position})
    first.close()
    second = world.intake("fetched", "parsers")
    assert second.committed() == {("fetched", partition): position}
    assert by_partition(read(second, 6)) == {("fetched", partition): [4, 5, 6, 7, 8, 9]}


def test_polls_keep_to_the_limit_and_to_the_order_of_partitions(world: World) -> None:
    world.make({Topic.FETCHED: 3})
    publish(world, "fetched", 60)
    reader = world.intake("fetched", "parsers")
    seen = 0
    while seen < 60:
        records = reader.poll(7, 2_000)
        assert 0 < len(records) <= 7
        places = [(record.origin.partition, record.origin.offset) for record in records]
        assert places == sorted(places)
        seen += len(records)
    assert not reader.poll(7, 50)


def test_a_poll_without_a_timeout_gives_what_lies_ready_and_nothing_when_nothing_does(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    reader = world.intake("fetched", "parsers")
    assert not reader.poll(2, 0)
    publish(world, "fetched", 5)
    records = [*eventually(lambda: reader.poll(2, 1_000))]
    while more := reader.poll(2, 0):
        records += more
    assert by_partition(records) == {("fetched", 0): [0, 1, 2, 3, 4]}


def test_reset_delivers_again_what_was_not_committed(world: World) -> None:
    world.make({Topic.FETCHED: 2})
    publish(world, "fetched", 20)
    reader = world.intake("fetched", "parsers")
    before = read(reader, 20)
    committed = {partition: Position(offsets[2]) for partition, offsets in by_partition(before).items()}
    reader.commit(committed)
    reader.reset()
    again = by_partition(read(reader, 16))
    assert again == {partition: offsets[2:] for partition, offsets in by_partition(before).items()}


def test_partitions_added_later_are_read_from_their_beginning(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 5)
    reader = world.intake("fetched", "parsers")
    read(reader, 5)
    world.add_partitions("fetched", 3)
    producer = world.producer()

    def reached() -> bool:
        producer.publish([outgoing("fetched", number) for number in range(20)])
        return any(record.origin.partition > 0 and record.origin.offset == 0 for record in reader.poll(500, 200))

    eventually(reached, timeout_s=20)


def _is_past(timestamp_ms: int) -> bool:
    return SystemClock().now_ms() > timestamp_ms


def three_records_in_time(world: World) -> list[Record]:
    """Three records of one partition with ascending times."""
    world.make({Topic.FETCHED: 1})
    producer = world.producer()
    reader = world.intake("fetched", "clock")
    records: list[Record] = []
    for number in range(3):
        if records:
            eventually(partial(_is_past, records[-1].origin.timestamp_ms))
        producer.publish([outgoing("fetched", number)])
        records += read(reader, 1)
    return records


def test_rewind_goes_back_to_the_first_record_at_or_after_the_time(world: World) -> None:
    records = three_records_in_time(world)
    reader = world.intake("fetched", "parsers")
    read(reader, 3)
    assert reader.rewind_to_time(records[1].origin.timestamp_ms) == {("fetched", 0): 1}
    assert [record.origin.offset for record in read(reader, 2)] == [1, 2]


def test_rewind_never_skips_forward(world: World) -> None:
    records = three_records_in_time(world)
    reader = world.intake("fetched", "parsers")
    assert reader.rewind_to_time(records[2].origin.timestamp_ms) == {("fetched", 0): 0}
    assert [record.origin.offset for record in read(reader, 3)] == [0, 1, 2]
    assert reader.rewind_to_time(records[2].origin.timestamp_ms + 60_000) == {("fetched", 0): 3}


def test_a_committed_position_that_retention_removed_is_reported_and_reading_goes_on_at_the_earliest(
    world: World,
) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 10)
    first = world.intake("fetched", "parsers")
    first.commit({("fetched", 0): Position(2)})
    first.close()
    world.trim("fetched", 0, 6)
    reader = world.intake("fetched", "parsers")
    assert [record.origin.offset for record in read(reader, 4)] == [6, 7, 8, 9]
    assert list(reader.gaps()) == [OffsetGap("fetched", 0, 2, 6)]
    assert list(reader.gaps()) == []


def test_records_that_retention_removes_ahead_of_a_reader_are_reported(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 4)
    reader = world.intake("fetched", "parsers")
    read(reader, 4)
    reader.commit({("fetched", 0): Position(4)})
    publish(world, "fetched", 6)
    world.trim("fetched", 0, 8)
    reader.reset()
    assert [record.origin.offset for record in read(reader, 2)] == [8, 9]
    assert list(reader.gaps()) == [OffsetGap("fetched", 0, 4, 8)]


def test_an_intakes_commit_is_refused_while_members_live_and_accepted_once_they_left(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 3)
    member = world.member(["fetched"], "parsers")
    read(member, 3)
    intake = world.intake("fetched", "parsers")
    with pytest.raises(CommitRefused, match="parsers"):
        intake.commit({("fetched", 0): Position(3)})
    assert intake.has_members()
    member.close()
    assert not intake.has_members()
    intake.commit({("fetched", 0): Position(3)})
    assert intake.committed() == {("fetched", 0): Position(3)}


def test_a_group_that_nobody_ever_joined_has_no_members(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    assert not world.intake("fetched", "parsers").has_members()


# -- group -----------------------------------------------------------------------------------------------------------


def test_commits_never_pass_an_unsettled_record(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 10)
    member = world.member(["fetched"], "parsers")
    watcher = world.intake("fetched", "parsers")
    records = read(member, 10)
    member.settled([records[0], records[1], records[3], records[9]])
    member.commit()
    assert watcher.committed()[("fetched", 0)].offset == 2
    member.settled(records[4:9])
    member.commit()
    assert watcher.committed()[("fetched", 0)].offset == 2
    member.settled([records[2]])
    member.commit()
    assert watcher.committed()[("fetched", 0)].offset == 10


def test_settled_records_are_committed_by_polling_alone(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 5)
    member = world.member(["fetched"], "parsers")
    member.settled(read(member, 5))
    watcher = world.intake("fetched", "parsers")

    def committed() -> bool:
        member.poll(10, 50)
        return watcher.committed() == {("fetched", 0): Position(5)}

    eventually(committed)


@pytest.mark.parametrize(("keeps_notes", "note"), [(True, "held since noon"), (False, "")])
def test_a_member_keeps_what_an_intake_noted_when_it_is_asked_to(world: World, keeps_notes: bool, note: str) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 5)
    intake = world.intake("fetched", "parsers")
    intake.commit({("fetched", 0): Position(2, "held since noon")})
    member = world.member(["fetched"], "parsers", keeps_notes=keeps_notes)
    member.settled(read(member, 3))
    member.close()
    assert intake.committed() == {("fetched", 0): Position(5, note)}


def test_a_successor_takes_over_exactly_from_the_settled_prefix(world: World) -> None:
    world.make({Topic.FETCHED: 2})
    publish(world, "fetched", 40)
    first = world.member(["fetched"], "parsers")
    records = read(first, 40)
    unsettled = {("fetched", 0): 5, ("fetched", 1): 3}
    first.settled(
        [
            record
            for record in records
            if unsettled[(record.origin.topic, record.origin.partition)] != record.origin.offset
        ]
    )
    first.close()
    second = world.member(["fetched"], "parsers")
    left = sum(len([o for o in offsets if o >= unsettled[p]]) for p, offsets in by_partition(records).items())
    taken_over = by_partition(read(second, left))
    assert {partition: offsets[0] for partition, offsets in taken_over.items()} == unsettled
    assert sum(map(len, taken_over.values())) == left


def test_a_member_whose_committed_position_retention_removed_goes_on_at_the_earliest(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 10)
    intake = world.intake("fetched", "parsers")
    intake.commit({("fetched", 0): Position(2)})
    world.trim("fetched", 0, 6)
    member = world.member(["fetched"], "parsers")
    assert [record.origin.offset for record in read(member, 4)] == [6, 7, 8, 9]


class Polled:
    """A member that is polled by a thread of its own until it is stopped, as a shift does it."""

    def __init__(self, member: GroupReader) -> None:
        self.records: list[Record] = []
        self._member = member
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        while not self._stopping.is_set():
            self.records += self._member.poll(100, 200)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._member.close()


@pytest.fixture
def polled() -> Iterator[Callable[[GroupReader], Polled]]:
    started: list[Polled] = []

    def start(member: GroupReader) -> Polled:
        started.append(Polled(member))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def test_a_rebalance_commits_what_is_settled_and_ignores_what_is_settled_later(
    world: World, polled: Callable[[GroupReader], Polled]
) -> None:
    world.make({Topic.FETCHED: 2})
    publish(world, "fetched", 40)
    member = world.member(["fetched"], "parsers")
    watcher = world.intake("fetched", "parsers")
    revoked: list[TopicPartition] = []
    member.on_revoked(revoked.extend)
    first = polled(member)
    eventually(lambda: len(first.records) == 40)
    records = list(first.records)
    member.settled([record for record in records if record.origin.offset in (0, 1, 3)])

    second = polled(world.member(["fetched"], "parsers"))
    eventually(lambda: second.records, timeout_s=15)
    (gone,) = revoked
    assert list(by_partition(second.records)) == [gone]
    assert second.records[0].origin.offset == 2
    assert watcher.committed()[gone].offset == 2

    member.settled(records)
    stays = ("fetched", 1 - gone[1])
    eventually(lambda: watcher.committed().get(stays) == Position(len(by_partition(records)[stays])))
    assert watcher.committed()[gone].offset == 2


def test_paused_topics_deliver_nothing_until_they_are_resumed(world: World) -> None:
    world.make({Topic.CRAWL_HIGH: 1, Topic.CRAWL_LOW: 1})
    member = world.member(["crawl.high", "crawl.low"], "fetchers")
    member.pause(["crawl.low"])
    publish(world, "crawl.low", 3)
    publish(world, "crawl.high", 3)
    assert {record.origin.topic for record in read(member, 3)} == {"crawl.high"}
    assert not member.poll(100, 300)
    member.resume(["crawl.low"])
    assert {record.origin.topic for record in read(member, 3)} == {"crawl.low"}


def test_records_fetched_before_a_pause_are_delivered_after_it_from_every_partition(world: World) -> None:
    world.make({Topic.CRAWL_HIGH: 1, Topic.CRAWL_LOW: 2})
    publish(world, "crawl.low", 1_000)
    member = world.member(["crawl.high", "crawl.low"], "fetchers")
    seen = read(member, 1)
    for _ in range(3):
        member.pause(["crawl.low"])
        publish(world, "crawl.high", 5)
        seen += read(member, 5)
        member.resume(["crawl.low"])
        seen += read(member, 1)
    if len(seen) < 1_015:
        seen += read(member, 1_015 - len(seen))
    assert len({record.origin for record in seen}) == 1_015


def test_a_pause_outlives_a_rebalance(world: World, polled: Callable[[GroupReader], Polled]) -> None:
    world.make({Topic.CRAWL_HIGH: 2, Topic.CRAWL_LOW: 2})
    publish(world, "crawl.high", 40)
    publish(world, "crawl.low", 40)
    member = world.member(["crawl.high", "crawl.low"], "fetchers")
    member.pause(["crawl.low"])
    first = polled(member)
    second = polled(world.member(["crawl.high", "crawl.low"], "fetchers"))
    eventually(lambda: second.records, timeout_s=15)
    second.stop()

    def distinct(topic: str) -> int:
        return len({record.origin for record in first.records if record.origin.topic == topic})

    eventually(lambda: distinct("crawl.high") == 40, timeout_s=15)
    assert distinct("crawl.low") == 0
    first.stop()

    successor = world.member(["crawl.high", "crawl.low"], "fetchers")
    successor.pause(["crawl.low"])
    read(successor, 40)
    successor.resume(["crawl.low"])
    assert {record.origin.topic for record in read(successor, 40)} == {"crawl.low"}


# -- lag -------------------------------------------------------------------------------------------------------------


def test_lag_without_commits_counts_from_the_earliest_record(world: World) -> None:
    world.make({Topic.FETCHED: 1, Topic.DLQ: 1})
    publish(world, "fetched", 10)
    world.trim("fetched", 0, 4)
    assert world.lag().lag("parsers", ["fetched", "dlq"]) == {("fetched", 0): 6, ("dlq", 0): 0}


def test_what_retention_removed_is_no_lag(world: World) -> None:
    world.make({Topic.FETCHED: 1})
    publish(world, "fetched", 10)
    world.intake("fetched", "parsers").commit({("fetched", 0): Position(2)})
    world.trim("fetched", 0, 10)
    assert world.lag().lag("parsers", ["fetched"]) == {("fetched", 0): 0}


def test_lag_is_what_lies_behind_the_committed_position(world: World) -> None:
    world.make({Topic.FETCHED: 2})
    publish(world, "fetched", 10, key=b"k")
    reader = world.intake("fetched", "parsers")
    partition = read(reader, 10)[0].origin.partition
    reader.commit({("fetched", partition): Position(7)})
    lag = world.lag()
    assert lag.lag("parsers", ["fetched"]) == {("fetched", partition): 3, ("fetched", 1 - partition): 0}
    publish(world, "fetched", 5, key=b"k")
    assert lag.lag("parsers", ["fetched"])[("fetched", partition)] == 8
