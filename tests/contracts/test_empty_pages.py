"""The contract of `EmptyPages`."""

import threading
from collections.abc import Sequence

import pytest

from issuetracker_dagster.adapters.memory.empty_pages import MemoryEmptyPages
from issuetracker_dagster.adapters.redis.client import command
from issuetracker_dagster.adapters.redis.empty_pages import RedisEmptyPages
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.ports.hosts import EmptyPage, EmptyPages
from tests.contracts.redis_worlds import CLUSTER, WORLDS, World, full, open_world

HOST = "news.example.com"
WINDOW_MS = 150


@pytest.fixture(params=[*WORLDS, CLUSTER])
def world(request: pytest.FixtureRequest) -> World:
    return open_world(request)


@pytest.fixture
def pages(world: World) -> EmptyPages:
    return MemoryEmptyPages(world.clock) if world.client is None else RedisEmptyPages(world.client)


@pytest.fixture
def forgetful(world: World) -> EmptyPages:
    """Pages count for `WINDOW_MS` only."""
    if world.client is None:
        return MemoryEmptyPages(world.clock, window_ms=WINDOW_MS)
    return RedisEmptyPages(world.client, window_ms=WINDOW_MS)


def page(number: int) -> EmptyPage:
    job = CrawlJob(url=f"https://{HOST}/뉴스/{number}", source="wire", depth=2, metadata={"upgrade": "rendering"})
    return EmptyPage(owner=f"root-{number}", job=job, trace_id=f"trace-{number}")


def note(pages: EmptyPages, *numbers: int, host: str = HOST) -> list[Sequence[EmptyPage]]:
    return [list(pages.note(host, page(number), switched=False)) for number in numbers]


def test_the_fifth_page_gets_them_all_in_order_and_whole(pages: EmptyPages) -> None:
    *before, fifth = note(pages, 1, 2, 3, 4, 5)
    assert before == [[]] * 4
    assert sorted(fifth, key=lambda one: one.owner) == [page(number) for number in range(1, 6)]


def test_nobody_after_the_fifth_gets_them(pages: EmptyPages) -> None:
    note(pages, 1, 2, 3, 4, 5)
    assert note(pages, 6, 7, 1) == [[], [], []]


def test_a_page_delivered_again_counts_once(pages: EmptyPages) -> None:
    assert note(pages, 1, 1, 1, 1, 1, 1) == [[]] * 6


def test_who_was_told_and_died_is_told_again_with_what_came_meanwhile(pages: EmptyPages) -> None:
    note(pages, 1, 2, 3, 4, 5, 6)
    assert list(pages.note(HOST, page(7), switched=True)) == []
    again = pages.note(HOST, page(5), switched=True)
    assert {one.owner for one in again} == {f"root-{number}" for number in range(1, 8)}


def test_at_most_twenty_pages_are_kept(pages: EmptyPages) -> None:
    note(pages, *range(1, 31))
    assert len(pages.note(HOST, page(5), switched=True)) == 20


def test_what_was_acted_upon_is_forgotten(pages: EmptyPages) -> None:
    note(pages, 1, 2, 3, 4, 5)
    pages.upgraded(HOST)
    assert list(pages.note(HOST, page(5), switched=True)) == []
    assert note(pages, 5, 6, 7, 8) == [[]] * 4
    assert len(note(pages, 9)[0]) == 5


def test_pages_of_a_host_that_is_switched_do_not_count(pages: EmptyPages) -> None:
    for number in range(1, 11):
        assert list(pages.note(HOST, page(number), switched=True)) == []
    assert note(pages, 11, 12, 13, 14) == [[]] * 4


def test_hosts_do_not_count_for_each_other(pages: EmptyPages) -> None:
    for number in range(1, 5):
        for host in (HOST, "other.example.com", "[::1]", "a{b}c", "}.example"):
            assert note(pages, number, host=host) == [[]]
    pages.upgraded("other.example.com")
    assert len(note(pages, 5)[0]) == 5


def test_pages_of_more_than_an_hour_ago_do_not_count(forgetful: EmptyPages, world: World) -> None:
    note(forgetful, 1, 2)
    world.passes(WINDOW_MS // 2)
    note(forgetful, 3)
    world.passes(WINDOW_MS // 2 + 10)
    assert note(forgetful, 4, 5) == [[], []]


def test_one_that_never_came_back_keeps_its_host_for_an_hour_at_most(forgetful: EmptyPages, world: World) -> None:
    note(forgetful, 1, 2, 3, 4, 5)
    world.passes(WINDOW_MS + 10)
    assert len(note(forgetful, 6, 7, 8, 9, 10)[-1]) == 5


def test_of_many_at_once_one_is_told(pages: EmptyPages) -> None:
    told: list[int] = []

    def work(number: int) -> None:
        if note(pages, number)[0]:
            told.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 1


@pytest.mark.parametrize("world", [*WORLDS[1:], CLUSTER], indirect=True)
def test_empty_pages_have_a_time_to_live_and_a_full_server_says_that_it_is_full(
    world: World, pages: EmptyPages
) -> None:
    assert world.client is not None
    note(pages, 1, 2, 3, 4, 5, 6)
    assert 0 < command(world.client, "PTTL", f"host:{{{HOST}}}:empty") <= 3_600_000
    with full(world.client), pytest.raises(Unavailable):
        note(pages, 7)
