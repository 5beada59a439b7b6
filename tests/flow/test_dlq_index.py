"""The index of the DLQ: everything that lies there, each letter once, committed only when it is stored."""

from collections.abc import Mapping, Sequence

import pytest

from issuetracker_dagster.adapters.memory.readers import MemoryIntakeReader
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.dlq_index import DLQ_GROUP, REMOVE_EVERY_MS, DeadLetterIndexer, IndexReport
from issuetracker_dagster.model.letters import Indexed, LetterFilter
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.dead_letters import DeadLetterIndex
from issuetracker_dagster.ports.topics import Position, TopicPartition
from tests.dead_letters import written
from tests.flow.world import World

ALL = LetterFilter(states=())
DAYS_30 = 30 * 86_400_000


def indexer(
    world: World, batch: int = 500, reader: MemoryIntakeReader | None = None, index: DeadLetterIndex | None = None
) -> DeadLetterIndexer:
    return DeadLetterIndexer(
        reader=reader or MemoryIntakeReader(world.broker, Topic.DLQ.value, DLQ_GROUP),
        index=index or world.stores.dead_letters,
        clock=world.clock,
        forget_after_ms=DAYS_30,
        batch=batch,
    )


def bury(world: World, *roots: str, value: bytes = b'{"url": "https://a.com/1"}') -> None:
    at_ms = world.clock.now_ms()
    world.producer.publish([written(root, value, at_ms=at_ms) for root in roots])


def places(world: World) -> set[tuple[int, int]]:
    return {(found.dlq_partition, found.dlq_offset) for found in world.stores.dead_letters.after(ALL, 0, 10_000)}


def topic(world: World) -> set[tuple[int, int]]:
    return {(record.origin.partition, record.origin.offset) for record in world.records(Topic.DLQ)}


def test_a_tick_indexes_all_that_lies_there_and_the_next_only_what_is_new() -> None:
    world = World()
    bury(world, *(f"root{n}" for n in range(7)))
    ticking = indexer(world, batch=2)
    assert ticking.tick(60_000) == IndexReport(stored=7)
    bury(world, "later")
    assert ticking.tick(60_000) == IndexReport(stored=1)
    assert places(world) == topic(world)


def test_finding_21_a_malformed_letter_is_indexed_with_its_bytes_and_holds_up_no_other() -> None:
    world = World()
    junk = [b"", b"\xff" * 90, b"{" * 5_000, b"\x00", "속보".encode("utf-16")]
    for value in junk:
        headers = [("root_id", b"\xff\x00"), ("", b""), ("dlq_stage", b"\xff"), ("dlq_at_ms", b"-1"), ("\ud800", b"")]
        world.producer.publish([Outgoing(Topic.DLQ, None, value, headers), Outgoing(Topic.DLQ, b"\xfe", value, [])])
    bury(world, "good", value=b"[" * 100_000)
    assert indexer(world).tick(60_000) == IndexReport(stored=11)
    found = world.stores.dead_letters.after(ALL, 0, 100)
    kept = world.stores.dead_letters.kept([each.letter_id for each in found])
    assert {record.value for record in kept.values()} == set(junk)
    assert {each.stage for each in found} == {"unknown", "parser"}
    assert places(world) == topic(world)


def test_finding_52_a_letter_as_large_as_the_dlq_takes_is_indexed_without_being_copied() -> None:
    world = World()
    bury(world, "huge", value=b"x" * 2_000_000)
    indexer(world).tick(60_000)
    (found,) = world.stores.dead_letters.newest(ALL, 10)
    assert (found.identity, found.value_bytes) == ("huge:0", 2_000_000)
    assert world.stores.dead_letters.kept([found.letter_id]) == {}


class BrokenIndex:
    """Fails as a database would, after a number of batches."""

    def __init__(self, index: DeadLetterIndex, good: int) -> None:
        self._index = index
        self._good = good

    def record(self, letters: Sequence[Indexed]) -> int:
        self._good -= 1
        if self._good < 0:
            raise Unavailable("SQL is out")
        return self._index.record(letters)

    def __getattr__(self, name: str) -> object:
        return getattr(self._index, name)


def test_what_was_polled_and_not_stored_is_read_again_by_the_same_process() -> None:
    world = World()
    bury(world, *(f"root{n}" for n in range(9)))
    reader = MemoryIntakeReader(world.broker, Topic.DLQ.value, DLQ_GROUP)
    broken: DeadLetterIndex = BrokenIndex(world.stores.dead_letters, good=1)  # type: ignore[assignment]
    with pytest.raises(Unavailable):
        indexer(world, 2, reader, broken).tick(60_000)
    assert indexer(world, 2, reader).tick(60_000) == IndexReport(stored=7)
    assert places(world) == topic(world)


class DyingReader(MemoryIntakeReader):
    """A process that is killed between store and commit."""

    def commit(self, positions: Mapping[TopicPartition, Position]) -> None:
        raise KeyboardInterrupt


def test_letters_stored_and_not_committed_are_known_to_the_next_process() -> None:
    world = World()
    bury(world, *(f"root{n}" for n in range(9)))
    with pytest.raises(KeyboardInterrupt):
        indexer(world, 4, DyingReader(world.broker, Topic.DLQ.value, DLQ_GROUP)).tick(60_000)
    assert indexer(world).tick(60_000) == IndexReport(stored=5, known=4)
    assert len(places(world)) == 9


def test_letters_that_retention_removed_before_they_were_indexed_are_counted() -> None:
    world = World()
    ticking = indexer(world)
    bury(world, "a")
    ticking.tick(10_000)
    (first,) = world.records(Topic.DLQ)
    world.producer.publish([written("a", b"%d" % n) for n in range(5)])
    for partition in world.broker.partitions([Topic.DLQ.value]):
        world.broker.trim(Topic.DLQ.value, partition[1], world.broker.log(partition).end)
    bury(world, "after")
    found = world.broker.log((Topic.DLQ.value, first.origin.partition)).end
    report = ticking.tick(10_000)
    assert report.stored == 1
    assert report.lost_to_retention > 0
    assert found >= report.lost_to_retention


def test_rows_older_than_the_setting_are_forgotten_at_most_once_an_hour() -> None:
    world = World()
    ticking = indexer(world)
    bury(world, "old")
    ticking.tick(10_000)
    world.fake_clock.advance(DAYS_30 + 60_000)
    bury(world, "young")
    assert ticking.tick(10_000) == IndexReport(stored=1, removed=1)
    assert [each.identity for each in world.stores.dead_letters.newest(ALL, 9)] == ["young:0"]
    world.fake_clock.advance(DAYS_30 - REMOVE_EVERY_MS)
    assert ticking.tick(10_000).removed == 0
