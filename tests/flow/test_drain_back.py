"""Draining a queue back to Kafka: every message is in one of the two, whatever fails in between."""

from collections.abc import Sequence

import pytest

from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.readers import MemoryProducer
from issuetracker_dagster.errors import PublishFailed, RecordsRefused, StaleLease, Unavailable
from issuetracker_dagster.flow.drain_back import BATCH, LOCK_MS, DrainBack, DrainBackReport, IntakeBusy
from issuetracker_dagster.flow.intake import intake_lock
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, queue_entry
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.ports.topics import Producer
from tests.flow.world import World, dlq_notes, message


def drain_back(world: World, queue: MemoryStageQueue, producer: Producer | None = None) -> DrainBack:
    return DrainBack(
        Stage.PARSER, queue=queue, producer=producer or world.producer, locks=world.locks, clock=world.clock
    )


def filled(world: World, count: int) -> MemoryStageQueue:
    queue = world.queue()
    queue.push([queue_entry(message(f"m{number:04}", Priority(number % 3 + 1))) for number in range(count)])
    return queue


def returned(world: World) -> list[str]:
    return sorted(headers_from_raw(record.headers).identity for record in world.records(Topic.FETCHED))


def test_everything_goes_back_under_its_own_identity_and_headers() -> None:
    world = World()
    queue = filled(world, 0)
    sent = message("a", Priority.HIGH, recrawl_count=2, attempt=2)
    queue.push([queue_entry(sent)])
    heard: list[DrainBackReport] = []
    assert drain_back(world, queue).run(heard.append) == DrainBackReport(returned=1)
    assert heard[-1].returned == 1
    (record,) = world.records(Topic.FETCHED)
    assert (headers_from_raw(record.headers), record.key, record.value) == (sent.headers, sent.key, sent.value)
    assert queue.depth().total == 0
    assert world.intake(queue).tick(1_000).stored == 1, "the lock is free again"


def test_many_batches_go_back_whole() -> None:
    world = World()
    queue = filled(world, 2 * BATCH + 7)
    assert drain_back(world, queue).run() == DrainBackReport(returned=2 * BATCH + 7)
    assert len(returned(world)) == 2 * BATCH + 7


def test_while_an_intake_works_it_is_refused_with_what_to_do() -> None:
    world = World()
    queue = filled(world, 3)

    class AlwaysHeld:
        def acquire(self, name: str, ttl_ms: int) -> None:
            return None

    busy = DrainBack(
        Stage.PARSER,
        queue=queue,
        producer=world.producer,
        locks=AlwaysHeld(),  # type: ignore[arg-type]
        clock=world.clock,
    )
    with pytest.raises(IntakeBusy, match="parser_intake"):
        busy.run()
    assert (queue.depth().ready, returned(world)) == (3, [])


def test_no_intake_fills_the_queue_meanwhile() -> None:
    world = World()
    queue = filled(world, BATCH + 1)
    skipped: list[str] = []
    drain_back(world, queue).run(lambda _: skipped.append(world.intake(queue).tick(100).skipped))
    assert skipped == ["another intake of this stage is at work"] * 2
    assert queue.depth().total == 0


def test_a_broker_that_refuses_leaves_the_rest_at_its_place_and_the_next_call_goes_on() -> None:
    world = World()
    queue = filled(world, BATCH + 5)

    class Refusing(MemoryProducer):
        left = 1

        def publish(self, records: Sequence[Outgoing]) -> None:
            if not self.left:
                raise PublishFailed("no leader")
            self.left -= 1
            super().publish(records)

    with pytest.raises(PublishFailed):
        drain_back(world, queue, Refusing(world.broker)).run()
    assert (len(returned(world)), queue.depth().ready, queue.depth().leased) == (BATCH, 5, 0)
    assert drain_back(world, queue).run() == DrainBackReport(returned=5)
    assert returned(world) == sorted(set(returned(world)))


def test_killed_between_publish_and_ack_a_message_is_in_both_under_one_identity() -> None:
    world = World()
    queue = filled(world, 3)
    queue.ack = _killed  # type: ignore[method-assign,assignment]
    with pytest.raises(KeyboardInterrupt):
        drain_back(world, queue).run()
    del queue.ack
    world.fake_clock.advance(LOCK_MS)
    assert queue.depth().leased + queue.depth().ready == 3
    assert drain_back(world, queue).run().returned == 3
    assert sorted(set(returned(world))) == ["m0000:0", "m0001:0", "m0002:0"]
    assert queue.depth().total == 0


def _killed(_: object) -> tuple[str, ...]:
    raise KeyboardInterrupt


def test_a_lost_lock_stops_it_before_the_next_publish() -> None:
    world = World()
    queue = filled(world, 2 * BATCH)

    def lose(_: DrainBackReport) -> None:
        world.fake_clock.advance(LOCK_MS + 1)
        assert world.locks.acquire(intake_lock(Stage.PARSER), 1_000)

    with pytest.raises(StaleLease):
        drain_back(world, queue).run(lose)
    assert (len(returned(world)), queue.depth().ready) == (BATCH, BATCH)


def test_what_others_hold_or_have_put_off_is_left_and_counted() -> None:
    world = World()
    queue = filled(world, 3)
    first, second = queue.claim("worker", 2, 600_000).leases
    assert queue.nack(second, 600_000)
    assert drain_back(world, queue).run() == DrainBackReport(returned=1, leased=1, delayed=1)
    assert queue.ack([first]) == ()


def test_what_doesnt_decode_goes_to_the_dlq_and_holds_nothing_up() -> None:
    world = World()
    queue = filled(world, 2)
    queue.push([QueueEntry("junk:0", Priority.HIGH, 0, b"\xff\x00")])
    assert drain_back(world, queue).run() == DrainBackReport(returned=2, buried=1)
    (letter,) = world.records(Topic.DLQ)
    assert (dlq_notes(letter)["reason"], letter.value) == ("malformed", b"\xff\x00")


def test_what_its_topic_refuses_goes_to_the_dlq_and_holds_nothing_up() -> None:
    world = World()
    queue = filled(world, 3)

    class Picky(MemoryProducer):
        def publish(self, records: Sequence[Outgoing]) -> None:
            refused = [
                one for one in records if one.topic == Topic.FETCHED and dict(one.headers)["root_id"] == b"m0001"
            ]
            super().publish([one for one in records if one not in refused])
            if refused:
                raise RecordsRefused("too large", refused=refused)

    assert drain_back(world, queue, Picky(world.broker)).run() == DrainBackReport(returned=2, buried=1)
    (letter,) = world.records(Topic.DLQ)
    assert (dlq_notes(letter)["reason"], dict(letter.headers)["root_id"]) == ("too_large", b"m0001")
    assert (returned(world), queue.depth().total) == (["m0000:0", "m0002:0"], 0)


def test_a_redis_that_goes_out_in_between_doesnt_hide_the_cause() -> None:
    world = World()
    queue = filled(world, 2)

    class Gone(MemoryProducer):
        def publish(self, records: Sequence[Outgoing]) -> None:
            raise PublishFailed("no leader")

    def out(_: object) -> tuple[str, ...]:
        raise Unavailable("Redis is out")

    queue.release = out  # type: ignore[method-assign,assignment]
    with pytest.raises(PublishFailed):
        drain_back(world, queue, Gone(world.broker)).run()
    assert queue.depth().leased == 2
