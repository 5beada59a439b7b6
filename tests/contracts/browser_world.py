"""A renderer on a real Chromium that may ask one loopback address, and pages for it."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psutil

from issuetracker_dagster.adapters.browser.installed import missing as missing_parts
from issuetracker_dagster.adapters.browser.options import RenderOptions
from issuetracker_dagster.adapters.browser.renderer import BrowserRenderer
from issuetracker_dagster.adapters.http.addresses import AddressPolicy, CheckedResolver, system_lookup
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.ports.http import FetchResponse
from issuetracker_dagster.ports.rendering import Rendered, RenderRequest
from tests.services import missing

ALLOWED = ["127.0.0.1/32"]
SANDBOX = os.geteuid() != 0
MEGABYTE = 1_000_000
START_MS = 45_000
"""A browser is up by then."""


def options(**changed: Any) -> RenderOptions:
    """As in production but for the sandbox, which root doesn't have."""
    made = RenderOptions(sandbox=SANDBOX, **changed)
    lacking = missing_parts(made)
    if lacking:
        missing(lacking)
    return made


@contextmanager
def running_renderer(allowed: Sequence[str] = ALLOWED, **changed: int) -> Iterator[BrowserRenderer]:
    resolver = CheckedResolver(AddressPolicy(allowed_networks=allowed), system_lookup)
    renderer = BrowserRenderer(options(**changed), resolver)
    try:
        yield renderer
    finally:
        renderer.close()


def request(
    html: str | bytes,
    url: str = "http://127.0.0.1:9/page",
    *,
    timeout_ms: int = 20_000,
    max_bytes: int = 10 * MEGABYTE,
    content_type: str = "text/html",
    may_ask: Callable[[str], bool] = lambda _: True,
    is_redirect: Callable[[str], bool] = lambda _: False,
) -> RenderRequest:
    body = html.encode() if isinstance(html, str) else html
    response = FetchResponse(url=url, status=200, headers={"content-type": content_type}, body=body)
    return RenderRequest(
        response=response,
        user_agent="Tester/1",
        timeout_ms=timeout_ms,
        max_bytes=max_bytes,
        may_ask=may_ask,
        is_redirect=is_redirect,
    )


def render(renderer: BrowserRenderer, asked: RenderRequest) -> Rendered:
    """In a place of its own, as fetch does."""
    renderer.reserve(is_urgent=True, wait_ms=START_MS)
    try:
        return renderer.render(asked)
    finally:
        renderer.release()


def started(renderer: BrowserRenderer) -> BrowserRenderer:
    """The same, with its browser up."""
    renderer.reserve(is_urgent=True, wait_ms=START_MS)
    renderer.release()
    return renderer


def text(renderer: BrowserRenderer, asked: RenderRequest) -> str:
    return render(renderer, asked).body.decode()


def family(process: psutil.Process) -> list[psutil.Process]:
    """Drivers and browsers below that process that are alive."""
    below = []
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "playwright" in child.exe() or "chrom" in child.exe():
                below.append(child)
    return below


def failure(renderer: BrowserRenderer, asked: RenderRequest) -> TransientError:
    try:
        render(renderer, asked)
    except TransientError as error:
        return error
    raise AssertionError("the page was rendered")
