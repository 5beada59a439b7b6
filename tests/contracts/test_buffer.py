"""The contract of `Buffer` and `BufferSwitch`."""

import threading

import pytest

from issuetracker_dagster.errors import StaleLease
from issuetracker_dagster.model.buffer import BufferState
from issuetracker_dagster.ports.buffer import Buffer
from tests.contracts.buffer_worlds import NOW_MS, BufferWorld, drained, entries, job, names, open_buffer_world
from tests.contracts.redis_worlds import CLUSTER, WORLDS
from tests.waiting import eventually, stays


@pytest.fixture(params=[*WORLDS, CLUSTER])
def world(request: pytest.FixtureRequest) -> BufferWorld:
    return open_buffer_world(request)


@pytest.fixture
def buffer(world: BufferWorld) -> Buffer:
    return world.buffer()


def test_jobs_come_out_in_the_order_in_which_they_were_published(buffer: Buffer) -> None:
    assert buffer.push(entries("abc")) == 0
    assert buffer.push(entries("d")) == buffer.push([]) == 0
    assert names(buffer.take(1, 2)) == "ab"
    buffer.done(1)
    assert drained(buffer, 1) == "cd"
    assert buffer.state() == BufferState()


def test_what_isnt_done_is_taken_again(buffer: Buffer) -> None:
    buffer.push(entries("abcd"))
    assert [names(buffer.take(1, limit)) for limit in (2, 2, 1, 9)] == ["ab"] * 4
    buffer.done(1)
    buffer.done(1)
    assert names(buffer.take(1, 9)) == "cd"


def test_an_advance_forgets_what_is_done_and_takes_what_comes_next(buffer: Buffer) -> None:
    buffer.push(entries("abcde"))
    assert names(buffer.take(1, 2)) == "ab"
    assert names(buffer.advance(1, 2)) == "cd"
    assert names(buffer.take(1, 9)) == "cd"
    assert names(buffer.advance(1, 9)) == "e"
    assert buffer.state().backlog == 1
    assert buffer.advance(1, 9) == ()
    assert buffer.state() == BufferState()


def test_16_an_advance_of_a_fenced_drainer_neither_forgets_nor_takes(buffer: Buffer) -> None:
    buffer.push(entries("abc"))
    buffer.take(5, 1)
    buffer.take(6, 1)
    with pytest.raises(StaleLease, match=r"epoch 5 .* by 6"):
        buffer.advance(5, 1)
    assert buffer.recover(7) == 2
    assert drained(buffer, 7) == "abc"


def test_a_peek_leaves_everything_where_it_is(buffer: Buffer) -> None:
    assert buffer.peek(5) == ()
    buffer.push(entries("abcd"))
    assert [names(buffer.peek(limit)) for limit in (0, 2, 9)] == ["", "ab", "abcd"]
    buffer.take(1, 1)
    assert names(buffer.peek(2)) == "bc"
    assert buffer.put_back(1) == 1
    assert drained(buffer, 1) == "abcd"


def test_a_take_of_nothing_is_empty(buffer: Buffer) -> None:
    assert buffer.take(1, 5) == ()
    buffer.push(entries("a"))
    assert buffer.take(1, 0) == ()
    buffer.done(1)
    buffer.put_back(1)
    assert buffer.state().waiting == 1


def test_bytes_come_out_as_they_went_in(buffer: Buffer) -> None:
    odd = [b"", b"\x00\xff\r\n$-1\r\n", bytes(range(256)), b"same", b"same"]
    buffer.push(odd)
    assert buffer.take(1, 10) == tuple(odd)


def test_13_after_a_failed_publish_the_order_is_as_before(buffer: Buffer) -> None:
    buffer.push(entries("123456"))
    assert names(buffer.take(1, 2)) == "12"
    assert buffer.put_back(1) == 2
    assert buffer.put_back(1) == 0
    assert drained(buffer, 1) == "123456"


def test_13_what_a_dead_drainer_held_comes_back_to_the_head_in_order(buffer: Buffer) -> None:
    buffer.push(entries("123456"))
    assert names(buffer.take(1, 2)) == "12"
    assert buffer.recover(2) == 2
    assert buffer.recover(2) == 0
    assert drained(buffer, 2) == "123456"


