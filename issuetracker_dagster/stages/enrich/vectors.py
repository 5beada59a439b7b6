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

    def get(self, member: MemberView) -> TextVector | None:
        key = (member.content_id, member.title)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, member: MemberView) -> TextVector:
        """Compute from title and body, and keep."""
        vector = vector_of(member.title, member.body)
        with self._lock:
            self._kept[member.content_id, member.title] = vector
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return vector


def cosines(one: TextVector, others: Sequence[TextVector]) -> NDArray[np.float64]:
    """TF-IDF cosines of one vector with each of the others, document frequencies counted over all of them."""
    if not others:
        return np.zeros(0)
    positions = np.concatenate([vector.positions for vector in others])
    weights = np.concatenate([vector.weights for vector in others])
    starts = _starts(others)
    frequency = np.bincount(positions, minlength=DIMENSIONS)
    frequency[one.positions] += 1
    rarity = np.log((len(others) + 1 + _PRIOR_DOCUMENTS) / (frequency + 1.0))
    weighted = weights * rarity[positions]
    mine = one.weights * rarity[one.positions]
    dense = np.zeros(DIMENSIONS)
    dense[one.positions] = mine
    products = _sums(weighted * dense[positions], starts)
    lengths = np.sqrt(_sums(weighted**2, starts)) * np.sqrt(np.sum(mine**2))
    return products / np.where(lengths > 0, lengths, 1.0)


def most_central(vectors: Sequence[TextVector]) -> int:
    """The position of the vector nearest to the mean direction of all; of equal ones the first."""
    positions = np.concatenate([vector.positions for vector in vectors])
    weights = np.concatenate([vector.weights for vector in vectors]).astype(np.float64)
    starts = _starts(vectors)
    lengths = np.sqrt(_sums(weights**2, starts))
    units = weights / np.repeat(np.where(lengths > 0, lengths, 1.0), [len(vector.positions) for vector in vectors])
    mean = np.bincount(positions, weights=units, minlength=DIMENSIONS)
    return int(np.argmax(np.round(_sums(units * mean[positions], starts), 9)))


def _starts(vectors: Sequence[TextVector]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(vector.positions) for vector in vectors)])


def _sums(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    # Differences of running sums, since reduceat repeats a neighbour's value for an empty vector.
    running = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    sums: NDArray[np.float64] = running[starts[1:]] - running[starts[:-1]]
    return sums
