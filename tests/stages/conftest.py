"""Two sites and a fetcher for the tests of fetch, each module its own."""

from collections.abc import Iterator

import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from tests.stages.fetch_world import running_fetcher
from tests.stages.http_site import Site, running_site


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


@pytest.fixture(scope="module")
def other() -> Iterator[Site]:
    with running_site("127.0.0.2") as site:
        yield site


@pytest.fixture(scope="module")
def fetcher() -> Iterator[AiohttpFetcher]:
    with running_fetcher() as fetcher:
        yield fetcher
