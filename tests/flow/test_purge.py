"""Purging: what is old and nobody needs goes, in steps between which others get their turn."""

from collections.abc import Callable, Collection

import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow import sweeps
from issuetracker_dagster.flow.purge import Purger, PurgeReport
from issuetracker_dagster.flow.sweeps import LetterSweep, PageHistorySweep, PageSweep
from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.model.letters import LetterFilter, LetterState, indexed
from issuetracker_dagster.ports.history import Sweep
from tests.contracts.store_worlds import page
from tests.dead_letters import lying, written

DAY_MS = 86_400_000


class PurgeWorld:
    """Stores on a clock that stands at day 100."""

    def __init__(self) -> None:
        self.stores = MemoryStores()
        self.clock = FakeClock(100 * DAY_MS)
        self.waiting: Callable[[], Collection[int]] = frozenset

    def page(self, url: str, day: int) -> int:
        return self.stores.raw_contents.save(page(f"https://news.example.com/{url}", b"x" * 10, day * DAY_MS))

    def letter(self, day: int, raw_id: int = 0) -> None:
        dead = written("r", b'{"raw_id": %d}' % raw_id, at_ms=day * DAY_MS)
        self.stores.dead_letters.record([indexed(lying(dead, logged_ms=day * DAY_MS))])

    def sweeps(self) -> list[Sweep]:
        pages = self.stores.raw_contents
        return [
            LetterSweep(self.stores.dead_letters, 30 * DAY_MS),
            PageSweep(pages, lambda: self.waiting(), 90 * DAY_MS),
            PageHistorySweep(pages, 90 * DAY_MS),
        ]

    def purge(self, *, dry_run: bool = False, control: Callable[[], str | None] = lambda: None) -> PurgeReport:
        return Purger(self.clock).run(self.sweeps(), dry_run=dry_run, control=control)

    def left(self, *raw_ids: int) -> list[int]:
        return [raw_id for raw_id in raw_ids if self.stores.raw_contents.get(raw_id)]


def test_old_pages_go_but_those_that_messages_wait_for_and_letters_name() -> None:
    world = PurgeWorld()
    old, waiting, lettered, young = world.page("a", 1), world.page("b", 1), world.page("c", 1), world.page("d", 99)
    world.letter(99, lettered)
    world.waiting = lambda: [waiting]
    report = world.purge()
    assert report.removed["raw_contents"] == Removed(rows=1, bytes=10)
    assert world.left(old, waiting, lettered, young) == [waiting, lettered, young]


def test_a_page_is_free_in_the_same_purge_that_forgets_its_letter() -> None:
    world = PurgeWorld()
    lettered = world.page("a", 1)
    world.letter(60, lettered)
    assert world.purge().total == Removed(rows=2, bytes=10)
    assert (world.left(lettered), world.stores.dead_letters.count()) == ([], 0)


def test_a_dry_run_counts_what_a_purge_removes_and_changes_nothing() -> None:
    world = PurgeWorld()
    pages = [world.page(str(number), 1) for number in range(7)]
    world.letter(1)
    world.stores.dead_letters.mark([1], LetterState.REDRIVEN, 2 * DAY_MS)
    said = world.purge(dry_run=True)
    assert (world.left(*pages), world.stores.dead_letters.count(LetterFilter(states=()))) == (pages, 1)
    assert world.purge().removed == said.removed
    assert said.total.rows == 8


def test_a_purge_works_in_steps_with_pauses_and_goes_on_where_it_was_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "BATCH", 2)
    world = PurgeWorld()
    pages = [world.page(str(number), 1) for number in range(7)]
    asked = iter([None, None, None, "interrupted by SIGTERM"])
    began = world.clock.monotonic()
    first = world.purge(control=lambda: next(asked, "over"))
    assert (first.stopped, first.removed["raw_contents"].rows) == ("interrupted by SIGTERM", 4)
    assert world.clock.monotonic() > began, "no pause between steps"
    assert world.left(*pages) == pages[4:]
    assert world.purge().removed["raw_contents"].rows == 3


def test_without_redis_no_page_goes_and_the_rest_is_purged() -> None:
    world = PurgeWorld()
    old = world.page("a", 1)
    world.letter(1)

    def out() -> Collection[int]:
        raise Unavailable("Redis is out")

    world.waiting = out
    report = world.purge()
    assert (report.skipped, report.total.rows) == ({"raw_contents": "Redis is out"}, 1)
    assert world.left(old) == [old]


def test_a_purge_ends_when_its_time_is_over() -> None:
    world = PurgeWorld()

    class Endless:
        name = "endless"

        def count(self, now_ms: int) -> Removed:
            return Removed()

        def step(self, now_ms: int) -> Removed | None:
            world.clock.advance(1_000)
            return Removed(rows=1)

    report = Purger(world.clock, budget_ms=60_000).run([Endless()])
    assert report.stopped == "its time is over"
    assert 20 < report.removed["endless"].rows < 60
