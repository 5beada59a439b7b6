"""What counts as flat: memory and handles of a life, and how long a condition of Dagster's runs lasts."""

import os
import socket
from collections.abc import Callable

from issuetracker_dagster.local.children import Identity
from tests.soak.dagster_watch import Lasting, Run, RunsWatch
from tests.soak.site import LINKS, Page, Site, links_of, page_of, path_of
from tests.soak.vitals import Life, Vitals, judge, measure
from tests.waiting import eventually


def life(memory: Callable[[float], float], handles: Callable[[float], float] = lambda _: 50, for_s: int = 900) -> Life:
    return judge("daemon", 1, [Vitals(at, memory(at), int(handles(at))) for at in range(0, for_s, 15)])


def test_a_process_that_grows_only_while_it_starts_is_flat() -> None:
    found = life(lambda at: 100 + min(at, 90.0))
    assert found.judged
    assert found.is_flat


def test_noise_is_flat_and_one_peak_is_no_leak() -> None:
    assert life(lambda at: 150 + (at * 7) % 9 + (200 if at == 600 else 0)).is_flat


def test_memory_that_grows_without_end_is_found() -> None:
    found = life(lambda at: 100 + at / 60 * 6)
    assert not found.is_flat
    assert found.growth_mb > 20


def test_a_jvm_may_fill_its_heap_and_no_more() -> None:
    growing = [Vitals(at, 200 + at / 2, 50) for at in range(0, 900, 15)]
    assert judge("Kafka", 1, growing).is_flat
    assert not judge("Kafka", 1, [Vitals(look.at_s, look.memory_mb + 700, 50) for look in growing]).is_flat


def test_handles_that_grow_without_end_are_found() -> None:
    assert not life(lambda _: 100, lambda at: 50 + at / 15).is_flat


def test_connections_count_with_who_opened_them_and_with_a_server_that_keeps_them_after_their_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = _handles()
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        with accepted:
            assert _handles() == before + 1
            client.close()
            eventually(lambda: _handles() == before + 1)  # its own now, closed by nobody
    assert _handles() == before - 1


def test_a_short_life_is_not_judged() -> None:
    found = life(lambda at: 100 + at, for_s=200)
    assert not found.judged
    assert found.is_flat


def test_how_long_something_lasts_is_measured_without_breaks() -> None:
    found = Lasting()
    for now_s, holding in ((0, ["a"]), (5, ["a"]), (10, []), (15, ["a"]), (18, ["a", "b"])):
        found.look(holding, now_s)
    assert found.longest == {"a": 5, "b": 0}
    assert found.over(4) == {"a": 5}


def test_two_runs_on_one_slot_and_a_silent_run_are_seen() -> None:
    runs = [Run(name, "parser_shift", "STARTED", "0", 0.0) for name in ("one", "two")]
    watch = RunsWatch()
    for now_s in (0.0, 30.0):
        watch.look(runs, ["one"], now_s, redis_is_up=True)
    assert watch.doubles.longest == {"parser_shift 0": 30.0}
    assert watch.silent.longest == {"parser_shift 0 two": 30.0}


def test_a_page_says_by_its_number_what_it_is() -> None:
    kinds = {page_of(number) for number in range(20)}
    assert kinds == set(Page)
    flaky = next(number for number in range(20) if page_of(number) is Page.FLAKY)
    listed = next(number for number in range(20) if page_of(number) is Page.LIST)
    gone = next(number for number in range(20) if page_of(number) is Page.GONE)
    with Site() as site:
        assert [site.answer(path_of(flaky))[0] for _ in range(2)] == [503, 200]
        assert site.answer(path_of(gone))[0] == 404
        page = site.answer(path_of(listed))[2]
        assert sum(link in page for link in links_of(listed)) == LINKS
        assert all(site.answer(link)[0] == 200 for link in links_of(listed))
        assert site.asked(path_of(flaky)) == 2


def _handles() -> int:
    found = measure(Identity.of(os.getpid()), 0)
    assert found is not None
    return found.handles
