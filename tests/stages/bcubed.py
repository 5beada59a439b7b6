"""How well found clusters match the known ones: B-cubed (Bagga and Baldwin, 1998)."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

import msgspec

Item = TypeVar("Item", bound=Hashable)


class BCubed(msgspec.Struct, frozen=True):
    """`precision`: how much of what is found with an item belongs to it; `recall`: how much of its own is found."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.precision * self.recall / (self.precision + self.recall)

    def __str__(self) -> str:
        return f"precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}"


def bcubed(known: Mapping[Item, Hashable], found: Mapping[Item, Hashable]) -> BCubed:
    """Averages over all items, each given with its known and its found cluster."""
    together = Counter((cluster, found[item]) for item, cluster in known.items())
    of_known, of_found = Counter(known.values()), Counter(found[item] for item in known)
    precision = sum(count**2 / of_found[cluster] for (_, cluster), count in together.items())
    recall = sum(count**2 / of_known[cluster] for (cluster, _), count in together.items())
    return BCubed(precision / len(known), recall / len(known))
