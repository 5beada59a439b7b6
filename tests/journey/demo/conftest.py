"""The one demo of this package, and a window on its UI."""

from collections.abc import Iterator

import pytest

from tests.journey.demo.pages import Screen, screen
from tests.journey.demo.session import POINTERS, Demo


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A running demo; a test that stops it starts it again."""
    made = Demo(tmp_path_factory.mktemp("demo") / "home")
    with pytest.MonkeyPatch.context() as patch:
        for name in POINTERS:
            patch.delenv(name, raising=False)
        patch.setenv("ISSUETRACKER_HOME", str(made.home))
        try:
            made.start()
            yield made
        finally:
            made.end()


@pytest.fixture(scope="module")
def window(demo: Demo) -> Iterator[Screen]:
    """A browser's window on its UI, one a module."""
    with screen(demo.ui.url) as shown:
        yield shown
