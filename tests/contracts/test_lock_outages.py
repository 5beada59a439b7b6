"""Locks on a Redis that goes away while they are held."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from issuetracker_dagster.adapters.redis.client import connect
from issuetracker_dagster.adapters.redis.locks import RedisLocks
from issuetracker_dagster.errors import Unavailable
from tests.faults.proxy import FaultProxy

pytestmark = pytest.mark.services

LONG_MS = 60_000


@pytest.fixture
def proxy(clean_valkey_url: str) -> Iterator[FaultProxy]:
    with FaultProxy(int(urlsplit(clean_valkey_url).port or 0)) as made:
        yield made


def test_34_whoever_could_not_release_a_lock_in_an_outage_is_not_shut_out_by_it_afterwards(
    proxy: FaultProxy, clean_valkey_url: str
) -> None:
    locks = RedisLocks(connect(f"redis://127.0.0.1:{proxy.port}/0"))
    hold = locks.acquire("intake:parser", LONG_MS)
    assert hold is not None
    with proxy.down(), pytest.raises(Unavailable):
        locks.release(hold)
    again = locks.acquire("intake:parser", LONG_MS)
    assert again is not None
    assert again.epoch > hold.epoch
    assert RedisLocks(connect(clean_valkey_url)).acquire("intake:parser", LONG_MS) is None


def test_34_whoever_never_heard_that_it_got_a_lock_is_not_shut_out_by_it_afterwards(
    proxy: FaultProxy, clean_valkey_url: str
) -> None:
    locks = RedisLocks(connect(f"redis://127.0.0.1:{proxy.port}/0"))
    assert locks.acquire("relay", LONG_MS) is not None  # so that it is connected
    proxy.lose(1_000)
    with pytest.raises(Unavailable):
        locks.acquire("intake:parser", LONG_MS)
    proxy.lose(0)
    assert RedisLocks(connect(clean_valkey_url)).acquire("intake:parser", LONG_MS) is None
    assert locks.acquire("intake:parser", LONG_MS) is not None


def test_16_a_lock_that_went_to_another_meanwhile_stays_with_it(proxy: FaultProxy, clean_valkey_url: str) -> None:
    locks = RedisLocks(connect(f"redis://127.0.0.1:{proxy.port}/0"))
    hold = locks.acquire("drain", LONG_MS)
    assert hold is not None
    with proxy.down(), pytest.raises(Unavailable):
        locks.release(hold)
    past = RedisLocks(connect(clean_valkey_url))
    assert past.release(hold)  # as if it had run out
    assert past.acquire("drain", LONG_MS) is not None
    assert locks.acquire("drain", LONG_MS) is None