def test_13_what_two_dead_drainers_held_comes_back_in_order(buffer: Buffer) -> None:
    buffer.push(entries("123456"))
    assert names(buffer.take(8, 2)) == "12"
    assert names(buffer.take(9, 2)) == "34"  # killed before it recovered; 10 would sort before both as text
    assert buffer.state().draining == 4
    assert buffer.recover(10) == 4
    assert drained(buffer, 10, 4) == "123456"


def test_a_recovery_leaves_what_its_own_epoch_holds(buffer: Buffer) -> None:
    buffer.push(entries("abc"))
    assert names(buffer.take(2, 1)) == "a"
    assert buffer.recover(2) == 0
    assert names(buffer.take(2, 3)) == "a"


def test_16_a_drainer_that_was_fenced_out_takes_nothing(buffer: Buffer) -> None:
    buffer.push(entries("abc"))
    buffer.take(5, 1)
    buffer.recover(6)
    with pytest.raises(StaleLease, match=r"epoch 5 .* by 6"):
        buffer.take(5, 1)
    with pytest.raises(StaleLease):
        buffer.recover(5)
    assert drained(buffer, 6) == "abc"


def test_16_the_late_word_of_a_fenced_drainer_is_harmless(buffer: Buffer) -> None:
    buffer.push(entries("abc"))
    buffer.take(5, 2)
    buffer.recover(6)
    assert names(buffer.take(6, 2)) == "ab"
    buffer.done(5)
    assert buffer.put_back(5) == 0
    assert names(buffer.take(6, 2)) == "ab"
    buffer.done(6)
    assert drained(buffer, 6) == "c"


def test_10_beyond_the_limit_the_oldest_leave_for_the_outbox_and_are_counted(world: BufferWorld) -> None:
    buffer = world.buffer(max_len=3)
    assert buffer.push(entries("ab")) == 0
    assert buffer.push(entries("cde")) == 2
    assert names(buffer.outbox(10)) == "ab"
    assert buffer.push(entries("fghij")) == 5
    assert names(buffer.outbox(10)) == "abcdefg"
    assert (buffer.state().waiting, buffer.state().outbox) == (3, 7)
    assert drained(buffer, 1) == "hij"


def test_10_a_push_larger_than_the_buffer_loses_nothing(world: BufferWorld) -> None:
    buffer = world.buffer(max_len=10)
    batch = [str(number).encode() for number in range(2_500)]
    assert buffer.push(batch) == 2_490
    assert [*buffer.outbox(5_000), *buffer.take(1, 5_000)] == batch


def test_without_a_limit_nothing_falls_out(world: BufferWorld) -> None:
    buffer = world.buffer(max_len=0)
    assert buffer.push(entries("a") * 3_000) == 0
    assert (buffer.max_len, buffer.state().waiting) == (0, 3_000)


def test_what_is_put_back_may_exceed_the_limit_until_the_next_push(world: BufferWorld) -> None:
    buffer = world.buffer(max_len=2)
    buffer.push(entries("ab"))
    buffer.take(1, 2)
    assert buffer.push(entries("cd")) == 0
    assert buffer.recover(2) == 2
    assert buffer.state().waiting == 4
    assert buffer.push(entries("e")) == 3
    assert names(buffer.outbox(9)) == "abc"
    assert drained(buffer, 2) == "de"


def test_large_batches_come_back_in_order_too(buffer: Buffer) -> None:
    batch = [str(number).encode() for number in range(2_500)]
    buffer.push(batch)
    assert len(buffer.take(1, 2_200)) == 2_200
    assert buffer.recover(2) == 2_200
    assert list(buffer.take(2, 3_000)) == batch


