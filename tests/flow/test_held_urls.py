"""URLs in hand: locked for as long as their messages are."""

from collections.abc import Sequence

import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.urls import MemoryProcessingLock
from issuetracker_dagster.errors import Unavailable, UrlBusy
from issuetracker_dagster.flow.held_urls import HeldUrls
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.locks import Mark

URL = "https://news.example.com/a"
LEASE_MS = 1_000


class Locks(MemoryProcessingLock):
    """Noting how often it was asked to prolong; out when told so."""

    is_out = False
    asked = 0

    def prolong(self, stage: str, held: Sequence[Mark], ttl_ms: int) -> None:
        self.asked += 1
        if self.is_out:
            raise Unavailable("Redis is out")
        super().prolong(stage, held, ttl_ms)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def locks(clock: FakeClock) -> Locks:
    return Locks(clock)


@pytest.fixture
def held(locks: Locks) -> HeldUrls:
    return HeldUrls(locks, Stage.PARSER, LEASE_MS)


def test_what_is_in_hand_is_prolonged_in_one_call_and_what_is_done_is_not(
    held: HeldUrls, locks: Locks, clock: FakeClock
) -> None:
    held.prolong()
    assert locks.asked == 0
    with held.hold(URL, "root-1"), held.hold(f"{URL}2", "root-2"):
        for _ in range(3):
            clock.advance(LEASE_MS * 2 // 3)
            held.prolong()
        assert locks.asked == 3
        assert not locks.acquire("parser", URL, "other", LEASE_MS)
        assert not locks.acquire("parser", f"{URL}2", "other", LEASE_MS)
    assert locks.acquire("parser", URL, "other", LEASE_MS)


def test_a_url_in_other_hands_is_busy(held: HeldUrls) -> None:
    with held.hold(URL, "root-1"), pytest.raises(UrlBusy), held.hold(URL, "root-2"):
        pass


def test_a_url_that_its_own_redelivery_has_in_hand_too_is_freed_by_the_last_one(held: HeldUrls) -> None:
    with held.hold(URL, "root-1"):
        with held.hold(URL, "root-1"):
            pass
        with pytest.raises(UrlBusy), held.hold(URL, "root-2"):
            pass
    with held.hold(URL, "root-2"):
        pass


def test_an_outage_while_prolonging_disturbs_nobody(held: HeldUrls, locks: Locks) -> None:
    with held.hold(URL, "root-1"):
        locks.is_out = True
        held.prolong()
