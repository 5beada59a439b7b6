"""Redriving: back to where it failed, with its history, at least once, and never round and round."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from issuetracker_dagster.adapters.memory.readers import MemoryIntakeReader
from issuetracker_dagster.errors import AlreadyRunning, PermanentError, PublishFailed, Unavailable
from issuetracker_dagster.flow.dlq_index import DLQ_GROUP, DeadLetterIndexer
from issuetracker_dagster.flow.redrive import BATCH, LOCK, LOCK_LOST, LOCK_MS, RedriveOptions, Redriver, RedriveReport
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.letters import MAX_REDRIVES, Letter, LetterFilter, LetterState
from issuetracker_dagster.model.message import Message, Origin, Outgoing, Record, message_of
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.redrive import Left, lives
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.ports.locks import LockHold, Locks
from tests.dead_letters import written
from tests.flow.world import World, crawl_message, message

ALL = LetterFilter()
ONCE = RedriveOptions()


class DlqWorld(World):
    """With an index and a redriver."""

    def __init__(self) -> None:
        super().__init__()
        self.index = self.stores.dead_letters
        self._indexer = DeadLetterIndexer(
            reader=MemoryIntakeReader(self.broker, Topic.DLQ.value, DLQ_GROUP),
            index=self.index,
            clock=self.clock,
            forget_after_ms=10**13,
        )
        self.reads = 0

    def indexed(self, *letters: Outgoing) -> None:
        self.producer.publish(letters)
        self._indexer.tick(60_000)
        self.fake_clock.advance(1)

    def dies(self, dead: Message, stage: Stage = Stage.PARSER) -> None:
        """As a stage lets it die."""
        self.settler(stage).settle(dead, None, PermanentError("gone", code="http_404"))
        self._indexer.tick(60_000)
        self.fake_clock.advance(1)

    def read(self, letter: Letter) -> Record | None:
        self.reads += 1
        found = self.broker.log((Topic.DLQ.value, letter.dlq_partition)).read(letter.dlq_offset, 1)
        return next((record for record in found if record.origin.offset == letter.dlq_offset), None)

    def redriver(
        self,
        *,
        read: Callable[[Letter], Record | None] | None = None,
        publish: Callable[[Sequence[Outgoing]], None] | None = None,
        locks: Callable[[], Locks] | None = None,
    ) -> Redriver:
        """With those parts instead of the world's own."""
        return Redriver(
            index=self.index,
            read=read or self.read,
            publish=publish or self.producer.publish,
            clock=self.clock,
            locks=locks or (lambda: self.locks),
        )

    def redrive(self, options: RedriveOptions = ONCE, wanted: LetterFilter = ALL) -> RedriveReport:
        return self.redriver().run(wanted, options)


def fetched(world: World) -> list[Message]:
    return [message_of(record) for record in world.records(Topic.FETCHED)]


def test_a_letter_goes_back_to_the_topic_it_came_from_one_generation_on_with_all_else_kept() -> None:
    world = DlqWorld()
    dead = message(priority=Priority.HIGH, generation=4, attempt=3, recrawl_count=2, other=(("mine", b"\xff"),))
    world.dies(dead)
    assert world.redrive() == RedriveReport(redriven=1, by_topic={"fetched": 1})
    (again,) = world.records(Topic.FETCHED)
    kept = [header for header in again.headers if not header[0].startswith("redrive_")]
    assert kept == dead.evolve(generation=5, attempt=1).headers.to_raw()
    assert (again.key, again.value) == (dead.key, dead.value)
    assert [letter.state for letter in world.index.newest(LetterFilter(states=()), 9)] == [LetterState.REDRIVEN]


def test_a_crawl_job_goes_back_to_its_band_also_when_it_had_never_been_in_kafka() -> None:
    world = DlqWorld()
    low = crawl_message("https://a.com/", "low", Priority.LOW)
    from_high = Origin("crawl.high", 0, 3, 1)
    world.indexed(
        written("a", low.value, stage=Stage.FETCH, source=None, priority=Priority.LOW),
        written("b", low.value, stage=Stage.FETCH, source=from_high, priority=Priority.NORMAL),
    )
    assert world.redrive().by_topic == {"crawl.low": 1, "crawl.high": 1}


@pytest.mark.parametrize("topic", ["dlq", "enriched", "crawl.high", "somebodys", ""])
def test_a_letter_goes_to_no_topic_that_its_stage_does_not_read(topic: str) -> None:
    world = DlqWorld()
    world.indexed(written(source=Origin(topic, 0, 0, 1)))
    assert world.redrive().by_topic == {"fetched": 1}


def test_redrives_pass_deduplication_by_and_never_enter_the_buffer() -> None:
    world = DlqWorld()
    job = crawl_message("https://news.example.com/a")
    world.indexed(*(written(f"r{n}", job.value, stage=Stage.FETCH, source=None) for n in range(3)))
    assert world.redrive().redriven == 3
    assert len(world.records(Topic.CRAWL_HIGH)) == 3


