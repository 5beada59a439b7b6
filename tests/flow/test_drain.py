"""Draining: publish, then remove; in order, while there is room, by one drainer at a time."""

import contextlib
import itertools
from collections.abc import Mapping, Sequence

import pytest

from issuetracker_dagster.errors import LagUnknown, PublishFailed, Unavailable
from issuetracker_dagster.flow.drain import BUSY, DRAIN_LOCK, EMPTIED, LOCK_TTL_MS, OVER, TAKEN_OVER
from issuetracker_dagster.flow.retry import RetryScheduler
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.ports.buffer import SWITCH_LASTS_MS
from issuetracker_dagster.ports.locks import Mark
from issuetracker_dagster.ports.topics import TopicPartition
from tests.flow.drain_world import DrainWorld, Refusing, job
from tests.flow.world import NoDlq, dlq_notes


def test_jobs_arrive_in_their_order_and_both_bands_are_counted() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(12)])
    world.low.push([encode_buffered(BufferedJob(world.clock.now_ms(), job("b-0", Priority.LOW)))])
    summary = world.drain()
    assert world.arrived(Topic.CRAWL_LOW) == ["b-0"]
    assert world.arrived() == [f"a-{n}" for n in range(12)]
    assert summary.published == {"normal": 12, "low": 1}
    assert summary.reason == OVER
    assert world.normal.state().backlog == 0


def test_a_job_that_comes_while_there_is_room_is_drained_within_a_second_not_after_the_interval() -> None:
    world = DrainWorld()
    asked = 0

    def control() -> str | None:
        nonlocal asked
        asked += 1
        if asked == 8:
            world.fill(["a-late"])
        return None

    summary = world.drain(control=control, duration_ms=20_000, interval_ms=600_000)
    assert world.arrived() == ["a-late"]
    assert summary.dwell_max_ms <= 1_000


def test_the_topic_stays_at_its_target() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(40)])
    world.drain(target=17)
    assert len(world.arrived()) == 17
    world.read()
    world.drain(target=17)
    assert len(world.arrived()) == 34


def test_a_full_topic_is_asked_about_ever_more_rarely_up_to_the_interval() -> None:
    world = DrainWorld()
    world.fill(["a-0"])
    asked: list[float] = []

    class Full:
        def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
            asked.append(world.clock.monotonic())
            return {(topics[0], 0): 1_000}

    world.drain(lag=Full(), interval_ms=4_000, duration_ms=30_000)
    gaps = [round(later - earlier, 1) for earlier, later in itertools.pairwise(asked)]
    assert gaps[:4] == [0.5, 1.0, 2.0, 4.0]
    assert max(gaps) == 4.0


def test_finding_15_a_group_that_never_committed_neither_blocks_nor_pours_without_end() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(50)])
    world.drain(target=20, duration_ms=60_000)
    assert len(world.arrived()) == 20


def test_an_unknown_lag_skips_the_cycle_and_the_next_one_drains() -> None:
    world = DrainWorld()
    world.fill(["a-0"])
    times = 0

    class Late:
        def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
            nonlocal times
            times += 1
            if times < 3:
                raise LagUnknown("not now")
            return world.memory_lag.lag(group, topics)

    summary = world.drain(lag=Late())
    assert world.arrived() == ["a-0"]
    assert 1_000 <= summary.dwell_max_ms <= 3_000


def test_finding_13_and_14_a_refused_batch_comes_first_and_passes_the_buffer_by() -> None:
    world = DrainWorld()
    names = [f"a-{n}" for n in range(12)]
    world.fill(names)
    summary = world.drain(producer=Refusing(world.producer, times=1), control=world.relaying(), duration_ms=20_000)
    assert world.arrived() == names
    assert (summary.set_aside, summary.published) == (5, {"normal": 7})
    assert summary.longest_pause_ms >= 5_000
    assert world.normal.paused() == ()


def test_a_repeated_copy_of_a_refused_job_has_the_same_identity() -> None:
    world = DrainWorld()
    world.fill(["a-0", "a-1"])
    world.drain(producer=Refusing(world.producer, times=1, prefix=1), control=world.relaying(), duration_ms=20_000)
    first, again, _ = world.records(Topic.CRAWL_NORMAL)
    assert (first.key, first.value, first.headers) == (again.key, again.value, again.headers)


