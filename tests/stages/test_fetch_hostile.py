"""Whatever a server answers, its fetch ends in time, takes no more than it may, and harms no other page."""

import socket
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from issuetracker_dagster.adapters.http.bounds import OVERHEAD_BYTES
from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.errors import NotDue, PermanentError, TransientError
from issuetracker_dagster.ports.http import TimedOut
from issuetracker_dagster.stages.fetch.options import FetchOptions
from tests.stages.fetch_world import FAST, FetchWorld
from tests.stages.hostile_cases import CASES, LATER, RESULT, TIMED_OUT
from tests.stages.http_site import Page, Site, fixed

MAX_BYTES = 100_000
PATIENCE_MS = 30_000
"""Never waited for, so that a busy machine changes no outcome."""
IMPATIENCE_MS = 300
GRACE_S = 5.0
"""For a machine that is busy."""
ONE_READ = 256 * 1024
AT_MOST_RECEIVED = 2 * (MAX_BYTES + OVERHEAD_BYTES + ONE_READ)
"""Of two requests: what doesn't decode is asked for once more without compression."""
AT_MOST_HELD = 3_000_000
"""Most of it are the chunks of one read when they are of three bytes each."""


class Received:
    """Bytes that this process took off its sockets by `recv`: the fetcher does, the site doesn't."""

    def __init__(self) -> None:
        self.total = 0

    def recv(self, connection: socket.socket, size: int, flags: int = 0) -> bytes:
        data = super(socket.socket, connection).recv(size, flags)
        self.total += len(data)
        return data


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Received:
    received = Received()
    monkeypatch.setattr(socket.socket, "recv", lambda *args: received.recv(*args))
    return received


@pytest.fixture
def traced_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.fixture
def world(fetcher: AiohttpFetcher, site: Site) -> FetchWorld:
    site.pages.clear()
    site.hits.clear()
    site.pages["/good"] = fixed(b"a good page")
    return FetchWorld(fetcher, FetchOptions(default_rule=FAST, max_bytes=MAX_BYTES))


def timeout_ms(ends: str) -> int:
    return IMPATIENCE_MS if ends == TIMED_OUT else PATIENCE_MS


def at_most_s(ends: str) -> float:
    return IMPATIENCE_MS / 1_000 + GRACE_S if ends == TIMED_OUT else PATIENCE_MS / 1_000


def ending(world: FetchWorld, url: str, timeout_ms: int) -> str:
    try:
        world.fetch(url, timeout_ms=timeout_ms)
    except PermanentError as error:
        return error.code
    except TimedOut:
        return TIMED_OUT
    except (TransientError, NotDue):
        return LATER
    return RESULT


@pytest.mark.parametrize(("page", "ends"), CASES.values(), ids=CASES)
def test_a_hostile_answer_ends_within_its_limits_and_a_good_page_comes_after_it(
    world: FetchWorld, site: Site, received: Received, traced_memory: None, page: Page, ends: str
) -> None:
    site.pages["/trap"] = page
    began = time.monotonic()
    assert ending(world, site.url("/trap"), timeout_ms(ends)) == ends
    assert time.monotonic() - began < at_most_s(ends)
    assert received.total < AT_MOST_RECEIVED
    assert tracemalloc.get_traced_memory()[1] < AT_MOST_HELD
    assert world.fetched(site.url("/good"), "after").body == b"a good page"


@pytest.mark.parametrize(("page", "ends"), CASES.values(), ids=CASES)
def test_a_hostile_robots_txt_holds_up_its_own_host_at_most(
    fetcher: AiohttpFetcher, site: Site, other: Site, received: Received, page: Page, ends: str
) -> None:
    options = FetchOptions(default_rule=FAST, robots_max_bytes=MAX_BYTES, robots_timeout_ms=timeout_ms(ends))
    world = FetchWorld(fetcher, options)
    for one in (site, other):
        one.pages.clear()
        one.pages["/good"] = fixed(b"a good page")
    site.pages["/robots.txt"] = page
    began = time.monotonic()
    assert ending(world, site.url("/good"), PATIENCE_MS) in (RESULT, LATER)
    assert time.monotonic() - began < at_most_s(ends)
    assert received.total < AT_MOST_RECEIVED
    assert world.fetched(other.url("/good"), "after").body == b"a good page"
