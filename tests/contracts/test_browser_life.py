"""One browser a renderer: started for the first page, replaced, bounded, and gone with whoever started it."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from issuetracker_dagster.adapters.browser.installed import missing
from issuetracker_dagster.adapters.browser.options import RenderOptions
from issuetracker_dagster.adapters.browser.places import Places
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.ports.rendering import RendererBusy
from tests.contracts.browser_world import (
    START_MS,
    failure,
    family,
    options,
    render,
    request,
    running_renderer,
    text,
)
from tests.stages.http_site import Exchange, running_site
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
PAGE = request("<p>" + "words of the article " * 20)


def browsers() -> list[psutil.Process]:
    return family(psutil.Process())


def words(process: psutil.Process) -> list[str]:
    """Its command line; empty once it has gone."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def mains() -> list[psutil.Process]:
    """The browsers themselves, without their helpers."""
    return [one for one in browsers() if "--remote-debugging-pipe" in words(one)]


def the_main_one() -> psutil.Process:
    """For a moment a process that it is about to start bears its command line, too."""
    return eventually(lambda: found[0] if len(found := mains()) == 1 else None)  # type: ignore[return-value]


def test_the_browser_is_started_for_the_first_page_and_ends_with_the_renderer() -> None:
    with running_renderer() as renderer:
        assert not browsers()
        render(renderer, PAGE)
        first = the_main_one()
        render(renderer, PAGE)
        assert the_main_one() == first
    eventually(lambda: not browsers())
    renderer.close()
    with pytest.raises(RendererBusy, match="closed"):
        renderer.reserve(is_urgent=True, wait_ms=0)


def test_a_ctrl_c_at_the_terminal_goes_past_driver_and_browser() -> None:
    """It reaches the group of the worker, which finishes the pages in hand."""
    with running_renderer() as renderer:
        render(renderer, PAGE)
        assert browsers()
        assert os.getpgrp() not in {os.getpgid(one.pid) for one in browsers()}


def test_after_its_pages_the_browser_is_replaced() -> None:
    with running_renderer(restart_after=2) as renderer:
        render(renderer, PAGE)
        first = the_main_one()
        render(renderer, PAGE)
        eventually(lambda: not mains())
        render(renderer, PAGE)
        second = the_main_one()
        assert second != first


@pytest.mark.parametrize("whose", ["--remote-debugging-pipe", "run-driver"], ids=["browser", "driver"])
def test_a_browser_that_was_killed_fails_its_page_and_is_replaced(whose: str) -> None:
    with running_renderer() as renderer, ThreadPoolExecutor(1) as threads:
        render(renderer, PAGE)
        hanging = threads.submit(failure, renderer, request("<script>while (true);</script>", timeout_ms=15_000))
        eventually(lambda: any(map(_hangs, browsers())), timeout_s=30)
        victim = next(one for one in browsers() if any(whose in word for word in words(one)))
        victim.kill()
        assert isinstance(hanging.result(40), TransientError)  # without its driver at the deadline
        assert "words of the article" in text(renderer, PAGE)
        eventually(lambda: len(mains()) == 1)


def _hangs(process: psutil.Process) -> bool:
    """Whether it is a page that does nothing but burn time."""
    with contextlib.suppress(psutil.Error):
        return "--type=renderer" in words(process) and process.cpu_times().user > 1
    return False


def test_more_pages_than_places_wait_and_one_place_is_kept_for_the_urgent() -> None:
    places = Places(2)
    assert places.take(is_urgent=False, wait_s=0)
    assert not places.take(is_urgent=False, wait_s=0)
    assert places.take(is_urgent=True, wait_s=0)
    assert not places.take(is_urgent=True, wait_s=0.01)
    waiting = threading.Thread(target=places.take, kwargs={"is_urgent": True, "wait_s": 60})
    waiting.start()
    places.give_back()
    waiting.join(10)
    assert not waiting.is_alive()
    assert Places(1).take(is_urgent=False, wait_s=0)


