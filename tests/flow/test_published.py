"""The log of what was published: bounded, and no burden on publishing."""

import threading
from collections.abc import Sequence

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.published import FLUSH_AT_MOST, FLUSH_EVERY_MS, PAUSE_MS, PublishedLog
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.ports.traces import PublishedJob


def jobs(count: int, first: int = 0) -> list[PublishedJob]:
    return [
        PublishedJob(
            url=f"https://a.com/{number}", host="a.com", target_type=TargetType.ARTICLE, priority=2, at_ms=number
        )
        for number in range(first, first + count)
    ]


class Store:
    """Remembers each write, and fails when told to."""

    def __init__(self) -> None:
        self.writes: list[list[PublishedJob]] = []
        self.tries = 0
        self.is_out = False

    def write(self, jobs: Sequence[PublishedJob]) -> None:
        self.tries += 1
        if self.is_out:
            raise Unavailable("the database is out")
        self.writes.append(list(jobs))

    def latest(self, limit: int) -> Sequence[PublishedJob]:
        return [job for write in reversed(self.writes) for job in reversed(write)][:limit]


def test_a_lonely_job_is_written_at_once() -> None:
    store, clock = Store(), FakeClock()
    log = PublishedLog(store, clock)
    log.note(jobs(1))
    clock.advance(FLUSH_EVERY_MS)
    log.note(jobs(1, 1))
    assert store.writes == [jobs(1), jobs(1, 1)]


def test_jobs_close_together_are_written_together() -> None:
    store, clock = Store(), FakeClock()
    log = PublishedLog(store, clock)
    for number in range(5):
        log.note(jobs(1, number))
    assert store.writes == [jobs(1)]
    clock.advance(FLUSH_EVERY_MS)
    log.note(jobs(1, 5))
    assert store.writes == [jobs(1), jobs(5, 1)]


def test_what_a_burst_brings_beyond_the_bound_is_dropped() -> None:
    store, clock = Store(), FakeClock()
    log = PublishedLog(store, clock)
    log.note(jobs(FLUSH_AT_MOST + 10))
    for _ in range(10):
        log.note(jobs(FLUSH_AT_MOST // 2))
    log.close()
    assert [len(write) for write in store.writes] == [FLUSH_AT_MOST, FLUSH_AT_MOST]


def test_closing_writes_the_rest() -> None:
    store, clock = Store(), FakeClock()
    log = PublishedLog(store, clock)
    log.note(jobs(1))
    log.note(jobs(1, 1))
    log.close()
    assert store.latest(9) == jobs(2)[::-1]
    log.close()
    assert len(store.writes) == 2


def test_a_database_that_is_out_costs_one_try_a_minute_and_no_publish() -> None:
    store, clock = Store(), FakeClock()
    log = PublishedLog(store, clock)
    store.is_out = True
    for number in range(20):
        log.note(jobs(1, number))
        clock.advance(PAUSE_MS / 20)
    assert store.tries == 1
    store.is_out = False
    log.note(jobs(1, 20))
    assert store.writes == [jobs(20, 1)]


def test_publishers_dont_wait_for_the_one_who_writes() -> None:
    clock = FakeClock()
    entered, leave = threading.Event(), threading.Event()

    class Slow(Store):
        def write(self, jobs: Sequence[PublishedJob]) -> None:
            entered.set()
            assert leave.wait(10)
            super().write(jobs)

    store = Slow()
    log = PublishedLog(store, clock)
    writer = threading.Thread(target=log.note, args=(jobs(1),))
    writer.start()
    assert entered.wait(10)
    clock.advance(FLUSH_EVERY_MS)
    log.note(jobs(1, 1))
    assert store.writes == []
    leave.set()
    writer.join(10)
    log.close()
    assert store.writes == [jobs(1), jobs(1, 1)]
