"""The issues of a digest, as the database has them."""

from collections.abc import Sequence
from typing import Protocol

from issuetracker_dagster.model.digest import DigestIssue


class Digests(Protocol):
    """Raises `Unavailable`."""

    def top(self, since_ms: int, limit: int) -> Sequence[DigestIssue]:
        """Issues that something joined since then, the fastest first, then those with most sources, then the latest."""
