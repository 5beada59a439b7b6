"""The extraction processes: what a hostile page may cost, and what survives it."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import ExtractionPool, ExtractorCrashed
from issuetracker_dagster.stages.parser.reading import PageRequest
from tests.stages.parser_world import NOW_MS, SENTENCE, ParserWorld, article_html
from tests.waiting import eventually

pytestmark = pytest.mark.slow

GOOD = article_html()
SLOW = "<div " + " ".join(f"a{number}=1" for number in range(200_000)) + ">x"
"""Each attribute of an element is compared with all others: a minute of work."""


def request(html: str | bytes, target_type: TargetType = TargetType.ARTICLE) -> PageRequest:
    body = html.encode() if isinstance(html, str) else html
    return PageRequest(
        body=body, content_type="text/html", url="https://a.example/1", target_type=target_type, fetched_ms=NOW_MS
    )


def workers() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # ended meanwhile, or a zombie
            if _is_forked(child):
                found.append(child)
    return found


def _is_forked(process: psutil.Process) -> bool:
    """By the fork server, whose command line its children share."""
    parent = process.parent()
    return parent is not None and all("forkserver" in " ".join(one.cmdline()) for one in (process, parent))


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractionPool]:
    pool = ExtractionPool(ParserOptions(processes=2, cpu_budget_s=3.0))
    pool.start()
    yield pool
    pool.close()


def test_pages_are_read_in_processes_that_live_on(pool: ExtractionPool) -> None:
    with ThreadPoolExecutor(6) as threads:
        readings = list(threads.map(lambda _n: pool.read(request(GOOD)), range(40)))
    assert all(reading.article and SENTENCE.strip() in reading.article.fields.body for reading in readings)
    pids = {worker.pid for worker in workers()}
    assert len(pids) == 2
    pool.read(request(GOOD))
    assert {worker.pid for worker in workers()} == pids


def test_errors_of_the_reader_keep_their_code_across_processes(pool: ExtractionPool) -> None:
    with pytest.raises(PermanentError) as caught:
        pool.read(request("no feed", TargetType.FEED))
    assert caught.value.code == "not_a_feed"


def test_a_page_over_the_cpu_budget_is_too_complex_and_others_go_on(pool: ExtractionPool) -> None:
    started = time.process_time()
    with ThreadPoolExecutor(2) as threads:
        hostile = threads.submit(pool.read, request(SLOW))
        good = threads.submit(pool.read, request(GOOD))
        assert good.result().article
        with pytest.raises(PermanentError) as caught:
            hostile.result()
    assert caught.value.code == "too_complex"
    assert time.process_time() - started < 2, "the shift's own process paid for the page"
    assert pool.read(request(GOOD)).article


def test_a_worker_killed_between_two_pages_costs_no_page(pool: ExtractionPool) -> None:
    pool.read(request(GOOD))
    # Whoever was woken for a page that another took may still hold the lock on it.
    eventually(lambda: all(worker.status() == psutil.STATUS_SLEEPING for worker in workers()), timeout_s=30)
    for worker in workers():
        os.kill(worker.pid, signal.SIGKILL)
    assert pool.read(request(GOOD)).article


def test_a_worker_killed_over_a_page_is_a_crash_that_may_be_tried_again() -> None:
    pool = ExtractionPool(ParserOptions(processes=1, cpu_budget_s=60.0))
    try:
        pool.read(request(GOOD))
        killer = threading.Thread(target=_kill_when_busy)
        killer.start()
        with pytest.raises(ExtractorCrashed):
            pool.read(request(SLOW))
        killer.join()
        assert pool.read(request(GOOD)).article
    finally:
        pool.close()


def _kill_when_busy() -> None:
    before = {worker.pid: sum(worker.cpu_times()[:2]) for worker in workers()}

    def kill_the_busy() -> bool:
        busy = [w for w in workers() if sum(w.cpu_times()[:2]) > before.get(w.pid, 0) + 0.5]
        for worker in busy:
            worker.kill()
        return bool(busy)

    eventually(kill_the_busy, timeout_s=60)


def test_a_page_that_eats_memory_is_too_complex_within_its_bound_and_others_go_on() -> None:
    """In the same process, which never grew beyond its bound."""
    limit, before = 700_000_000, {worker.pid for worker in workers()}
    pool = ExtractionPool(ParserOptions(processes=1, cpu_budget_s=60.0, memory_limit_bytes=limit))
    try:
        assert pool.read(request(GOOD)).article
        (pid,) = {worker.pid for worker in workers()} - before
        with pytest.raises(PermanentError) as caught:
            pool.read(request("<body>" + "<p a=b>x" * 1_200_000))
        assert caught.value.code == "too_complex"
        assert pool.read(request(GOOD)).article
        assert psutil.Process(pid).memory_info().vms <= limit
    finally:
        pool.close()


def test_stuck_processes_are_this_machines_fault_and_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {worker.pid for worker in workers()}
    pool = ExtractionPool(ParserOptions(processes=1, wall_budget_s=1.0))
    monkeypatch.setattr("issuetracker_dagster.stages.parser.pool._STARTUP_S", 5.0)
    try:
        eventually(lambda: _reads(pool), timeout_s=60)
        for worker in workers():
            if worker.pid not in before:
                worker.suspend()
        with pytest.raises(TransientError) as caught:
            pool.read(request(GOOD))
        assert not isinstance(caught.value, ExtractorCrashed)
        eventually(lambda: _reads(pool), timeout_s=60)
    finally:
        pool.close()


def _reads(pool: ExtractionPool) -> bool:
    try:
        return pool.read(request(GOOD)).article is not None
    except TransientError:
        return False


def test_closing_wakes_a_thread_that_waits_for_a_page() -> None:
    pool = ExtractionPool(ParserOptions(processes=1, cpu_budget_s=60.0))
    pool.read(request(GOOD))
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(pool.read, request(SLOW)) for _ in range(2)]
        eventually(lambda: len(pool._awaited) == 1)
        pool.close()
        for future in waiting:
            with pytest.raises(TransientError):
                future.result(timeout=20)


def test_a_closed_pool_leaves_no_process_and_takes_no_page() -> None:
    before = {worker.pid for worker in workers()}
    pool = ExtractionPool(ParserOptions(processes=1))
    pool.read(request(GOOD))
    assert {worker.pid for worker in workers()} - before
    pool.close()
    assert not {worker.pid for worker in workers()} - before
    with pytest.raises(TransientError):
        pool.read(request(GOOD))


PARENT = """
import sys, time
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import ExtractionPool
from issuetracker_dagster.stages.parser.reading import PageRequest
pool = ExtractionPool(ParserOptions(processes=1))
pool.read(PageRequest(body=b"<h1>A heading here</h1><p>text", content_type="", url="https://a.example/1",
                      target_type=TargetType.ARTICLE, fetched_ms=0))