def test_the_outbox_keeps_its_entries_until_they_are_removed(world: BufferWorld) -> None:
    buffer = world.buffer(max_len=1)
    buffer.push(entries("aabcd"))
    assert names(buffer.outbox(3)) == names(buffer.outbox(3)) == "aab"
    assert buffer.outbox(0) == ()
    assert buffer.outbox_remove(entries("ab")) == 2
    assert names(buffer.outbox(9)) == "ac"
    assert buffer.outbox_remove(entries("acx")) == 2
    assert buffer.outbox_remove(entries("ac")) == buffer.outbox_remove([]) == 0


def test_the_state_tells_what_waits_where(world: BufferWorld) -> None:
    buffer = world.buffer(max_len=3)
    buffer.push([job(number) for number in range(4)])
    buffer.take(1, 1)
    state = buffer.state()
    assert state == BufferState(waiting=2, draining=1, outbox=1, oldest_ms=NOW_MS + 1)
    assert state.backlog == 3


def test_the_age_is_that_of_the_oldest_job_that_isnt_in_kafka(buffer: Buffer) -> None:
    assert buffer.state().oldest_ms == 0
    buffer.push([job(number) for number in range(3)])
    assert buffer.state().oldest_ms == NOW_MS
    buffer.take(1, 1)
    assert buffer.state().oldest_ms == NOW_MS
    buffer.done(1)
    assert buffer.state().oldest_ms == NOW_MS + 1
    buffer.take(9, 1)
    buffer.take(10, 1)
    assert buffer.state().oldest_ms == NOW_MS + 1


def test_an_undecodable_entry_has_no_age(buffer: Buffer) -> None:
    buffer.push([b"\xc1 not msgpack"])
    assert (buffer.state().waiting, buffer.state().oldest_ms) == (1, 0)


def test_a_paused_buffer_names_what_it_waits_for(buffer: Buffer) -> None:
    assert (buffer.paused(), buffer.state().paused) == ((), False)
    buffer.pause(9, ["root-1:2", 'odd "root" é:3'])
    assert (buffer.paused(), buffer.state().paused) == (("root-1:2", 'odd "root" é:3'), True)
    buffer.pause(9, ["root-9:1"])
    assert buffer.paused() == ("root-9:1",)
    buffer.resume(9)
    buffer.resume(9)
    assert (buffer.paused(), buffer.state().paused) == ((), False)


def test_16_a_drainer_that_was_fenced_out_changes_no_note_of_its_successor(buffer: Buffer) -> None:
    buffer.recover(5)
    buffer.pause(5, ["a:1"])
    buffer.recover(6)
    assert buffer.paused() == ("a:1",)
    buffer.pause(6, ["b:1"])
    with pytest.raises(StaleLease, match=r"epoch 5 .* by 6"):
        buffer.pause(5, ["a:2"])
    with pytest.raises(StaleLease):
        buffer.resume(5)
    assert buffer.paused() == ("b:1",)


def test_a_pause_holds_up_neither_pushes_nor_takes(buffer: Buffer) -> None:
    buffer.pause(9, ["a:1"])
    buffer.push(entries("ab"))
    assert drained(buffer, 1) == "ab"
    assert buffer.paused() == ("a:1",)


def test_pushes_at_once_lose_nothing_and_keep_each_publishers_order(buffer: Buffer) -> None:
    def publish(letter: str) -> None:
        for number in range(30):
            buffer.push([f"{letter}{number:02}-{part}".encode() for part in range(5)])

    threads = [threading.Thread(target=publish, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = buffer.take(1, 1_000)
    assert len(found) == 600
    for letter in b"abcd":
        own = [one for one in found if one[0] == letter]
        assert own == sorted(own)
        assert len(own) == 150


def test_the_switch_is_off_until_it_is_turned_on(world: BufferWorld) -> None:
    switch = world.switch()
    assert not switch.is_on()
    for on in (True, True, False, False, True):
        switch.turn(on=on)
        assert switch.is_on() is on


def test_the_switch_goes_off_by_itself_unless_it_is_turned_on_again(world: BufferWorld) -> None:
    switch = world.switch(lasts_ms=200)
    switch.turn(on=True)
    assert switch.is_on()
    eventually(lambda: not switch.is_on())
    lasting = world.switch()
    lasting.turn(on=True)
    assert stays(lasting.is_on, for_s=0.3, interval_s=0.05)
