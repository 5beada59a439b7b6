"""Stored articles, chosen without reading their bodies."""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.reparse import PageFilter, StoredArticle


class StoredArticles(Protocol):
    """The articles of `raw_contents`. Raises `Unavailable`."""

    def after(self, wanted: PageFilter, raw_id: int, limit: int) -> Sequence[StoredArticle]:
        """The articles meant with a higher id, lowest first, each once."""

    def count(self, wanted: PageFilter) -> int:
        """How many are meant."""
