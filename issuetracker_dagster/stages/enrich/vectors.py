"""Texts as sparse vectors of hashed words, and how alike they are. No vocabulary is kept, nothing is ever refitted."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.words import features

DIMENSIONS = 2**18
TITLE_WEIGHT = 3.0
_READ_CHARACTERS = 3_000
"""News tells its event first; what follows is background that articles about other events share."""
_PRIOR_DOCUMENTS = 500
"""Imagined documents without any of the words, so that the first contents of a day are weighed much like the last."""

_hashing = HashingVectorizer(
    analyzer=features, n_features=DIMENSIONS, alternate_sign=False, norm=None, dtype=np.float32
)


class TextVector(msgspec.Struct, frozen=True, eq=False):
    """Positions in ascending order and 1 + log(weighted count) at each."""

    positions: NDArray[np.int32]
    weights: NDArray[np.float32]


EMPTY = TextVector(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
"""Like nothing."""


def vector_of(title: str, body: str) -> TextVector:
    """The vector of a content, words of the title counting three times."""
    rows = _hashing.transform([title, body[:_READ_CHARACTERS]])
    counts = (rows[0] * TITLE_WEIGHT + rows[1]).tocsr()
    counts.sort_indices()
    return TextVector(counts.indices.astype(np.int32), (1.0 + np.log(counts.data)).astype(np.float32))


class VectorCache:
    """Vectors of the contents used last. A content whose title changed counts as another one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, str], TextVector] = OrderedDict()

    def find(self, members: Sequence[MemberView]) -> list[TextVector | None]:
        """The vector of each member, None where it isn't kept."""
        keys = [(member.content_id, member.title) for member in members]
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
            return [self._kept.get(key) for key in keys]

    def put(self, member: MemberView) -> TextVector:
        """Compute from title and body, and keep."""
        vector = vector_of(member.title, member.body)
        with self._lock:
            self._kept[member.content_id, member.title] = vector
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return vector


def cosines(one: TextVector, others: Sequence[TextVector]) -> NDArray[np.float64]:
    """TF-IDF cosines of one vector with each of the others, document frequencies counted over all of them.

    Some 10 ms for 2,000 contents; 0 for a text without words.
    """
    alike = np.zeros(len(others))
    worded = [place for place, other in enumerate(others) if len(other.positions)]
    if not worded or not len(one.positions):
        return alike
    positions, weights, starts = _joined([others[place] for place in worded])
    frequency = np.bincount(positions, minlength=DIMENSIONS).astype(np.float32)
    frequency[one.positions] += 1
    rarity = np.log(np.float32(len(others) + 1 + _PRIOR_DOCUMENTS) / (frequency + 1))
    weighted = weights * rarity.take(positions)
    mine = one.weights * rarity[one.positions]
    dense = np.zeros(DIMENSIONS, dtype=np.float32)
    dense[one.positions] = mine
    products = np.add.reduceat(weighted * dense.take(positions), starts)
    lengths = np.sqrt(np.add.reduceat(weighted * weighted, starts) * np.sum(mine * mine))
    alike[worded] = products / lengths
    return alike


def most_central(vectors: Sequence[TextVector]) -> int:
    """The position of the vector nearest to the mean direction of all; of equal ones the first."""
    worded = [place for place, vector in enumerate(vectors) if len(vector.positions)]
    if not worded:
        return 0
    positions, weights, starts = _joined([vectors[place] for place in worded])
    lengths = np.sqrt(np.add.reduceat(weights.astype(np.float64) ** 2, starts))
    units = weights / np.repeat(lengths, np.diff([*starts, len(positions)]))
    mean = np.bincount(positions, weights=units, minlength=DIMENSIONS)
    # Rounded, since the last digits depend on the order in which members were added up.
    return worded[int(np.argmax(np.round(np.add.reduceat(units * mean[positions], starts), 9)))]


def _joined(
    vectors: Sequence[TextVector],
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """All positions, all weights, and where each vector begins; none may be empty, or reduceat takes its neighbour."""
    positions = np.concatenate([vector.positions for vector in vectors])
    weights = np.concatenate([vector.weights for vector in vectors])
    starts = np.cumsum([0, *(len(vector.positions) for vector in vectors[:-1])], dtype=np.int64)
    return positions, weights, starts