def test_a_redriven_letter_that_fails_again_comes_back_with_its_history_and_count() -> None:
    world = DlqWorld()
    world.dies(message())
    began_ms = world.clock.now_ms()
    world.redrive()
    (again,) = fetched(world)
    world.dies(again, Stage.ENRICH)
    (letter,) = world.index.newest(ALL, 9)
    assert (letter.identity, letter.redrive_count, letter.stage) == ("root:1", 1, "enrich")
    (life,) = lives(world.index.kept([letter.letter_id])[letter.letter_id].headers)
    assert (life.stage, life.reason, life.error, life.generation) == ("parser", "http_404", "gone", 0)
    assert life.redriven_ms >= began_ms > life.at_ms


def test_a_letter_cannot_loop_it_is_left_as_exhausted_until_forced() -> None:
    world = DlqWorld()
    world.dies(message())
    for _ in range(MAX_REDRIVES):
        assert world.redrive().redriven == 1
        world.dies(max(fetched(world), key=lambda found: found.headers.generation))
    assert world.redrive() == RedriveReport(left={Left.EXHAUSTED: 1})
    (letter,) = world.index.newest(ALL, 9)
    assert letter.is_exhausted
    assert world.redrive(RedriveOptions(force=True)).redriven == 1
    forced = max(fetched(world), key=lambda found: found.headers.generation)
    assert dict(forced.headers.other)["redrive_count"] == b"%d" % (MAX_REDRIVES + 1)
    assert len(lives(forced.headers.other)) == MAX_REDRIVES + 1


def test_the_history_that_a_message_carries_stays_small() -> None:
    world = DlqWorld()
    world.indexed(written(error="x" * 2_000))
    for _ in range(12):
        world.redrive(RedriveOptions(force=True))
        newest = max(fetched(world), key=lambda found: found.headers.generation)
        world.settler(Stage.PARSER).settle(newest, None, PermanentError("y" * 2_000))
        world.indexed()
    headers = dict(max(fetched(world), key=lambda found: found.headers.generation).headers.other)
    assert headers["redrive_count"] == b"12"
    assert len(headers["redrive_history"]) < 2_000


def test_letters_that_die_again_while_it_runs_are_not_taken_up_again() -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}") for n in range(5)))

    def publish_and_die(records: Sequence[Outgoing]) -> None:
        world.producer.publish(records)
        world.fake_clock.advance(1)
        at_ms = world.clock.now_ms()
        world.indexed(*(written(message_of_outgoing(each).root_id, generation=1, at_ms=at_ms) for each in records))

    redriver = world.redriver(publish=publish_and_die)
    assert redriver.run(ALL, RedriveOptions(rate=2)).redriven == 5
    assert world.index.count(ALL) == 5


def message_of_outgoing(outgoing: Outgoing) -> Headers:
    return message_of(Record(Origin("x", 0, 0, 0), outgoing.key, outgoing.value, tuple(outgoing.headers))).headers


def test_what_cannot_be_redriven_is_left_counted_and_hinders_nobody() -> None:
    world = DlqWorld()
    no_identity = written()
    no_identity = Outgoing(
        Topic.DLQ, b"k", b"\xff", [header for header in no_identity.headers if header[0] != "root_id"]
    )
    nobodys = Outgoing(Topic.DLQ, b"k", b"x", [("root_id", b"n")])
    without_value = written("w")
    without_value = Outgoing(Topic.DLQ, b"k", b"", [*without_value.headers, ("dlq_value_bytes", b"9")])
    world.indexed(no_identity, nobodys, without_value, written("huge", b"x" * 1_500_000), written("good"))
    assert world.redrive() == RedriveReport(
        redriven=1,
        by_topic={"fetched": 1},
        left={Left.NO_IDENTITY: 1, Left.NO_STAGE: 1, Left.NO_VALUE: 1, Left.TOO_LARGE: 1},
    )
    assert [found.identity for found in fetched(world)] == ["good:1"]
    assert world.index.count(ALL) == 4


def test_a_letter_that_the_index_does_not_keep_is_read_from_kafka_and_left_when_it_is_gone() -> None:
    world = DlqWorld()
    world.indexed(written("small"), written("large", b"x" * 50_000))
    world.indexed(written("lost", b"y" * 50_000))
    (lost,) = world.index.newest(LetterFilter(named="lost"), 1)
    world.broker.trim(Topic.DLQ.value, lost.dlq_partition, lost.dlq_offset + 1)
    (large,) = world.index.newest(LetterFilter(named="large"), 1)
    gone = {Left.GONE: 1} if world.read(large) else {Left.GONE: 2}
    assert world.redrive().left == gone
    assert "small" in {found.headers.root_id for found in fetched(world)}


def test_a_dry_run_says_the_same_and_does_nothing() -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}") for n in range(3)), Outgoing(Topic.DLQ, b"k", b"\xff", []))
    said = world.redrive(RedriveOptions(dry_run=True))
    assert (world.records(Topic.FETCHED), world.index.count(ALL)) == ([], 4)
    assert said == world.redrive()