def test_of_a_batch_that_fails_for_one_partition_only_what_is_missing_waits_and_the_rest_comes_once() -> None:
    world = DrainWorld()
    names = ["a-0", "b-0", "a-1", "b-1", "a-2", "b-2", "a-3"]
    world.fill(names)
    refusals = 1

    class Leaderless:
        def publish(self, records: Sequence[Outgoing]) -> None:
            nonlocal refusals
            arrived = [record for record in records if record.key != b"a.example.com" or not refusals]
            world.producer.publish(arrived)
            if len(arrived) < len(records):
                refusals -= 1
                raise PublishFailed("no leader", arrived=arrived)

        def close(self) -> None: ...

    summary = world.drain(producer=Leaderless(), control=world.relaying(), duration_ms=20_000)
    assert sorted(world.arrived()) == sorted(names)
    assert [name for name in world.arrived() if name.startswith("a")] == ["a-0", "a-1", "a-2", "a-3"]
    assert (summary.set_aside, summary.published) == (3, {"normal": 4})


def test_the_next_drainer_waits_for_the_batch_that_the_last_one_set_aside() -> None:
    world = DrainWorld()
    names = [f"a-{n}" for n in range(8)]
    world.fill(names)
    world.drain(producer=Refusing(world.producer, times=1), duration_ms=2_000)
    world.drain(duration_ms=60_000)
    assert world.arrived() == []
    world.drain(control=world.relaying())
    assert world.arrived() == names


class NoRoomForRetries:
    """A retry set in a full Redis: it refuses writes and still reads."""

    def __init__(self, world: DrainWorld) -> None:
        self._set = world.retry_set

    def schedule_all(self, entries: Sequence[RetryEntry]) -> None:
        raise Unavailable("out of memory")

    def holds(self, identities: Sequence[str]) -> int:
        return self._set.holds(identities)


def test_finding_13_order_survives_a_refusal_that_the_retry_set_cant_take() -> None:
    world = DrainWorld()
    names = [f"a-{n}" for n in range(12)]
    world.fill(names)
    producer = Refusing(world.producer, times=3)
    summary = world.drain(producer=producer, retries=NoRoomForRetries(world), duration_ms=30_000)
    assert world.arrived() == names
    assert summary.set_aside == 0
    assert summary.longest_pause_ms >= 3_000


def test_while_the_broker_refuses_for_an_hour_one_batch_waits_in_the_retry_set_and_order_survives() -> None:
    world = DrainWorld()
    names = [f"{host}-{n}" for n in range(10) for host in "ab"]
    world.fill(names)
    back = world.clock.monotonic() + 3_600
    refusals: list[float] = []
    most = 0

    class OutForAnHour:
        def publish(self, records: Sequence[Outgoing]) -> None:
            if world.clock.monotonic() < back:
                refusals.append(world.clock.monotonic())
                raise PublishFailed("too few replicas in sync")
            world.producer.publish(records)

        def close(self) -> None: ...

    producer = OutForAnHour()
    relay = RetryScheduler(world.retry_set, producer, world.clock)
    relay_at = 0.0

    def control() -> str | None:
        nonlocal most, relay_at
        most = max(most, world.retry_set.size())
        if world.clock.monotonic() >= relay_at:
            relay_at = world.clock.monotonic() + 5
            with contextlib.suppress(PublishFailed):
                relay.relay()
        return None

    world.drain(producer=producer, control=control, duration_ms=3_620_000)
    assert [name for name in world.arrived() if name[0] == "a"] == [f"a-{n}" for n in range(10)]
    assert [name for name in world.arrived() if name[0] == "b"] == [f"b-{n}" for n in range(10)]
    assert len(world.arrived()) == 20
    assert most == 5
    assert 700 <= len(refusals) <= 721  # the drainer once, the relay every five seconds


def test_finding_12_a_batch_is_put_back_although_the_run_has_been_told_to_stop() -> None:
    world = DrainWorld()
    names = [f"a-{n}" for n in range(7)]
    world.fill(names)
    told = ""
    tries = 0

    class Stopping:
        def publish(self, records: Sequence[Outgoing]) -> None:
            nonlocal told
            told = "the process ends"
            raise PublishFailed("the broker is gone")

        def close(self) -> None: ...

    class Flickering:
        def __getattr__(self, name: str) -> object:
            return getattr(world.normal, name)

        def put_back(self, epoch: int) -> int:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise Unavailable("not now")
            return world.normal.put_back(epoch)

    summary = world.drain(
        buffers={Topic.CRAWL_NORMAL.value: Flickering()},
        producer=Stopping(),
        retries=NoRoomForRetries(world),
        control=lambda: told,
    )
    assert summary.reason == "the process ends"
    assert (world.normal.state().waiting, world.normal.state().draining) == (7, 0)


