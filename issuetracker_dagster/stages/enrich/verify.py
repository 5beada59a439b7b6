"""Step 3 offline: what do the other sources of the issue say about each claim?"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from issuetracker_dagster.model.records import ContentClaim
from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.figures import Figure, agree, comparable, figures
from issuetracker_dagster.stages.enrich.sentences import LONGEST_TEXT, sentences
from issuetracker_dagster.stages.enrich.words import features

SAME_SUBJECT = 0.35
"""Share of the shorter sentence's words that two sentences must have in common to speak of the same subject."""
SAME_STATEMENT = 0.6
"""Share of a claim's words that a sentence must repeat to support a claim without figures."""
_FEWEST_COMMON = 3


class _Statement(msgspec.Struct, frozen=True):
    source: str
    words: frozenset[str]
    figures: tuple[Figure, ...]


_Read = tuple[frozenset[str], tuple[Figure, ...]]


# An issue is looked at again whenever a content joins it; reading its members anew each time would cost more than all
# the rest of enrich.
@lru_cache(maxsize=1_000)
def _statements_of(title: str, body: str) -> tuple[_Read, ...]:
    return tuple((frozenset(features(sentence)), figures(sentence)) for sentence in (title, *sentences(body)))


@lru_cache(maxsize=5_000)
def _read_claim(claim: str) -> _Read:
    return frozenset(features(claim)), figures(claim)


class OverlapVerifier:
    """Sentences with enough words in common speak of the same subject; then their figures agree or differ.

    A claim is *supported* when more sources repeat it than contradict it, *contradicted* when at least as many sources
    give another figure for the same thing, else *unverified*. Each source has one voice a claim, and one that gives the
    same figure anywhere doesn't contradict.
    """

    def verify(self, claims: Sequence[str], others: Sequence[MemberView]) -> tuple[ContentClaim, ...]:
        """Each claim with its status, in order."""
        return Evidence(others).judge(claims)


class Evidence:
    """The statements of some contents, found by their words; built once, asked for many claims."""

    def __init__(self, members: Sequence[MemberView]) -> None:
        self._statements = [
            _Statement(member.host, *read)
            for member in members
            # No more than is read, since bodies are kept as keys: a post may have a million characters.
            for read in _statements_of(member.title, member.body[:LONGEST_TEXT])
        ]
        self._by_word: dict[str, list[int]] = defaultdict(list)
        for position, statement in enumerate(self._statements):
            for word in statement.words:
                self._by_word[word].append(position)

    def judge(self, claims: Sequence[str], without_source: str = "") -> tuple[ContentClaim, ...]:
        """Each claim with its status by every source but `without_source`."""
        return tuple(ContentClaim(text=claim, status=self._status(claim, without_source)) for claim in claims)

    def _status(self, claim: str, without_source: str) -> str:
        words, counted = _read_claim(claim)
        common: Counter[int] = Counter()
        for word in words:
            common.update(self._by_word.get(word, ()))
        fewest = min(_FEWEST_COMMON, len(words))
        supporting: set[str] = set()
        contradicting: set[str] = set()
        for position, shared in common.items():
            if shared < fewest:
                continue
            statement = self._statements[position]
            if statement.source == without_source:
                continue
            if counted and statement.figures and shared >= SAME_SUBJECT * min(len(words), len(statement.words)):
                said = _compare(counted, statement.figures)
                if said is not None:
                    (supporting if said else contradicting).add(statement.source)
            elif not counted and shared >= SAME_STATEMENT * len(words):
                supporting.add(statement.source)
        contradicting -= supporting
        if contradicting and len(contradicting) >= len(supporting):
            return "contradicted"
        return "supported" if supporting else "unverified"


def _compare(claimed: Sequence[Figure], said: Sequence[Figure]) -> bool | None:
    """True when every comparable figure is confirmed, False when one differs, None when none can be compared."""
    verdict: bool | None = None
    for figure in claimed:
        candidates = [other for other in said if comparable(figure, other)]
        if candidates:
            if not any(agree(figure, other) for other in candidates):
                return False
            verdict = True
    return verdict
