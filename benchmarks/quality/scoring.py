"""How right one reading of a page is. Bodies by 4-word shingles as a multiset; averages over pages, F1 of averages."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from benchmarks.quality.recorded import Gold

_WORD = re.compile(r"\w+")
_SHINGLE = 4
_INSTANT_S = 60


class Reading(msgspec.Struct, frozen=True):
    """What a reader found. `published_ms` is 0 without an instant; `day` is ISO 8601, empty without one."""

    body: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    published_ms: int = 0
    day: str = ""


class BodyScore(msgspec.Struct, frozen=True):
    """Shares of what was found that is right, and of what is right that was found."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def body_score(found: str, gold: str) -> BodyScore:
    """Of one page. An empty body has neither, unless there is none to find."""
    ours, theirs = _shingles(found), _shingles(gold)
    if not ours or not theirs:
        return BodyScore(float(ours == theirs), float(ours == theirs))
    shared = (ours & theirs).total()
    return BodyScore(shared / ours.total(), shared / theirs.total())


def mean_score(scores: Sequence[BodyScore]) -> BodyScore:
    """Averages over pages; its F1 is that of the averages."""
    count = max(1, len(scores))
    return BodyScore(sum(score.precision for score in scores) / count, sum(score.recall for score in scores) / count)


def right_fields(found: Reading, gold: Gold) -> dict[str, bool]:
    """Which fields are right: title and authors to the letter, the day in the gold's zone, the instant to a minute."""
    moment = gold.moment
    if moment is None:
        raise ValueError(f"{gold.id}: its gold has no date")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    apart_s = found.published_ms / 1000 - moment.timestamp()
    instant = datetime.fromtimestamp(found.published_ms / 1000, moment.tzinfo)
    day = found.day or (instant.date().isoformat() if found.published_ms else "")
    return {
        "title": found.title == gold.title,
        "authors": set(found.authors) == set(gold.authors or ()),
        "day": day == moment.date().isoformat(),
        "instant": found.published_ms > 0 and abs(apart_s) < _INSTANT_S,
    }


def shares(judged: Iterable[dict[str, bool]]) -> dict[str, float]:
    """The share of pages on which each field is right."""
    counts: Counter[str] = Counter()
    total = 0
    for fields in judged:
        total += 1
        counts.update({name: int(right) for name, right in fields.items()})
    return {name: count / max(1, total) for name, count in counts.items()}


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    return Counter(tuple(words[at : at + _SHINGLE]) for at in range(max(1, len(words) - _SHINGLE + 1)) if words)