def test_finding_12_an_interrupt_in_the_midst_of_a_publish_leaves_nothing_in_hand() -> None:
    world = DrainWorld()
    world.fill(["a-0", "a-1"])

    class Interrupted:
        def publish(self, records: Sequence[Outgoing]) -> None:
            raise KeyboardInterrupt

        def close(self) -> None: ...

    with pytest.raises(KeyboardInterrupt):
        world.drain(producer=Interrupted())
    assert (world.normal.state().waiting, world.normal.state().draining) == (2, 0)
    world.drain()
    assert world.arrived() == ["a-0", "a-1"]


def test_finding_16_a_second_drainer_ends_at_once() -> None:
    world = DrainWorld()
    world.fill(["a-0"])
    world.locks.acquire(DRAIN_LOCK, LOCK_TTL_MS)
    assert world.drain().reason == BUSY
    assert world.arrived() == []
    assert not world.switch.is_on()


def test_finding_16_a_drainer_that_lost_its_lock_takes_nothing_and_doesnt_release_the_other_ones_lock() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(20)])
    published = 0

    class Slow:
        def publish(self, records: Sequence[Outgoing]) -> None:
            nonlocal published
            published += len(records)
            world.producer.publish(records)
            world.fake_clock.advance(LOCK_TTL_MS + 1)
            assert world.locks.acquire(DRAIN_LOCK, LOCK_TTL_MS) is not None

        def close(self) -> None: ...

    summary = world.drain(producer=Slow(), duration_ms=3_600_000)
    assert (summary.reason, published) == (TAKEN_OVER, 5)
    assert world.locks.acquire(DRAIN_LOCK, LOCK_TTL_MS) is None


def test_finding_16_a_fenced_drainer_takes_nothing_although_it_believes_in_its_lock() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(20)])

    class Fencing:
        def publish(self, records: Sequence[Outgoing]) -> None:
            world.producer.publish(records)
            world.normal.recover(world.clock.now_ms() + 1_000_000)

        def close(self) -> None: ...

    assert world.drain(producer=Fencing()).reason == TAKEN_OVER
    assert len(world.arrived()) == 5


def test_finding_16_a_drainer_that_was_fenced_out_in_the_midst_of_a_publish_that_fails_schedules_nothing() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(20)])

    class Suspended:
        def publish(self, records: Sequence[Outgoing]) -> None:
            newer = world.clock.now_ms() + 1_000_000
            world.normal.recover(newer)
            world.normal.pause(newer, ["of its successor:0"])
            raise PublishFailed("too late")

        def close(self) -> None: ...

    assert world.drain(producer=Suspended()).reason == TAKEN_OVER
    assert world.normal.paused() == ("of its successor:0",)
    assert (world.retry_set.size(), world.normal.state().waiting) == (0, 20)


def test_a_lock_that_ran_out_with_nobody_there_is_taken_again() -> None:
    world = DrainWorld()
    names = [f"a-{n}" for n in range(12)]
    world.fill(names)

    class Slow:
        def publish(self, records: Sequence[Outgoing]) -> None:
            world.producer.publish(records)
            world.fake_clock.advance(LOCK_TTL_MS + 1)

        def close(self) -> None: ...

    summary = world.drain(producer=Slow(), duration_ms=3_600_000)
    assert world.arrived() == names
    assert summary.reason == OVER


@pytest.mark.parametrize("entry", [b"\xff no job", b"", b"\x81\xa1x" * 10_000], ids=["junk", "empty", "deep"])
def test_finding_17_an_undecodable_entry_is_dead_lettered_and_neither_blocks_nor_loses_the_99(entry: bytes) -> None:
    world = DrainWorld()
    names = [f"a-{n}" for n in range(99)]
    world.fill(names[:50])
    world.normal.push([entry])
    world.fill(names[50:])
    summary = world.drain(batch=100)
    assert world.arrived() == names
    (letter,) = world.records(Topic.DLQ)
    assert (letter.value, dlq_notes(letter)["reason"]) == (entry, "malformed")
    assert summary.dead_lettered == 1


def test_an_undecodable_entry_waits_for_a_broker_that_is_out() -> None:
    world = DrainWorld()
    world.normal.push([b"\xff no job"])
    world.fill(["a-0"])
    world.broker.stop()
    world.drain(lag=_NoLag())
    assert world.normal.state().waiting == 2
    world.broker.start()
    world.drain()
    assert (len(world.records(Topic.DLQ)), world.arrived()) == (1, ["a-0"])


class _NoLag:
    def lag(self, group: str, topics: Sequence[str]) -> Mapping[TopicPartition, int]:
        return {}


