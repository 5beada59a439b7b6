"""From a text to the words that matter in it, pure. All linear in the length of the text."""

import re

from issuetracker_dagster.stages.enrich.stopwords import STOPWORDS

TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
UNCASED = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
"""Runs of kana, Han characters and Hangul."""
_KATAKANA_OR_HAN = re.compile(r"[\u30a1-\u30fa\u30fc]{2,}|[\u3400-\u9fff]{2,}")
_LONGEST_NAME = 6
HANGUL = re.compile(r"[\uac00-\ud7a3]+")

_COUNTED = re.compile(r"(\d+(?:[.,]\d+){0,6})(?:[-/:]\d+)?\s?(%|[\u3041-\u9fff\uac00-\ud7a3]|[^\W\d_]{1,30})?")

# Particles that follow a Korean noun, longest first, so that `에서는` isn't cut to `에서`.
_PARTICLES = (
    "으로부터", "에게서는", "에서는", "에서도", "에게서", "으로는", "으로도", "이라고", "이라는",
    "까지", "부터", "에서", "에게", "으로", "이나", "처럼", "보다", "마다", "조차", "마저", "하고", "이며",
    "라고", "라는", "와의", "과의", "은", "는", "이", "가", "을", "를", "의", "에", "와", "과", "도", "로", "만",
)  # fmt: skip


def stem(word: str) -> str:
    """A word without its commonest endings: Korean particles, English plurals, `-ed` and `-ing`. Crude, but alike."""
    if HANGUL.fullmatch(word):
        return _without_particle(word)
    if not word.isascii():
        return word
    for ending in ("'s", "’s"):
        word = word.removesuffix(ending)
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word.removesuffix("e") if len(word) > 4 else word


def words(text: str) -> list[str]:
    """Case-folded tokens in order, without stop words, single letters and short numbers."""
    tokens = (match.group().casefold() for match in TOKEN.finditer(text))
    return [token for token in tokens if token not in STOPWORDS and len(token) > 1 and not _is_small(token)]


def features(text: str) -> list[str]:
    """What two texts are compared by: stems, and pairs of neighbouring characters where words aren't told by spaces.

    Korean goes by pairs too, so that `물류창고` and `물류 창고` have most in common.
    """
    found: list[str] = []
    for word in words(text):
        root = stem(word)
        if root in STOPWORDS:
            continue
        runs = UNCASED.findall(root)
        if runs:
            for run in runs:
                found.extend(run[start : start + 2] for start in range(len(run) - 1))
        else:
            found.append(root)
    return found


def numbers(text: str) -> list[tuple[str, str]]:
    """Each number in order with the stem of what comes right after it: `12 people`, `12명` and `4.5 percent`.

    Far cruder than figures, and so it can be read off any text; the second part is empty before a stop word.
    """
    found: list[tuple[str, str]] = []
    for match in _COUNTED.finditer(text):
        unit = stem((match.group(2) or "").casefold())
        found.append((match.group(1).replace(",", ""), "" if unit in STOPWORDS else unit))
    return found


def terms(word: str) -> list[str]:
    """A word as people would name it: without particles; Japanese and Chinese cut where kinds of characters change.

    A long run of Han characters is a clause: its pairs stand for it, of which those said often are words.
    """
    root = stem(word)
    if HANGUL.search(root) or not UNCASED.search(root):
        return [root]
    found: list[str] = []
    for run in _KATAKANA_OR_HAN.findall(root):
        if len(run) <= _LONGEST_NAME or not "\u3400" <= run[0] <= "\u9fff":
            found.append(run)
        else:
            found.extend(run[start : start + 2] for start in range(len(run) - 1))
    return found


def _is_small(token: str) -> bool:
    return token.isdigit() and len(token) < 3


def _without_particle(word: str) -> str:
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) >= 2:
            return word.removesuffix(particle)
    return word
