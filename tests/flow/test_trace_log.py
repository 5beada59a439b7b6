"""The log of steps: written in batches, bounded, and never in anybody's way."""

import threading
from collections.abc import Sequence

import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.store_traces import MemoryMessageTrace
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.trace_log import BATCH, MOST_WAITING, PAUSE_S, TraceLog
from issuetracker_dagster.ports.traces import TraceLine


class Log:
    """A log on a database that can be out."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.trace = MemoryMessageTrace(cap=100_000)
        self.is_out = False
        self.writes: list[int] = []
        self.dropped: list[int] = []
        self.wake = threading.Event()
        self.log = TraceLog(self.write, self.clock, dropped=self.dropped.append, wake=self.wake)

    def write(self, lines: Sequence[TraceLine]) -> None:
        self.writes.append(len(lines))
        if self.is_out:
            raise Unavailable("the database is locked")
        self.trace.write(lines)

    def note(self, count: int) -> None:
        self.log.note([line(number) for number in range(count)])

    def written(self) -> list[int]:
        return [each.at_ms for each in self.trace.of("r", 100_000)]


def line(number: int) -> TraceLine:
    return TraceLine(root_id="r", generation=0, action="message.forwarded", at_ms=number)


@pytest.fixture
def at() -> Log:
    return Log()


def test_lines_are_written_in_batches_in_their_order(at: Log) -> None:
    at.note(2 * BATCH + 1)
    at.log.flush()
    at.log.flush()
    assert at.writes == [BATCH, BATCH, 1]
    assert at.written() == list(range(2 * BATCH + 1))


def test_a_full_batch_wakes_the_writer_and_a_few_lines_dont(at: Log) -> None:
    at.note(BATCH - 1)
    assert not at.wake.is_set()
    at.note(1)
    assert at.wake.is_set()


def test_a_step_that_nobody_could_find_is_left_out(at: Log) -> None:
    at.log.note([None, line(1), None])
    at.log.flush()
    assert at.written() == [1]


def test_while_the_database_is_out_lines_wait_and_it_is_left_alone_for_a_while(at: Log) -> None:
    at.is_out = True
    at.note(3)
    with pytest.raises(Unavailable):
        at.log.flush()
    at.is_out = False
    at.log.flush()
    assert at.writes == [3]
    at.clock.advance(PAUSE_S * 1000)
    at.log.flush()
    assert at.written() == [0, 1, 2]


def test_the_newest_beyond_the_bound_are_dropped_and_counted(at: Log) -> None:
    at.note(MOST_WAITING - 1)
    at.note(5)
    assert at.dropped == [4]
    at.is_out = True
    with pytest.raises(Unavailable):
        at.log.flush()
    at.note(7)
    assert at.dropped == [4, 7]
    at.is_out = False
    at.clock.advance(PAUSE_S * 1000)
    at.log.flush()
    assert len(at.written()) == MOST_WAITING


def test_what_comes_while_a_batch_fails_doesnt_push_the_bound(at: Log) -> None:
    at.note(MOST_WAITING)

    def fails(_: Sequence[TraceLine]) -> None:
        at.note(10)
        raise Unavailable("the database is locked")

    log = TraceLog(fails, at.clock, dropped=at.dropped.append, wake=at.wake)
    at.log = log
    at.note(MOST_WAITING)
    with pytest.raises(Unavailable):
        log.flush()
    assert sum(at.dropped) == 10