def test_a_job_that_kafka_never_takes_goes_to_the_dlq_alone_and_its_url_may_be_published_again() -> None:
    world = DrainWorld()
    url = "https://a.example.com/huge"
    huge = job("a-huge", value=b'{"url": "%s", "source": "%s"}' % (url.encode(), b"x" * 1_200_000))
    world.ingestion.begin([Mark(url, "a-huge")])
    world.switch.turn(on=True)
    world.first_publisher().publish([job("a-0"), huge, job("a-1")])
    summary = world.drain()
    assert world.arrived() == ["a-0", "a-1"]
    assert dlq_notes(world.records(Topic.DLQ)[0])["reason"] == "too_large"
    assert world.ingestion.view(url) is None
    assert (summary.dead_lettered, summary.published, summary.repeated) == (1, {"normal": 2}, 0)


def test_beside_a_job_that_kafka_never_takes_nothing_comes_twice_although_the_dlq_is_out() -> None:
    world = DrainWorld()
    huge = job("a-huge", value=b"x" * 1_200_000)
    world.normal.push([encode_buffered(BufferedJob(0, each)) for each in (job("a-0"), huge, job("a-1"))])
    summary = world.drain(producer=NoDlq(world.broker))
    assert world.arrived() == ["a-0", "a-1"]
    assert (summary.published, summary.set_aside, summary.dead_lettered) == ({"normal": 2}, 1, 0)
    world.drain(control=world.relaying(), duration_ms=20_000)
    assert world.arrived() == ["a-0", "a-1"]
    assert [dlq_notes(record)["reason"] for record in world.records(Topic.DLQ)] == ["too_large"]
    assert world.normal.state().backlog == 0


def test_the_switch_is_on_before_the_first_cycle_and_off_before_the_last() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(3)])
    switched: list[bool] = []
    began = world.clock.monotonic()

    class Watching:
        def publish(self, records: Sequence[Outgoing]) -> None:
            switched.append(world.switch.is_on())
            world.producer.publish(records)

        def close(self) -> None: ...

    def accepts() -> bool:
        return world.clock.monotonic() < began + 5

    summary = world.drain(producer=Watching(), accepts=accepts, duration_ms=3_600_000)
    assert (switched, world.switch.is_on(), summary.reason) == ([True], False, EMPTIED)


def test_a_drain_run_keeps_the_switch_on_and_without_one_nothing_waits_for_a_drainer_that_never_comes() -> None:
    world = DrainWorld()
    world.drain(duration_ms=3 * SWITCH_LASTS_MS)
    assert world.switch.is_on()
    world.fake_clock.advance(SWITCH_LASTS_MS + 1)
    world.first_publisher().publish([job("a-0")])
    assert world.arrived() == ["a-0"]


def test_the_switch_follows_the_toggle_also_within_a_long_cycle() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(100)])
    began = world.clock.monotonic()
    seen: list[bool] = []

    class Slow:
        def publish(self, records: Sequence[Outgoing]) -> None:
            seen.append(world.switch.is_on())
            world.producer.publish(records)
            world.fake_clock.advance(3_000)

        def close(self) -> None: ...

    world.drain(producer=Slow(), accepts=lambda: world.clock.monotonic() < began + 10, duration_ms=3_600_000)
    assert seen == [True] * 4 + [False] * 16


def test_switched_off_it_empties_the_buffer_first_and_takes_a_late_job_along() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(12)])
    began = world.clock.monotonic()
    late = False

    def control() -> str | None:
        nonlocal late
        if world.clock.monotonic() > began + 8 and not late:
            late = True
            world.fill(["a-late"])  # its publisher saw the switch on a moment before
        return None

    summary = world.drain(accepts=lambda: False, control=control, duration_ms=3_600_000)
    assert len(world.arrived()) == 13
    assert summary.reason == EMPTIED


def test_a_reason_to_stop_ends_the_run_after_the_batch_in_hand() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(20)])
    stop: str | None = None

    class Stopping:
        def publish(self, records: Sequence[Outgoing]) -> None:
            nonlocal stop
            world.producer.publish(records)
            world.fake_clock.advance(1_000)
            stop = "told so"

        def close(self) -> None: ...

    summary = world.drain(producer=Stopping(), control=lambda: stop)
    assert (summary.reason, len(world.arrived())) == ("told so", 5)
    assert world.normal.state().waiting == 15
    assert world.locks.acquire(DRAIN_LOCK, LOCK_TTL_MS) is not None


def test_a_removal_that_failed_is_tried_again_instead_of_publishing_twice() -> None:
    world = DrainWorld()
    names = [f"a-{n}" for n in range(7)]
    world.fill(names)
    failures = 2

    class Flickering:
        def __getattr__(self, name: str) -> object:
            return getattr(world.normal, name)

        def done(self, epoch: int) -> None:
            nonlocal failures
            if failures:
                failures -= 1
                raise Unavailable("not now")
            world.normal.done(epoch)

    world.drain(buffers={Topic.CRAWL_NORMAL.value: Flickering()})
    assert world.arrived() == names
