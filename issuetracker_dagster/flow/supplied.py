"""A crew with what supplies it: opened together, and closed in the order in which nothing gets lost between them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from issuetracker_dagster.flow.flood import FloodGuard
from issuetracker_dagster.flow.sources import QueueSource, WorkSource
from issuetracker_dagster.flow.work import Crew


class Feed(Protocol):
    """A thread that supplies a crew."""

    def start(self) -> None: ...

    def check(self) -> None: ...

    def close(self) -> None: ...


class SuppliedCrew:
    """A crew and the feeds that supply it, started and closed together in the right order."""

    def __init__(
        self, crew: Crew, sources: Sequence[WorkSource], feeds: Sequence[Feed], guard: FloodGuard | None
    ) -> None:
        self._crew = crew
        self._guard = guard
        self._sources = sources
        self._feeds = feeds

    def start(self) -> None:
        """Supply first, then slots."""
        for feed in self._feeds:
            feed.start()
        self._crew.start()

    def finish(self, timeout_s: float) -> Mapping[str, int]:
        """Slots first, so that their acknowledgements are part of the last commit of the feeds; then the feeds, so that
        nothing is put on a shelf that was given back.
        """
        self._crew.finish(timeout_s)
        for feed in self._feeds:
            feed.close()
        for source in self._sources:
            source.close()
        return self.counts()

    @property
    def is_paused(self) -> bool:
        """Whether its guard holds it back."""
        return self._guard is not None and self._guard.is_paused

    def check(self) -> None:
        """Raises the bug that ended a feed, if one did."""
        for feed in self._feeds:
            feed.check()

    def counts(self) -> Mapping[str, int]:
        """What has happened so far; `acks_refused` are those that came too late, when others held the message."""
        refused = sum(source.refused_acks for source in self._sources if isinstance(source, QueueSource))
        return {**self._crew.counts(), "acks_refused": refused} if refused else self._crew.counts()
