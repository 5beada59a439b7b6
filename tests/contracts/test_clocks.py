"""Time in a process: that of the server which all machines share, whatever this machine's wall clock does."""

import logging
import time

import pytest

from issuetracker_dagster.adapters import clock as clocks
from issuetracker_dagster.adapters.clock import ServerClock
from issuetracker_dagster.errors import Unavailable
from tests.waiting import eventually, stays

DAY_MS = 86_400_000
SERVER_MS = 1_750_000_000_000


def steady() -> float:
    return time.monotonic() * 1000


def near(now_ms: int, expected: float) -> bool:
    return abs(now_ms - expected) < 1_000


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How many seconds this machine's wall clock is put forward."""
    shift = [0.0]
    real, real_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: real() + shift[0])
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() + int(shift[0] * 1e9))
    return shift


def test_the_time_is_the_servers_and_goes_on_by_the_steady_clock() -> None:
    began = steady()
    clock = ServerClock(lambda: SERVER_MS + int(steady() - began))
    eventually(lambda: near(clock.now_ms(), SERVER_MS + steady() - began))
    first = clock.now_ms()
    eventually(lambda: clock.now_ms() - first >= 50)
    assert near(clock.now_ms(), SERVER_MS + steady() - began)


@pytest.mark.parametrize("jump_s", [86_400.0, -86_400.0])
def test_a_wall_clock_that_jumps_moves_nothing(wall: list[float], jump_s: float) -> None:
    began = steady()
    clock = ServerClock(lambda: SERVER_MS + int(steady() - began))
    eventually(lambda: near(clock.now_ms(), SERVER_MS + steady() - began))
    wall[0] = jump_s
    assert stays(lambda: near(clock.now_ms(), SERVER_MS + steady() - began), for_s=0.2, interval_s=0.01)


def test_without_a_server_the_wall_clock_of_the_start_counts_and_jumps_move_nothing(wall: list[float]) -> None:
    def out() -> int:
        raise Unavailable("Redis is out")

    began = time.time() * 1000 - steady()
    clock = ServerClock(out)
    wall[0] = 3600.0
    assert near(clock.now_ms(), began + steady())


def test_a_server_that_comes_back_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "ASK_EVERY_S", 0.02)
    outages = iter([True, True])

    def ask() -> int:
        if next(outages, False):
            raise Unavailable("Redis is out")
        return SERVER_MS

    clock = ServerClock(ask)
    eventually(lambda: near(clock.now_ms(), SERVER_MS))


def test_a_clock_that_is_off_is_told_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "ASK_EVERY_S", 0.01)
    asked = []

    def ask() -> int:
        asked.append(1)
        return time.time_ns() // 1_000_000 + DAY_MS

    clock = ServerClock(ask)
    with caplog.at_level(logging.WARNING):
        eventually(lambda: clock.now_ms() and len(asked) > 5)
    assert caplog.text.count("is -86400 s off that of Redis") == 1
