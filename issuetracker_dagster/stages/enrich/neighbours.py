"""A content among the open contents of its language: which issues are close to it, and to one another. Pure."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.issue_facts import happened_ms
from issuetracker_dagster.stages.enrich.linking import better_half, decayed, in_common
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.vectors import TextVector, Weighed

_THE_CONTENT = 0
SPEAKERS = 60
"""How many of the newest members speak for an issue."""


class Neighbours:
    """The content comes first among the views, then the others, those of an issue newest first."""

    def __init__(self, views: Sequence[MemberView], vectors: Sequence[TextVector], options: EnrichOptions) -> None:
        self._views = views
        self._vectors = vectors
        self._options = options
        self._weighed = Weighed(vectors, shares=_shares(views))
        self._speakers: dict[int, list[int]] = defaultdict(list)
        for place, view in enumerate(views):
            if place != _THE_CONTENT and len(self._speakers[view.issue_id]) < SPEAKERS:
                self._speakers[view.issue_id].append(place)

    def issues_near(self) -> list[int]:
        """The issues that the content belongs to by its own text, closest first."""
        alike = self._weighed.alike(self._vectors[_THE_CONTENT])
        alike[_THE_CONTENT] = 0.0
        # Whatever else tells two contents apart only lowers their cosine, so most issues are ruled out by it.
        promising = {self._views[place].issue_id for place in np.flatnonzero(alike >= self._options.join_min).tolist()}
        close: dict[int, float] = {}
        for issue_id in promising:
            theirs = self._speakers[issue_id]
            close[issue_id] = self._closeness([_THE_CONTENT], theirs, alike[theirs][np.newaxis])
        near = [issue_id for issue_id, value in close.items() if value >= self._options.join_min]
        return sorted(near, key=lambda issue_id: (-close[issue_id], issue_id))

    def belong_together(self, home: int, other: int) -> bool:
        """Whether two issues are one, once the content has joined the first."""
        mine, theirs = [_THE_CONTENT, *self._speakers[home]], self._speakers[other]
        weighed = Weighed([self._vectors[place] for place in theirs], rarity=self._weighed.rarity)
        alike = np.array([weighed.alike(self._vectors[place]) for place in mine])
        return self._closeness(mine, theirs, alike) >= self._options.join_min

    def _closeness(self, mine: Sequence[int], theirs: Sequence[int], alike: NDArray[np.float64]) -> float:
        """Of the better half of all pairs; 0 where that can't reach the threshold, since it would cost far more."""
        apart_ms = self._happened_ms(mine)[:, np.newaxis] - self._happened_ms(theirs)
        most = decayed(alike, apart_ms, self._options)
        if better_half(most.ravel()) < self._options.join_min:
            return 0.0
        shared = [[in_common(self._vectors[one], self._vectors[other]) for other in theirs] for one in mine]
        return better_half((most * np.array(shared)).ravel())

    def _happened_ms(self, places: Sequence[int]) -> NDArray[np.int64]:
        return np.array([happened_ms(self._views[place]) for place in places], dtype=np.int64)


def _shares(views: Sequence[MemberView]) -> NDArray[np.float64]:
    """By how much each view counts: those of an issue as one text together, the content as one of its own."""
    issues = [view.issue_id for view in views[_THE_CONTENT + 1 :]]
    sizes = Counter(issues)
    return np.array([1.0, *(1.0 / sizes[issue] for issue in issues)])
