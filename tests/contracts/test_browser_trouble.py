"""A machine without space or handles, a driver that hangs: what that costs the page in hand, and nobody else."""

import resource
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from issuetracker_dagster.adapters.browser import renderer as renderer_module
from issuetracker_dagster.adapters.browser.installed import missing
from issuetracker_dagster.adapters.browser.options import RenderOptions
from issuetracker_dagster.adapters.browser.renderer import BrowserRenderer
from issuetracker_dagster.adapters.http.addresses import AddressPolicy, CheckedResolver, system_lookup
from issuetracker_dagster.ports.rendering import RendererBusy
from tests.contracts.browser_world import SANDBOX, START_MS, failure, family, render, request, running_renderer, text
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PAGE = request("<p>" + "words of the article " * 20)


def browsers() -> list[psutil.Process]:
    return family(psutil.Process())


def test_a_driver_that_hangs_is_killed_and_nothing_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderer_module, "_SHUT_DOWN_S", 0.2)
    with running_renderer() as renderer:
        render(renderer, PAGE)
        next(one for one in browsers() if "run-driver" in one.cmdline()).suspend()
        renderer.close()
    assert "browser" not in {thread.name for thread in threading.enumerate()}
    eventually(lambda: not browsers())


def test_a_browser_that_doesnt_start_is_told_and_not_tried_again_at_once(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\necho >> {starts}\necho no screen >&2\nexit 1\n")
    program.chmod(0o755)
    resolver = CheckedResolver(AddressPolicy(), system_lookup)
    renderer = BrowserRenderer(RenderOptions(browser=str(program), sandbox=SANDBOX), resolver)
    try:
        for _ in range(3):
            with pytest.raises(RendererBusy, match="the browser doesn't start"):
                renderer.reserve(is_urgent=True, wait_ms=START_MS)
        assert starts.read_text() == "\n"
    finally:
        renderer.close()
    eventually(lambda: not browsers())


def test_a_browser_without_a_folder_costs_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_renderer(pages=1) as renderer:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        for _ in range(2):
            with pytest.raises(RendererBusy, match="the browser doesn't start"):
                renderer.reserve(is_urgent=True, wait_ms=START_MS)


def test_nobody_waits_for_a_browser_that_is_being_started() -> None:
    with running_renderer(pages=1) as renderer:
        for _ in range(2):
            with pytest.raises(RendererBusy, match="being started"):
                renderer.reserve(is_urgent=True, wait_ms=0)
        eventually(lambda: is_ready(renderer), 30)
        assert "words of the article" in text(renderer, PAGE)


def is_ready(renderer: BrowserRenderer) -> bool:
    try:
        renderer.reserve(is_urgent=True, wait_ms=0)
    except RendererBusy:
        return False
    renderer.release()
    return True


def test_a_page_for_which_no_handle_is_left_is_one_for_later() -> None:
    with running_renderer(pages=1) as renderer:
        render(renderer, PAGE)
        with no_handles():
            assert "Too many open files" in str(failure(renderer, PAGE))
        assert "words of the article" in text(renderer, PAGE)


def test_a_request_of_which_nobody_can_say_whether_it_may_be_made_is_refused() -> None:
    def fails(url: str) -> bool:
        raise ValueError(url)

    script = "fetch('/data').catch(() => document.body.append('it was refused'))"
    with running_renderer() as renderer:
        asked = request(f"<body><p>{'words ' * 50}</p><script>{script}</script>", may_ask=fails)
        assert "it was refused</" in text(renderer, asked)


def test_a_user_without_a_home_is_told_what_is_missing_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)  # of whom no entry says where they live
    assert "playwright install chromium" in missing(RenderOptions())


@contextmanager
def no_handles() -> Iterator[None]:
    """This process may open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