print("ready", flush=True)
sys.stdin.read()
"""


def test_processes_die_with_a_parent_that_was_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    orphans = psutil.Process(parent.pid).children(recursive=True)
    assert orphans
    parent.kill()
    parent.communicate()
    eventually(lambda: not any(map(_lives, orphans)))


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def test_what_the_server_imports_starts_no_thread() -> None:
    """It forks afterwards, and a fork has just the thread that made it."""
    look = "import os; from issuetracker_dagster.stages.parser import pool; print(len(os.listdir('/proc/self/task')))"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout == "1\n"


def test_six_threads_of_a_shift_share_the_processes() -> None:
    world = ParserWorld(reader=ExtractionPool(ParserOptions(processes=2)))
    try:
        payloads = [world.stored(GOOD, f"https://news.example.com/world/{n}") for n in range(30)]
        with ThreadPoolExecutor(6) as threads:
            outcomes = list(threads.map(world.handle, payloads))
        assert len({world.content(outcome).url for outcome in outcomes}) == 30
    finally:
        world.handler.close()


@pytest.mark.parametrize(
    "body",
    [
        b"\0" * 1_000_000 + b"x",
        b"<" * 2_000_000,
        b"<a " * 500_000,
        b"<table>" * 50_000,
        b"<p><b><i><font>" * 20_000,
        b"<script>" + b'self.__next_f.push([1,"' * 50_000,
        b'<script type="application/ld+json">' + b"[" * 500_000,
        b'<meta name="author" content="' + b" and" * 200_000 + b'"><title>' + b" -" * 200_000,
        b"<div " + b" ".join(b"a%d=1" % n for n in range(3_000)) + b">x",
        os.urandom(300_000),
    ],
    ids=["nul", "lt", "a", "table", "font", "push", "json", "author", "attributes", "random"],
)
def test_odd_input_ends_in_a_reading_or_a_permanent_error(pool: ExtractionPool, body: bytes) -> None:
    try:
        reading = pool.read(request(body))
    except PermanentError as error:
        codes = {"too_complex", "not_text", "empty"}
        if error.code not in codes:
            raise
    else:
        assert reading.article is not None


def test_processes_whose_server_was_killed_are_replaced() -> None:
    """Last of all: the server is one for all pools of this process."""
    pool = ExtractionPool(ParserOptions(processes=1))
    try:
        pool.read(request(GOOD))
        old = workers()
        server = old[-1].parent()
        assert server is not None
        server.kill()
        eventually(lambda: not any(map(_lives, old)), timeout_s=30)
        eventually(lambda: _reads(pool), timeout_s=60)
    finally:
        pool.close()