def test_places_are_given_back_whatever_became_of_their_pages() -> None:
    with running_renderer(pages=1) as renderer:
        for _ in range(3):
            failure(renderer, request("<script>while (true);</script>", timeout_ms=500))
        renderer.reserve(is_urgent=False, wait_ms=START_MS)
        with pytest.raises(RendererBusy, match="FETCH_RENDER_PAGES"):
            renderer.reserve(is_urgent=True, wait_ms=0)
        renderer.release()


def test_pages_are_rendered_at_once() -> None:
    both = threading.Barrier(2, timeout=20)

    def meet(exchange: Exchange) -> None:
        both.wait()  # breaks, and the page stays without its words, unless the other one comes, too
        exchange.send(200, b"words of the article " * 20)

    script = "fetch('/meet').then(one => one.text()).then(text => document.body.append(text))"
    with running_site() as site, running_renderer(pages=3) as renderer, ThreadPoolExecutor(2) as threads:
        site.pages["/meet"] = meet
        asked = request(f"<body><script>{script}</script>", site.url("/page"))
        assert all("words of the article" in page for page in threads.map(lambda _: text(renderer, asked), range(2)))


def test_a_renderer_that_is_closed_breaks_its_pages_off() -> None:
    with running_renderer() as renderer, ThreadPoolExecutor(1) as threads:
        render(renderer, PAGE)
        hanging = threads.submit(failure, renderer, request("<script>while (true);</script>", timeout_ms=15_000))
        eventually(lambda: any("--type=renderer" in words(one) for one in browsers()))
        renderer.close()
        assert isinstance(hanging.result(40), TransientError)  # without its driver at the deadline
    eventually(lambda: not browsers())


@pytest.fixture
def short_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder as short as those of production: sockets are put below it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def test_what_browsers_write_is_gone_with_them_and_with_the_next_one_after_a_kill(short_path: Path) -> None:
    with worker("while (true);") as (process, below):
        process.kill()
        for one in below:
            with contextlib.suppress(psutil.Error):
                one.kill()
        eventually(lambda: not any(is_alive(one) for one in below))
        process.wait(10)
    assert written(short_path)
    with running_renderer() as renderer:
        render(renderer, PAGE)
        assert len(written(short_path)) == 1
        next(one for one in browsers() if any("run-driver" in word for word in words(one))).kill()
    assert not written(short_path)


def written(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if any(word in one.name for word in ("browser", "playwright", "chromium"))]


def test_what_is_missing_is_named_with_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(options()) == ""
    assert "FETCH_RENDER_PAGES" in missing(options_with(pages=0))
    assert "FETCH_RENDER_BROWSER=/no/such" in missing(options_with(browser="/no/such"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "playwright install chromium" in missing(options_with())
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "FETCH_RENDER_SANDBOX=false" in missing(options_with(browser="chrome"))
    monkeypatch.setitem(sys.modules, "playwright", None)
    assert "issuetracker-dagster[render]" in missing(options_with())


def options_with(**changed: object) -> RenderOptions:
    return RenderOptions(**changed)  # type: ignore[arg-type]


@contextmanager
def worker(script: str) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A worker in the middle of a page, and all processes below it."""
    command = [sys.executable, "-m", "tests.contracts.browser_worker", script]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        below: list[psutil.Process] = []
        try:
            assert process.stdout
            assert process.stdout.readline() == "started\n"
            root = psutil.Process(process.pid)
            eventually(lambda: sum("--type=renderer" in words(one) for one in family(root)) >= 1)
            below = family(root)
            yield process, below
        finally:
            process.kill()
            for one in below:
                if one.is_running():
                    one.kill()


@pytest.mark.parametrize("script", ["while (true);", "0"], ids=["hanging", "waiting"])
@pytest.mark.parametrize("killed", ["worker", "worker and driver", "driver, then worker"])
def test_nothing_is_left_behind_a_worker_that_is_killed(script: str, killed: str) -> None:
    with worker(script) as (process, below):
        assert any("--remote-debugging-pipe" in words(one) for one in below)
        driver = next(one for one in below if any("run-driver" in word for word in words(one)))
        if killed == "driver, then worker":
            driver.kill()
        process.send_signal(signal.SIGKILL)
        if killed == "worker and driver":
            driver.kill()
        eventually(lambda: not any(is_alive(one) for one in below), timeout_s=20)


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
