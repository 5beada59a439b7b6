"""Korean nouns by a morphological analyser, when the extra `korean` is installed."""

import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from issuetracker_dagster.stages.enrich.entities import Nouns

_NOUN_TAGS = ("NNP", "NNG", "SL")


def korean_nouns() -> Nouns | None:
    """A function from text to nouns, or None without the extra. The analyser is loaded at its first use, 600 MB."""
    return _KiwiNouns() if find_spec("kiwipiepy") else None


class _KiwiNouns:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._analyser: Any = None

    def __call__(self, text: str) -> Sequence[str]:
        with self._lock:
            if self._analyser is None:
                self._analyser = import_module("kiwipiepy").Kiwi()
            tokens = self._analyser.tokenize(text)
        return [token.form for token in tokens if token.tag in _NOUN_TAGS and len(token.form) >= 2]
