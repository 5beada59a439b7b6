"""Texts as sparse vectors of hashed words, and how alike they are. No vocabulary is kept, nothing is ever refitted."""

import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.entities import name_words
from issuetracker_dagster.stages.enrich.words import features, numbers

DIMENSIONS = 2**18
TITLE_WEIGHT = 2.0
LEAD_WEIGHT = 2.0
TELLING_WEIGHT = 1.75
"""Of names and numbers: two fires are told with the same words, but not of the same firm and as many injured."""
_READ_CHARACTERS = 3_000
"""News tells its event first; what follows is background that articles about other events share."""
_LEAD_CHARACTERS = 300
"""What counts twice too: a follow-up recalls its event there, in a sentence of a text that is about something else."""
_PRIOR_ISSUES = 500
"""Imagined issues without any of the words, so that the first contents of a day are weighed much like the last."""

_hashing = HashingVectorizer(analyzer=iter, n_features=DIMENSIONS, alternate_sign=False, norm=None, dtype=np.float32)


class TextVector(msgspec.Struct, frozen=True, eq=False):
    """Positions in ascending order and the weight at each; the words of names; the numbers said of each unit."""

    positions: NDArray[np.int32]
    weights: NDArray[np.float32]
    names: frozenset[str] = frozenset()
    numbers: Mapping[str, frozenset[str]] = {}


EMPTY = TextVector(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))
"""Like nothing."""


def vector_of(view: MemberView) -> TextVector:
    """1 + log of how often each word is said, in title and lead twice; names and numbers raised."""
    body = view.body[:_READ_CHARACTERS]
    counted = numbers(f"{view.title}\n{body}")
    told_by_name = [word for name in view.entities for word in features(name)]
    telling = [*told_by_name, *map(_as_word, counted)]
    rows = _hashing.transform([_read(view.title), _read(_lead(body)), _read(body), telling])
    counts = (rows[0] * TITLE_WEIGHT + rows[1] * (LEAD_WEIGHT - 1.0) + rows[2]).tocsr()
    counts.sort_indices()
    weights = 1.0 + np.log(counts.data)
    weights[np.isin(counts.indices, rows[3].indices)] *= TELLING_WEIGHT
    return TextVector(
        counts.indices.astype(np.int32), weights.astype(np.float32), name_words(view.entities), _by_unit(counted)
    )


def _lead(body: str) -> str:
    """The beginning of a body, up to the end of a word; all of a short one."""
    if len(body) <= _LEAD_CHARACTERS:
        return body
    lead = body[:_LEAD_CHARACTERS]
    words = re.match(r"(?s).*(?=\s)", lead)
    return words.group() if words else lead


def _read(text: str) -> list[str]:
    return [*features(text), *map(_as_word, numbers(text))]


def _as_word(counted: tuple[str, str]) -> str:
    return " ".join(counted)


def _by_unit(counted: Sequence[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for number, unit in counted:
        if unit:
            found[unit].add(number)
    return {unit: frozenset(said) for unit, said in found.items()}


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
        vector = vector_of(member)
        with self._lock:
            self._kept[member.content_id, member.title] = vector
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return vector


class Weighed:
    """Some texts, joined and weighed by how rare each word is, to be compared with many others."""

    def __init__(
        self,
        vectors: Sequence[TextVector],
        *,
        shares: NDArray[np.float64] | None = None,
        rarity: NDArray[np.float32] | None = None,
    ) -> None:
        """`rarity` is that of the word at each position, counted over these texts unless it is given.

        Each text counts as its `shares` says, as one without them. Members of an issue share one: else what everybody
        writes about the event of the day would pass for words that say little.
        """
        self._count = len(vectors)
        self._worded = [place for place, vector in enumerate(vectors) if len(vector.positions)]
        self._positions, weights, self._starts = _joined([vectors[place] for place in self._worded])
        if rarity is None:
            counted = np.ones(self._count) if shares is None else shares
            lengths = np.diff([*self._starts, len(self._positions)])
            by_word = np.repeat(counted[self._worded], lengths)
            rarity = _rarity(self._positions, by_word, counted.sum())
        self.rarity = rarity
        self._weights = weights * self.rarity.take(self._positions)
        self._lengths = np.sqrt(np.add.reduceat(self._weights * self._weights, self._starts) if self._worded else [])
        self._dense = np.zeros(DIMENSIONS, dtype=np.float32)

    def alike(self, one: TextVector) -> NDArray[np.float64]:
        """TF-IDF cosines of a text with each of these; 0 for one without words."""
        alike = np.zeros(self._count)
        if not self._worded or not len(one.positions):
            return alike
        mine = one.weights * self.rarity.take(one.positions)
        self._dense[one.positions] = mine
        products = np.add.reduceat(self._weights * self._dense.take(self._positions), self._starts)
        self._dense[one.positions] = 0.0
        alike[self._worded] = products / (self._lengths * np.sqrt(np.sum(mine * mine)))
        return alike


def _rarity(positions: NDArray[np.int32], shares: NDArray[np.float64], texts: float) -> NDArray[np.float32]:
    """The logarithm of how many texts there are to one with the word at each position."""
    counts = np.bincount(positions, weights=shares, minlength=DIMENSIONS)
    # Of 2**18 positions few are used, so logarithms are taken of these.
    used = np.flatnonzero(counts)
    rarity = np.full(DIMENSIONS, np.log(texts + _PRIOR_ISSUES), dtype=np.float32)
    rarity[used] = np.log((texts + _PRIOR_ISSUES) / (1.0 + counts[used]))
    return rarity


def most_central(vectors: Sequence[TextVector]) -> int:
    """The position of the vector nearest to the mean direction of all; of equal ones the first."""
    worded = [place for place, vector in enumerate(vectors) if len(vector.positions)]
    if len(worded) < 2:
        return worded[0] if worded else 0
    positions, weights, starts = _joined([vectors[place] for place in worded])
    lengths = np.sqrt(np.add.reduceat(weights.astype(np.float64) ** 2, starts))
    units = weights / np.repeat(lengths, np.diff([*starts, len(positions)]))
    # By the words that there are: for a few texts they are far fewer than the positions that there could be.
    _, words = np.unique(positions, return_inverse=True)
    mean = np.bincount(words, weights=units)
    # Rounded, since the last digits depend on the order in which members were added up.
    return worded[int(np.argmax(np.round(np.add.reduceat(units * mean[words], starts), 9)))]


def _joined(
    vectors: Sequence[TextVector],
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """All positions, all weights, and where each vector begins; none may be empty, or reduceat takes its neighbour."""
    positions = np.concatenate([EMPTY.positions, *(vector.positions for vector in vectors)])
    weights = np.concatenate([EMPTY.weights, *(vector.weights for vector in vectors)])
    starts = np.cumsum([0, *(len(vector.positions) for vector in vectors[:-1])], dtype=np.int64)
    return positions, weights, starts
