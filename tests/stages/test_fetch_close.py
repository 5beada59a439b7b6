"""At the end of a shift the handler lets go of everything that it was given."""

import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.ports.rendering import Rendered, RenderRequest
from issuetracker_dagster.stages.fetch.handler import FetchHandler
from tests.stages.fetch_world import FetchWorld


class Stubborn(AiohttpFetcher):
    """Ends with a bug."""

    def close(self) -> None:
        super().close()
        raise RuntimeError("not closed")


class Browser:
    """A `Renderer` that is never asked for a page."""

    def __init__(self) -> None:
        self.is_closed = False

    def reserve(self, *, is_urgent: bool, wait_ms: int) -> None:
        raise AssertionError

    def release(self) -> None:
        raise AssertionError

    def render(self, request: RenderRequest) -> Rendered:
        raise AssertionError

    def close(self) -> None:
        self.is_closed = True


def test_the_browser_is_closed_even_if_the_fetcher_is_not() -> None:
    world, browser = FetchWorld(Stubborn()), Browser()
    stores = world.stores
    handler = FetchHandler(
        world.fetcher, world.gate, None, stores.raw_contents, stores.parser_rules, world.clock, world.options, browser
    )
    with pytest.raises(RuntimeError, match="not closed"):
        handler.close()
    assert browser.is_closed
