"""What parsing made of the pages of a time, as the database has it."""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.extraction import ParsedPage


class ParsedPages(Protocol):
    """Raises `Unavailable`."""

    def between(self, since_ms: int, before_ms: int, limit: int) -> Sequence[ParsedPage]:
        """Contents of pages fetched from `since_ms` on and before `before_ms`, the latest `limit` of them first."""
