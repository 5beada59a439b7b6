"""How close two contents are, and two groups of them; pure, and the same from either side.

The closeness of two contents is their cosine, `decayed`, times what they have `in_common`; in [0, 1].
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.vectors import TextVector

STRANGERS = 0.5
"""Both name things, and none in common."""
_FEWEST_NAMES = 2
DIFFERENT_NUMBERS = 0.5
"""Both count the same things and come to other numbers: yesterday's weather, another company's quarter."""
_FEWEST_UNITS = 2


def decayed(cosines: NDArray[np.float64], apart_ms: NDArray[np.int64], options: EnrichOptions) -> NDArray[np.float64]:
    """Cosines lowered by the time between two contents: what their closeness can't exceed, and quick to know."""
    lowered: NDArray[np.float64] = cosines * 0.5 ** (np.abs(apart_ms) / options.decay_half_life_ms)
    return lowered


def in_common(one: TextVector, other: TextVector) -> float:
    """By what names and numbers that differ lower the closeness of two contents; in (0, 1]."""
    return _acquaintance(one.names, other.names) * _agreement(one.numbers, other.numbers)


def better_half(values: NDArray[np.float64]) -> float:
    """The mean of the larger half of the values, rounded up; 0 for none.

    Follow-ups resemble the follow-ups of their event more than its first reports, so not all members need be close; yet
    one that is close by chance doesn't do.
    """
    if not len(values):
        return 0.0
    return float(np.mean(np.sort(values)[len(values) // 2 :]))


def _acquaintance(mine: frozenset[str], theirs: frozenset[str]) -> float:
    named = min(len(mine), len(theirs)) >= _FEWEST_NAMES
    return STRANGERS if named and mine.isdisjoint(theirs) else 1.0


def _agreement(mine: Mapping[str, frozenset[str]], theirs: Mapping[str, frozenset[str]]) -> float:
    units = mine.keys() & theirs.keys()
    if len(units) < _FEWEST_UNITS:
        return 1.0
    agreed = sum(not mine[unit].isdisjoint(theirs[unit]) for unit in units)
    return 1.0 - DIFFERENT_NUMBERS * (1.0 - agreed / len(units))
