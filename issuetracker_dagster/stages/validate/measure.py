"""Counts and shares over a text, all linear in its length. Lengths are code points."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable

import msgspec

_KANA = re.compile(r"[\u3041-\u309f\u30a0-\u30ff\uff66-\uff9f]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_HANGUL = re.compile(r"[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]")
_UNSPACED = re.compile(r"[\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3]")
_WORD = re.compile(r"\w+")
_FLOOD = re.compile(r"(.)\1{3,}", re.DOTALL)

HANGUL_PER_WORD = 2.0
HAN_PER_WORD = 1.5
KANA_PER_WORD = 2.0
UNSPACED_PER_WORD = 4.0


class WordCount(msgspec.Struct, frozen=True):
    """`words` in the measure named: `spaced`, `hangul`, `chinese`, `japanese`, `unspaced`, or several joined by `+`."""

    words: float
    measure: str


def count_words(text: str) -> WordCount:
    """How much is said, in words of a spaced script.

    Where writing has no spaces, or (Korean) one spaced unit holds what takes several words elsewhere, characters are
    counted instead: 2 Hangul syllables a word; 1.5 Han characters a word, 2 when the text has kana (Japanese), 2 kana a
    word; 4 characters a word in Thai, Lao, Burmese and Khmer. The rest counts by its runs of letters and digits.
    """
    if text.isascii():
        return WordCount(float(len(_WORD.findall(text))), "spaced")
    # Decomposed Hangul would count two or three times.
    rest, hangul = _HANGUL.subn(" ", unicodedata.normalize("NFC", text))
    rest, kana = _KANA.subn(" ", rest)
    rest, han = _HAN.subn(" ", rest)
    rest, unspaced = _UNSPACED.subn(" ", rest)
    spaced = len(_WORD.findall(rest))
    words = spaced + hangul / HANGUL_PER_WORD + kana / KANA_PER_WORD + unspaced / UNSPACED_PER_WORD
    words += han / (KANA_PER_WORD if kana else HAN_PER_WORD)
    shares = {"spaced": spaced, "hangul": hangul, "unspaced": unspaced, "japanese" if kana else "chinese": han + kana}
    return WordCount(words, "+".join(name for name, count in shares.items() if count) or "spaced")


def upper_share(text: str) -> float:
    """Upper-case letters over all characters, white space included."""
    return _share(text, str.isupper)


def symbol_share(text: str) -> float:
    """Punctuation and symbols (Unicode categories P and S) over all characters, white space included."""
    return _share(text, _is_symbol)


def flood_share(text: str) -> float:
    """Characters in runs of four and more equal ones over all characters."""
    flooded = sum(match.end() - match.start() for match in _FLOOD.finditer(text))
    return flooded / len(text) if text else 0.0


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _share(text: str, belongs: Callable[[str], bool]) -> float:
    if not text:
        return 0.0
    return sum(count for character, count in Counter(text).items() if belongs(character)) / len(text)