def test_filters_and_limit_bound_what_is_redriven() -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}", reason="expired" if n % 2 else "http_404") for n in range(10)))
    wanted = LetterFilter(reasons=("expired",))
    assert world.redrive(RedriveOptions(limit=2), wanted).redriven == 2
    assert [world.redrive(RedriveOptions(limit=9), wanted).redriven for _ in range(2)] == [3, 0]
    assert world.index.count(ALL) == 5


def test_a_limit_counts_what_is_redriven_and_not_what_is_left() -> None:
    world = DlqWorld()
    junk = [Outgoing(Topic.DLQ, b"k", b"\xff%d" % n, []) for n in range(5)]
    world.indexed(*junk, written("good"))
    assert world.redrive(RedriveOptions(limit=1)).redriven == 1


@pytest.mark.parametrize(("rate", "at_least_s"), [(10, 4.0), (1_000, 0.0)])
def test_the_rate_is_bounded(rate: int, at_least_s: float) -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}") for n in range(50)))
    began = world.clock.monotonic()
    world.redrive(RedriveOptions(rate=rate))
    assert at_least_s <= world.clock.monotonic() - began <= at_least_s + 1.5


def test_a_redrive_whose_broker_falls_away_goes_on_loses_none_and_repeats_at_most_a_batch() -> None:
    world = DlqWorld()
    roots = [f"r{n}" for n in range(3 * BATCH)]
    world.indexed(*(written(root) for root in roots))
    sent = 0

    def publish(records: Sequence[Outgoing]) -> None:
        nonlocal sent
        sent += 1
        world.producer.publish(records)
        if sent == 2:
            raise PublishFailed("acknowledged by nobody, though it is there")

    redriver = world.redriver(publish=publish)
    with pytest.raises(PublishFailed):
        redriver.run(ALL, ONCE)
    assert redriver.run(ALL, ONCE).redriven == 2 * BATCH
    counts = Counter(found.identity for found in fetched(world))
    assert set(counts) == {f"{root}:1" for root in roots}
    assert sum(counts.values()) == len(roots) + BATCH


def test_letters_that_arrived_before_the_broker_failed_are_not_sent_again() -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}") for n in range(3)))
    fails = iter([True])

    def publish(records: Sequence[Outgoing]) -> None:
        if next(fails, False):
            world.producer.publish(records[:2])
            raise PublishFailed("one partition has no leader", arrived=records[:2])
        world.producer.publish(records)

    redriver = world.redriver(publish=publish)
    with pytest.raises(PublishFailed):
        redriver.run(ALL, ONCE)
    assert redriver.run(ALL, ONCE).redriven == 1
    assert Counter(found.identity for found in fetched(world)) == {f"r{n}:1": 1 for n in range(3)}


def test_it_stops_when_told_and_says_so() -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}") for n in range(3)))
    redriver = world.redriver()
    told = iter([None, "interrupted"])
    report = redriver.run(ALL, RedriveOptions(rate=1), control=lambda: next(told))
    assert (report.redriven, report.stopped) == (1, "interrupted")


def test_a_second_redrive_is_told_of_the_first_and_does_nothing() -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}") for n in range(5)))
    refused: list[str] = []

    def publish(records: Sequence[Outgoing]) -> None:
        with pytest.raises(AlreadyRunning) as caught:
            world.redrive()
        refused.append(str(caught.value))
        assert world.redrive(RedriveOptions(dry_run=True)).redriven > 0
        world.producer.publish(records)

    first = world.redriver(publish=publish)
    assert first.run(ALL, RedriveOptions(rate=2)).redriven == 5
    assert len(refused) == 3
    assert "another redrive is at work" in refused[0]
    assert Counter(found.identity for found in fetched(world)) == {f"r{n}:1": 1 for n in range(5)}
    assert world.redrive() == RedriveReport()  # the lock is free again


def test_a_redrive_that_was_held_up_past_its_lock_sends_nothing_beside_its_successor() -> None:
    world = DlqWorld()
    world.indexed(*(written(f"r{n}", b"x" * 50_000) for n in range(5)))

    def read_for_long(letter: Letter) -> Record | None:
        world.fake_clock.advance(LOCK_MS + 1)
        taken.append(world.locks.acquire(LOCK, 10 * LOCK_MS))
        return world.read(letter)

    taken: list[LockHold | None] = []
    held_up = world.redriver(read=read_for_long)
    assert held_up.run(ALL, RedriveOptions(rate=1)) == RedriveReport(stopped=LOCK_LOST)
    assert fetched(world) == []
    (successor,) = filter(None, taken)
    assert world.locks.release(successor)  # which it left alone
    assert world.redrive().redriven == 5


def test_a_redrive_goes_on_without_a_lock_while_redis_is_out(caplog: pytest.LogCaptureFixture) -> None:
    world = DlqWorld()
    world.indexed(written())

    def out() -> Locks:
        raise Unavailable("Redis is out")

    redriver = world.redriver(locks=out)
    assert redriver.run(ALL, ONCE).redriven == 1
    assert "without a lock: Redis is out" in caplog.text
