"""A content among the open contents of its language: which issues are close to it, and to one another. Pure."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.issue_facts import happened_ms
from issuetracker_dagster.stages.enrich.linking import better_half, closeness
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.vectors import TextVector, cosines, rarity_of

_THE_CONTENT = 0
SPEAKERS = 60
"""How many of the newest members speak for an issue."""


class Neighbours:
    """The content comes first among the views, then the others, those of an issue newest first."""

    def __init__(self, views: Sequence[MemberView], vectors: Sequence[TextVector], options: EnrichOptions) -> None:
        self._views = views
        self._vectors = vectors
        self._options = options
        self._rarity = rarity_of(vectors)
        self._speakers: dict[int, list[int]] = defaultdict(list)
        for place, view in enumerate(views):
            if place != _THE_CONTENT and len(self._speakers[view.issue_id]) < SPEAKERS:
                self._speakers[view.issue_id].append(place)

    def issues_near(self) -> list[int]:
        """The issues that the content belongs to by its own text, closest first."""
        alike = cosines(self._vectors[_THE_CONTENT], self._vectors, self._rarity)
        alike[_THE_CONTENT] = 0.0
        # Whatever else tells two contents apart only lowers their cosine, so most issues are ruled out by it.
        promising = {self._views[place].issue_id for place in np.flatnonzero(alike >= self._options.join_min).tolist()}
        close: dict[int, float] = {}
        for issue_id in promising:
            places = self._speakers[issue_id]
            if better_half(alike[places]) >= self._options.join_min:
                close[issue_id] = better_half(self._closeness(_THE_CONTENT, places, alike[places]))
        near = [issue_id for issue_id, value in close.items() if value >= self._options.join_min]
        return sorted(near, key=lambda issue_id: (-close[issue_id], issue_id))

    def belong_together(self, home: int, other: int) -> bool:
        """Whether two issues are one, once the content has joined the first."""
        theirs = self._speakers[other]
        vectors = [self._vectors[place] for place in theirs]
        mine = [_THE_CONTENT, *self._speakers[home]]
        pairs = [self._closeness(place, theirs, cosines(self._vectors[place], vectors, self._rarity)) for place in mine]
        return better_half(np.concatenate(pairs)) >= self._options.join_min

    def _closeness(self, one: int, others: Sequence[int], alike: NDArray[np.float64]) -> NDArray[np.float64]:
        out_ms = happened_ms(self._views[one])
        vector = self._vectors[one]
        return np.array(
            [
                closeness(cosine, out_ms - happened_ms(self._views[other]), vector, self._vectors[other], self._options)
                for other, cosine in zip(others, alike, strict=True)
            ]
        )
