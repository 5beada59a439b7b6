"""Nobody who is inside is asked: refused before a connection is tried, however the address is spelled.

Who was called is watched at the sockets, see `address_watch`.
"""

import itertools
from collections.abc import Iterator, Sequence

import pytest

from issuetracker_dagster.adapters.http.addresses import system_lookup
from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.ports.http import FetchRequest
from tests.contracts.address_cases import INSIDE, NAMES, NO_ADDRESS, OUTSIDE, WHOLE_URLS
from tests.contracts.address_watch import Watch, watching


@pytest.fixture
def watch() -> Iterator[Watch]:
    with watching() as watch:
        yield watch


async def lookup(host: str, port: int) -> Sequence[str]:
    """The names of the table; `localhost` and numbers as the system knows them."""
    return NAMES[host] if host in NAMES else await system_lookup(host, port)


@pytest.fixture(scope="module")
def fetcher() -> Iterator[AiohttpFetcher]:
    fetcher = AiohttpFetcher(lookup=lookup)
    yield fetcher
    fetcher.close()


def ask(fetcher: AiohttpFetcher, url: str) -> None:
    fetcher.fetch(FetchRequest(url=url, user_agent="Tester/1", timeout_ms=2_000, max_bytes=1_000))


def refusal(fetcher: AiohttpFetcher, url: str) -> str:
    with pytest.raises(PermanentError) as caught:
        ask(fetcher, url)
    return caught.value.code


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", INSIDE.values(), ids=INSIDE)
def test_an_address_inside_is_refused_before_anybody_is_called(
    fetcher: AiohttpFetcher, watch: Watch, host: str, scheme: str
) -> None:
    assert refusal(fetcher, f"{scheme}://{host}:{watch.port}/latest/meta-data") == "private_address"
    assert watch.nobody_was_called


@pytest.mark.parametrize("url", WHOLE_URLS.values(), ids=WHOLE_URLS)
def test_a_url_that_hides_its_host_is_refused_before_anybody_is_called(
    fetcher: AiohttpFetcher, watch: Watch, url: str
) -> None:
    assert refusal(fetcher, url.format(port=watch.port)) == "private_address"
    assert watch.nobody_was_called


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("public")])
def test_a_name_of_somebody_inside_is_refused_before_anybody_is_called(
    fetcher: AiohttpFetcher, watch: Watch, name: str
) -> None:
    assert refusal(fetcher, f"http://{name}:{watch.port}/") == "private_address"
    assert watch.nobody_was_called


@pytest.mark.parametrize("host", NO_ADDRESS.values(), ids=NO_ADDRESS)
def test_what_is_no_address_and_no_name_is_refused_before_anybody_is_called(
    fetcher: AiohttpFetcher, watch: Watch, host: str
) -> None:
    assert refusal(fetcher, f"http://{host}:{watch.port}/") == "bad_url"
    assert watch.nobody_was_called


@pytest.mark.parametrize(("host", "address"), OUTSIDE.values(), ids=OUTSIDE)
def test_an_address_outside_is_called_however_much_it_looks_like_one_inside(
    fetcher: AiohttpFetcher, watch: Watch, host: str, address: str
) -> None:
    with pytest.raises(TransientError):
        ask(fetcher, f"http://{host}:{watch.port}/")
    assert watch.attempts == [address]


def test_a_name_that_moves_inside_after_it_was_checked_is_called_where_it_was(watch: Watch) -> None:
    answers = itertools.chain([["93.184.215.14", "2606:4700::6810:84e5"]], itertools.repeat(["127.0.0.1"]))

    async def rebinding(host: str, port: int) -> Sequence[str]:
        return next(answers)

    fetcher = AiohttpFetcher(lookup=rebinding)
    try:
        with pytest.raises(TransientError):
            ask(fetcher, f"http://rebind.test:{watch.port}/")
        assert sorted(watch.attempts) == ["2606:4700::6810:84e5", "93.184.215.14"]
        # Another port is another connection, and so another look-up.
        assert refusal(fetcher, f"http://rebind.test:{watch.port + 1}/") == "private_address"
        assert not watch.has_a_caller
    finally:
        fetcher.close()


def test_the_watch_would_have_seen_a_call(watch: Watch) -> None:
    fetcher = AiohttpFetcher(allow_private_addresses=True)
    try:
        with pytest.raises(TransientError):
            fetcher.fetch(
                FetchRequest(url=f"http://127.0.0.1:{watch.port}/", user_agent="T/1", timeout_ms=200, max_bytes=1)
            )
        assert watch.attempts == ["127.0.0.1"]
        assert watch.has_a_caller
    finally:
        fetcher.close()
