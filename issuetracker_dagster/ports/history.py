"""Old things of one kind, on their way out."""

from typing import Protocol

from issuetracker_dagster.model.history import Removed


class Sweep(Protocol):
    """Removes what is older than its age, a bounded batch a step. Made anew for each run.

    Raises `Unavailable`; what is removed until then stays removed, and the next run goes on from there.
    """

    @property
    def name(self) -> str:
        """What goes, as a key of metadata: `runs`, `raw_contents`."""

    def count(self, now_ms: int) -> Removed:
        """What would go now; nothing is changed."""

    def step(self, now_ms: int) -> Removed | None:
        """Remove one batch in one short transaction; None once nothing is left."""
