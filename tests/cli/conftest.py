"""A terminal for tests of commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """An empty one."""
    opened = Terminal(tmp_path, monkeypatch)
    yield opened
    opened.stores.close()
